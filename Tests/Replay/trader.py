"""A strategy on ccxt.pro, unmodified, before a gateway. It runs inside the environment that has ccxt.

    trader.py GATEWAY SYMBOLS live --seconds N     notes the books that it has, by their update ids
    trader.py GATEWAY SYMBOLS replay --step MS     lets time pass in steps, decides after each, and notes its fills and books

The last line of the output is the result as JSON. In a replay, a decision waits until the client has the book that the gateway has, so that it depends
on the recording alone.
"""

import argparse
import asyncio
import json
import time
import urllib.parse

import ccxt.pro
import strategy
from ccxt.base import errors


def digest(book):
    return strategy.digest(book["bids"], book["asks"])


class Strategy:
    """Takes the best price. Its fills are those that a venue would make at this moment."""

    def __init__(self):
        self.fills, self.position = [], {}

    def decide(self, at, symbol, book):
        position = self.position.get(symbol, 0)
        side = strategy.side_of(book["bids"], book["asks"], position)
        if side:
            self.position[symbol] = position + (1 if side == "buy" else -1)
            self.fills.append([at, symbol, side, repr(book["asks" if side == "buy" else "bids"][0][0])])


class Run:
    def __init__(self, options):
        self.options, self.past = options, strategy.Past(options.gateway)
        self.books = {symbol: {} for symbol in options.symbols}
        self.trades = {symbol: {} for symbol in options.symbols}
        self.strategy, self.reconnects, self.stopped = Strategy(), 0, False
        exchange = ccxt.pro.binanceusdm({"enableRateLimit": False, "newUpdates": True, "options": {"defaultType": "swap"}})
        web = exchange.urls["api"]["ws"] | {"linear": f"ws://{options.gateway}/ws"}
        rest = {key: self.past.base + urllib.parse.urlsplit(url).path for key, url in exchange.urls["api"].items() if isinstance(url, str)}
        exchange.urls["api"] = rest | {"ws": web}
        self.exchange = exchange

    async def follow(self, call, take):
        while not self.stopped:
            try:
                take(await call())
            except errors.BaseError:
                self.reconnects += 1
                await asyncio.sleep(0.05)

    async def begin(self):
        await self.exchange.load_markets()
        by_id = {market["id"]: symbol for symbol, market in self.exchange.markets.items()}
        self.unified = {symbol: by_id[symbol] for symbol in self.options.symbols}
        self.tasks = []
        for symbol, unified in self.unified.items():
            self.tasks += [asyncio.create_task(self.follow(lambda one=unified: self.exchange.watch_order_book(one), self.noting(symbol))),
                           asyncio.create_task(self.follow(lambda one=unified: self.exchange.watch_trades(one, params={"name": "aggTrade"}),
                                                           self.trading(symbol)))]

    def noting(self, symbol):
        def note(book):
            if book["nonce"]:
                self.books[symbol][str(book["nonce"])] = digest(book)
        return note

    def trading(self, symbol):
        def note(trades):
            for trade in trades:
                self.trades[symbol][trade["id"]] = [repr(trade["price"]), repr(trade["amount"])]
        return note

    async def live(self):
        await self.begin()
        await asyncio.sleep(self.options.seconds)

    async def replay(self):
        await self.begin()
        undecided = 0
        while True:
            await self.past.open(2 * len(self.unified))
            state = await self.past.step(f"ms={self.options.step}")
            for symbol, unified in self.unified.items():
                if await self.is_current(symbol, unified):
                    book = self.exchange.orderbooks[unified]
                    self.books[symbol][str(book["nonce"])] = digest(book)
                    self.strategy.decide(state["time"], symbol, book)
                else:
                    undecided += 1
            if state["state"] != "playing":
                return state, undecided

    async def is_current(self, symbol, unified):
        """Whether the gateway has a live book. Then it waits until the client has it."""
        update_id = await self.past.update_id(symbol)
        if update_id is None:
            return False
        until = time.monotonic() + strategy.PATIENCE
        while time.monotonic() < until:
            book = self.exchange.orderbooks.get(unified)
            if book is not None and book["nonce"] == update_id:
                return True
            await asyncio.sleep(0.002)
        raise SystemExit(f"{symbol}: ccxt has {book and book['nonce']}, the gateway {update_id}; " + "; ".join(map(repr, self.tasks)))

    async def main(self):
        end, undecided = None, 0
        if self.options.command == "live":
            await self.live()
        else:
            end, undecided = await self.replay()
        await asyncio.sleep(0.5)
        self.stopped = True
        final = {symbol: digest(self.exchange.orderbooks[unified]) for symbol, unified in self.unified.items() if unified in self.exchange.orderbooks}
        print(json.dumps({"version": ccxt.__version__, "fills": self.strategy.fills, "final": final, "books": self.books, "trades": self.trades,
                          "reconnects": self.reconnects, "end": end, "undecided": undecided}), flush=True)
        for task in self.tasks:
            task.cancel()
        await self.exchange.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("gateway")
    parser.add_argument("symbols", type=lambda text: text.split(","))
    parser.add_argument("command", choices=("live", "replay"))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--step", type=int, default=1000)
    asyncio.run(Run(parser.parse_args()).main())
