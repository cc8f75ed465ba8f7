"""ccxt.pro: every kind of stream that it watches."""

import asyncio
import urllib.parse


async def ccxt(verdict, name):
    import ccxt.pro as pro
    from ccxt.base import errors
    base = verdict.options.gateway

    class Looked(getattr(pro, name)):
        """For Aster, ccxt drops the update id of the book, so it is read from the message."""

        def handle_order_book(self, client, message):
            result = super().handle_order_book(client, message)
            if name == "aster":
                data = message.get("data", message)
                market = self.safe_market(data["s"], None, None, "swap")
                book = self.orderbooks.get(market["symbol"])
                if book is not None and data["s"] in verdict.options.symbols:
                    verdict.book(data["s"], data["u"], list(book["bids"]), list(book["asks"]))
            return result
    exchange = Looked({"enableRateLimit": False, "newUpdates": True, "options": {"defaultType": "swap", "tradesLimit": 10_000}})
    web = exchange.urls["api"]["ws"]
    rest = {key: f"http://{base}{urllib.parse.urlsplit(url).path}" for key, url in exchange.urls["api"].items() if isinstance(url, str)}
    if name == "aster":
        web = {kind: {"swap": f"ws://{base}/fstream/" + ("stream" if kind == "public" else "ws")} for kind in ("public", "private")}
    else:
        web = web | {"linear": f"ws://{base}/ws"}
    exchange.urls["api"] = rest | {"ws": web}
    await exchange.load_markets()
    by_id = {market["id"]: symbol for symbol, market in exchange.markets.items()}
    symbols = [by_id[symbol] for symbol in verdict.options.symbols]

    async def follow(kind, call, take=lambda result: None, keys=("none",)):
        while verdict.left > 0:
            try:
                result = await call()
                if kind not in ("books", "trades"):
                    verdict.event(kind)
                take(result)
            except errors.InvalidNonce as error:
                verdict.error(f"{kind}: {type(error).__name__}: {error}")
                await asyncio.sleep(1)
            except errors.NetworkError as error:
                verdict.note(f"{kind}: {type(error).__name__}: {error}")
                verdict.reconnected(*keys)
                await asyncio.sleep(0.5)
            except Exception as error:
                verdict.error(f"{kind}: {type(error).__name__}: {error}")
                await asyncio.sleep(1)

    def taken(key):
        def take(trades):
            for trade in trades:
                verdict.trade(key, int(trade["id"]))
        return take

    def seen(number):
        def take(book):
            if name == "aster":
                return verdict.event("books")
            verdict.book(verdict.options.symbols[number], book["nonce"], book["bids"], book["asks"])
        return take

    params = {"name": "aggTrade"} if name == "binanceusdm" else {}
    follows = []
    for number, symbol in enumerate(symbols):
        follows += [follow("trades", lambda symbol=symbol: exchange.watch_trades(symbol, params=params), taken(symbol), (symbol,)),
                    follow("books", lambda symbol=symbol: exchange.watch_order_book(symbol), seen(number)),
                    follow("ohlcv", lambda symbol=symbol: exchange.watch_ohlcv(symbol, "1m"))]
    first = symbols[0]
    follows += [follow("ticker", lambda: exchange.watch_ticker(first)), follow("tickers", lambda: exchange.watch_tickers(symbols)),
                follow("bids and asks", lambda: exchange.watch_bids_asks(symbols)), follow("mark price", lambda: exchange.watch_mark_price(first)),
                follow("mark prices", lambda: exchange.watch_mark_prices(symbols))]
    if exchange.has.get("watchLiquidations"):
        follows.append(follow("liquidations", lambda: exchange.watch_liquidations(first)))
    tasks = [asyncio.create_task(one) for one in follows]
    await asyncio.sleep(verdict.left - 1)
    verdict.finish(["trades", "books", "ohlcv", "ticker", "tickers", "bids and asks", "mark price", "mark prices"])
    await asyncio.gather(*tasks)
