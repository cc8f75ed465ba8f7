"""A node of nautilus_trader with one strategy."""

import threading


def nautilus(verdict):
    from . import order_kinds
    for name in order_kinds.add():
        verdict.note(f"BinanceTimeInForce has no {name}; the driver adds it")
    from nautilus_trader.adapters.binance import BINANCE, BinanceAccountType, BinanceDataClientConfig, BinanceLiveDataClientFactory
    from nautilus_trader.config import InstrumentProviderConfig, LoggingConfig, StrategyConfig, TradingNodeConfig
    from nautilus_trader.live.node import TradingNode
    from nautilus_trader.model.data import BarType
    from nautilus_trader.model.enums import BookType
    from nautilus_trader.model.identifiers import ClientId, InstrumentId, TraderId
    from nautilus_trader.trading.strategy import Strategy
    base = verdict.options.gateway
    names = {f"{symbol}-PERP.BINANCE": symbol for symbol in verdict.options.symbols}

    class Watcher(Strategy):
        def on_start(self):
            for name in names:
                one = InstrumentId.from_str(name)
                self.subscribe_order_book_deltas(one, BookType.L2_MBP)
                self.subscribe_trade_ticks(one)
                self.subscribe_quote_ticks(one)
                self.subscribe_bars(BarType.from_str(f"{name}-1-MINUTE-LAST-EXTERNAL"))
                self.subscribe_mark_prices(one)

        def on_order_book_deltas(self, deltas):
            book = self.cache.order_book(deltas.instrument_id)
            if book is None or not book.bids() or not book.asks():
                return verdict.note("a book with an empty side")
            sides = [[(float(level.price), level.size()) for level in side[:20]] for side in (book.bids(), book.asks())]
            verdict.book(names[str(deltas.instrument_id)], deltas.sequence, *sides)

        def on_trade_tick(self, tick):
            verdict.trade(str(tick.instrument_id), int(str(tick.trade_id)))

        def on_quote_tick(self, tick):
            verdict.event("bids and asks")

        def on_bar(self, bar):
            verdict.event("bars")

        def on_mark_price(self, update):
            verdict.event("mark price")

    from nautilus_trader.adapters.binance.websocket.client import BinanceWebSocketClient
    reconnect = BinanceWebSocketClient._handle_reconnect

    def reconnected(self, client_id):
        verdict.reconnected()
        return reconnect(self, client_id)
    BinanceWebSocketClient._handle_reconnect = reconnected
    config = BinanceDataClientConfig(
        account_type=BinanceAccountType.USDT_FUTURES, base_url_http=f"http://{base}", base_url_ws=f"ws://{base}",
        use_agg_trade_ticks=True, instrument_provider=InstrumentProviderConfig(load_all=True))
    node = TradingNode(TradingNodeConfig(trader_id=TraderId("SOCKETS-001"), logging=LoggingConfig(log_level="WARNING", log_colors=False),
                                         data_clients={BINANCE: config}, timeout_connection=20))
    node.trader.add_strategy(Watcher(StrategyConfig(strategy_id="W-001")))
    node.add_data_client_factory(BINANCE, BinanceLiveDataClientFactory)
    node.build()
    kinds = ["trades", "books", "bids and asks", "mark price"] + (["bars"] if verdict.options.seconds > 100 else [])
    threading.Timer(verdict.left - 1, verdict.finish, [kinds]).start()
    node.run()
