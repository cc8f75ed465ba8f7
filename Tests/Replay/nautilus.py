"""A strategy on nautilus_trader before a replay. It runs inside the environment that has the package.

    nautilus.py GATEWAY SYMBOLS replay --step MS

Its node has the adapter of Binance futures for data and the sandbox for orders. It lets time pass in steps, decides after each, and waits for the fills.
The last line of the output is the result as JSON.
"""

import argparse
import asyncio
import importlib.metadata
import json
import pathlib
import sys

import strategy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Sockets/drivers"))

import order_kinds  # noqa: E402

order_kinds.add()

from nautilus_trader.adapters.binance import BINANCE, BinanceAccountType, BinanceDataClientConfig, BinanceLiveDataClientFactory  # noqa: E402
from nautilus_trader.adapters.sandbox.config import SandboxExecutionClientConfig  # noqa: E402
from nautilus_trader.adapters.sandbox.factory import SandboxLiveExecClientFactory  # noqa: E402
from nautilus_trader.config import (  # noqa: E402
    InstrumentProviderConfig, LiveExecEngineConfig, LiveRiskEngineConfig, LoggingConfig, StrategyConfig, TradingNodeConfig)
from nautilus_trader.live.node import TradingNode  # noqa: E402
from nautilus_trader.model.data import BarType  # noqa: E402
from nautilus_trader.model.enums import BookType, OrderSide  # noqa: E402
from nautilus_trader.model.identifiers import InstrumentId, TraderId  # noqa: E402
from nautilus_trader.trading.strategy import Strategy  # noqa: E402

KINDS = 3
"""Streams of each symbol: the book, trades, and bars."""


def levels(book):
    """The best levels of both sides as numbers. The decimal text of a price has no rounding error."""
    return [[(float(str(level.price)), round(level.size(), 8)) for level in side[:strategy.LEVELS]] for side in (book.bids(), book.asks())]


class Imbalance(Strategy):
    """Notes everything that it receives, and sends market orders when `decide` is called."""

    def __init__(self, options):
        super().__init__(StrategyConfig(strategy_id="IMBALANCE-001"))
        self.ids = {symbol: InstrumentId.from_str(f"{symbol}-PERP.BINANCE") for symbol in options.symbols}
        self.symbols = {instrument: symbol for symbol, instrument in self.ids.items()}
        self.books, self.trades, self.bars = ({symbol: {} for symbol in options.symbols} for _ in range(3))
        self.fills, self.at, self.changed, self.refused = [], 0, asyncio.Event(), None

    def on_start(self):
        for symbol, instrument in self.ids.items():
            self.subscribe_order_book_deltas(instrument, BookType.L2_MBP, params={"update_speed": 100})
            self.subscribe_trade_ticks(instrument)
            self.subscribe_bars(BarType.from_str(f"{instrument}-1-MINUTE-LAST-EXTERNAL"))

    def on_order_book_deltas(self, deltas):
        book = self.cache.order_book(deltas.instrument_id)
        self.books[self.symbols[deltas.instrument_id]][str(book.sequence)] = strategy.digest(*levels(book))
        self.changed.set()

    def on_trade_tick(self, tick):
        self.trades[self.symbols[tick.instrument_id]][str(tick.trade_id)] = [repr(float(str(tick.price))), repr(float(str(tick.size)))]
        self.changed.set()

    def on_bar(self, bar):
        self.bars[self.symbols[bar.bar_type.instrument_id]][str(bar.ts_event)] = list(map(str, (bar.open, bar.high, bar.low, bar.close, bar.volume)))

    def decide(self, at, symbol):
        """Sends an order if the book calls for one, and returns it."""
        self.at = at
        instrument = self.cache.instrument(self.ids[symbol])
        side = strategy.side_of(*levels(self.cache.order_book(instrument.id)), round(float(self.portfolio.net_position(instrument.id)), 8))
        if side is None:
            return None
        order = self.order_factory.market(instrument.id, OrderSide.BUY if side == "buy" else OrderSide.SELL, instrument.make_qty(1))
        self.submit_order(order)
        return order

    def on_order_filled(self, event):
        self.fills.append([self.at, self.symbols[event.instrument_id], event.order_side.name, str(event.last_qty), str(event.last_px),
                           str(event.commission)])
        self.changed.set()

    def on_order_denied(self, event):
        self.refused = event.reason
        self.changed.set()

    on_order_rejected = on_order_denied

    async def until(self, condition, words):
        """Waits for a message or a fill that makes the condition true."""
        try:
            async with asyncio.timeout(strategy.PATIENCE):
                while not condition():
                    if self.refused:
                        raise SystemExit(f"an order was refused: {self.refused}")
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise SystemExit(f"after {strategy.PATIENCE} s, {words()}") from None


