"""cryptofeed's feed handler."""

import logging
import os
import threading


def cryptofeed(verdict):
    from cryptofeed import FeedHandler
    from cryptofeed.connection import RestEndpoint, Routes, WebsocketEndpoint
    from cryptofeed.defines import CANDLES, FUNDING, L2_BOOK, LIQUIDATIONS, TICKER, TRADES
    from cryptofeed.exchanges import BinanceFutures
    base = verdict.options.gateway

    class Pointed(BinanceFutures):
        websocket_endpoints = [WebsocketEndpoint(f"wss://{base}", options={"compression": None})]
        rest_endpoints = [RestEndpoint(f"https://{base}", routes=Routes(
            "/fapi/v1/exchangeInfo", l2book="/fapi/v1/depth?symbol={}&limit={}", authentication="/fapi/v1/listenKey",
            open_interest="/fapi/v1/openInterest?symbol={}"))]

    class Watch(logging.Handler):
        def emit(self, record):
            words = record.getMessage()
            if "reconnecting" in words:
                verdict.reconnected()
            if "Missing book update" in words:
                verdict.error(words)
    logging.getLogger("feedhandler").addHandler(Watch())

    async def trade(one, received):
        verdict.trade(one.symbol, int(one.id))

    async def book(one, received):
        levels = one.book.to_dict()
        names = {symbol.replace("USDT", "-USDT-PERP"): symbol for symbol in verdict.options.symbols}
        bids = sorted(levels["bid"].items(), reverse=True)[:20]
        verdict.book(names[one.symbol], one.sequence_number, bids, sorted(levels["ask"].items())[:20])

    def seen(kind):
        async def take(one, received):
            verdict.event(kind)
        return take
    symbols = [symbol.replace("USDT", "-USDT-PERP") for symbol in verdict.options.symbols]
    handler = FeedHandler(config={"log": {"filename": os.devnull, "level": "WARNING"}, "backend_multiprocessing": False, "uvloop": False})
    channels = [TRADES, L2_BOOK, TICKER, FUNDING, LIQUIDATIONS, CANDLES]
    handler.add_feed(Pointed(symbols=symbols, channels=channels, candle_closed_only=False, callbacks={
        TRADES: trade, L2_BOOK: book, TICKER: seen("bids and asks"), FUNDING: seen("mark price"), LIQUIDATIONS: seen("liquidations"),
        CANDLES: seen("ohlcv")}))
    threading.Timer(verdict.left - 1, verdict.finish, [["trades", "books", "bids and asks", "mark price", "ohlcv"]]).start()
    handler.run(install_signal_handlers=False)
