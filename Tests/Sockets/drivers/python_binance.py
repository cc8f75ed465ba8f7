"""python-binance, with books that the driver keeps."""

import asyncio

from .verdict import Joined, RECONNECT


async def python_binance(verdict):
    import requests
    from binance import AsyncClient, BinanceSocketManager
    base = verdict.options.gateway
    client = AsyncClient()
    client.FUTURES_URL = f"http://{base}/fapi"
    manager = BinanceSocketManager(client)
    manager.FSTREAM_URL = f"ws://{base}/"
    symbols = verdict.options.symbols
    lower = [symbol.lower() for symbol in symbols]

    def fetch(symbol):
        return requests.get(f"http://{base}/fapi/v1/depth", {"symbol": symbol, "limit": 1000}, timeout=15).json()
    await client.futures_order_book(symbol=symbols[0], limit=1000)
    books = {symbol: Joined(verdict, symbol, lambda symbol=symbol: fetch(symbol)) for symbol in symbols}

    async def follow(make, take, ended=lambda: None):
        while verdict.left > 0:
            try:
                async with make() as socket:
                    while verdict.left > 0:
                        message = await socket.recv()
                        if message.get("e") == "error" if isinstance(message, dict) else False:
                            words = f"{message.get('type')}: {message.get('m')}"
                            if not RECONNECT.search(words):
                                verdict.error(words)
                            verdict.note(words)
                            verdict.reconnected()
                            ended()
                        else:
                            take(message)
            except Exception as error:
                # According to the library, its user must open the socket again.
                verdict.note(f"{type(error).__name__}: {error}")
                verdict.reconnected()
                ended()
                await asyncio.sleep(0.5)

    def renew():
        for book in books.values():
            book.reset()

    def public(message):
        data, stream = message["data"], message["stream"]
        if stream.endswith("@depth@100ms"):
            books[data["s"]].take(data)
        elif "@depth20" in stream:
            verdict.book(data["s"], data["u"], data["b"], data["a"])
        else:
            verdict.event("bids and asks")

    def market(message):
        data, kind = message["data"], message["stream"].partition("@")[2]
        if kind == "aggTrade":
            verdict.trade(data["s"], data["a"])
        else:
            verdict.event({"ticker": "ticker", "kline_1m": "ohlcv", "markPrice@1s": "mark price", "arr": "tickers"}.get(kind, kind))

    public_names = [f"{one}@{kind}" for one in lower for kind in ("depth@100ms", "depth20@100ms", "bookTicker")]
    market_names = [f"{one}@{kind}" for one in lower for kind in ("aggTrade", "ticker", "kline_1m", "markPrice@1s")] + ["!ticker@arr"]
    tasks = [follow(lambda: manager.futures_multiplex_socket(public_names, category="public"), public, renew),
             follow(lambda: manager.futures_multiplex_socket(market_names, category="market"), market),
             follow(lambda: manager.all_mark_price_socket(), lambda message: verdict.event("mark prices"))]
    tasks = [asyncio.create_task(one) for one in tasks]
    await asyncio.sleep(verdict.left - 1)
    verdict.finish(["trades", "books", "ticker", "ohlcv", "mark price", "bids and asks", "tickers", "mark prices"])
    await asyncio.gather(*tasks)