class Factory(BinanceLiveDataClientFactory):
    """Makes the client, and keeps it in `client`."""

    @staticmethod
    def create(*arguments, **named):
        Factory.client = BinanceLiveDataClientFactory.create(*arguments, **named)
        return Factory.client


async def snapshots():
    """Waits until no book is fetched. After a reconnect of two sockets, the client fetches each book twice, and the later answer replaces the book."""
    sockets = (Factory.client._ws_client, Factory.client._ws_public_client)
    await asyncio.gather(*(task for socket in sockets for task in socket._tasks), return_exceptions=True)


class Run:
    def __init__(self, options):
        self.options, self.past, self.strategy = options, strategy.Past(options.gateway), Imbalance(options)
        data = BinanceDataClientConfig(
            account_type=BinanceAccountType.USDT_FUTURES, base_url_http=self.past.base, base_url_ws=f"ws://{options.gateway}", use_agg_trade_ticks=True,
            instrument_provider=InstrumentProviderConfig(load_all=True))
        # Trades and books have a socket each, and the order of two sockets is not fixed. So only books move the simulated market.
        orders = SandboxExecutionClientConfig(venue="BINANCE", starting_balances=["1000000000 USDT"], book_type="L2_MBP", trade_execution=False,
                                              bar_execution=False)
        self.node = TradingNode(
            TradingNodeConfig(
                trader_id=TraderId("REPLAY-001"), logging=LoggingConfig(log_level="ERROR", log_colors=False), data_clients={BINANCE: data},
                exec_clients={BINANCE: orders}, exec_engine=LiveExecEngineConfig(reconciliation=False),
                risk_engine=LiveRiskEngineConfig(max_order_submit_rate="100000/00:00:01"), timeout_connection=20),
            loop=asyncio.get_running_loop())
        self.node.trader.add_strategy(self.strategy)
        self.node.add_data_client_factory(BINANCE, Factory)
        self.node.add_exec_client_factory(BINANCE, SandboxLiveExecClientFactory)
        self.node.build()

    async def replay(self):
        undecided, state = 0, await self.past.ask("/replay")
        while True:
            await self.past.open(KINDS * len(self.options.symbols))
            ids = {symbol: await self.past.update_id(symbol) for symbol in self.options.symbols}
            is_outage = None in ids.values()
            if is_outage:
                undecided += 1
            else:
                await snapshots()
                for symbol, update_id in ids.items():
                    await self.decide(state["time"], symbol, update_id)
            if state["state"] != "playing":
                return state, undecided
            # In an outage, the client waits for books that come only when time passes. No change of a book may follow in the same step, because the
            # client fetches a book several times, and the latest answer replaces it.
            state = await self.past.step("messages=1" if is_outage else f"ms={self.options.step}")

    async def decide(self, at, symbol, update_id):
        """Decides when the client has the gateway's book, and waits for the fills."""
        def book():
            return self.node.cache.order_book(self.strategy.ids[symbol])
        await self.strategy.until(lambda: book() and book().sequence == update_id, lambda: f"{symbol}: the gateway has {update_id}, the client {book()}")
        order = self.strategy.decide(at, symbol)
        if order:
            await self.strategy.until(lambda: order.is_closed, lambda: f"{order} is not closed")

    async def main(self):
        running = asyncio.create_task(self.node.run_async())
        end, undecided = await self.replay()
        watched = self.strategy
        # Trades have a socket of their own, on which the last ones may still be on their way.
        for symbol in self.options.symbols:
            last = await self.past.trade_id(symbol)
            await watched.until(lambda: last is None or str(last) in watched.trades[symbol], lambda: f"{symbol}: trade {last} has not arrived")
        final = {symbol: strategy.digest(*levels(watched.cache.order_book(instrument))) for symbol, instrument in watched.ids.items()}
        print(json.dumps({"version": importlib.metadata.version("nautilus_trader"), "fills": watched.fills, "final": final, "books": watched.books,
                          "trades": watched.trades, "bars": watched.bars, "reconnects": self.past.reconnects, "end": end, "undecided": undecided}), flush=True)
        await self.node.stop_async()
        await running


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("gateway")
    parser.add_argument("symbols", type=lambda text: text.split(","))
    parser.add_argument("command", choices=("replay",))
    parser.add_argument("--step", type=int, default=1000)

    async def main(options):
        await Run(options).main()
    asyncio.run(main(parser.parse_args()))
