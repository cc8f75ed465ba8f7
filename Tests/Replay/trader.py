"""A strategy on ccxt.pro, unmodified, before a gateway. It runs inside the environment that has ccxt.

    trader.py GATEWAY SYMBOLS live --seconds N     notes the books that it has, by their update ids
    trader.py GATEWAY SYMBOLS replay --step MS     lets time pass in steps, decides after each, and notes its fills and books

The last line of the output is the result as JSON. In a replay, a decision waits until the client has the book that the gateway has, so that it depends
on the recording alone.
"""

import argparse
import asyncio
import hashlib
import json
import time
import urllib.parse
import urllib.request

import ccxt.pro
from ccxt.base import errors

LEVELS = 20


def digest(book):
    """The best levels of a book, and their digest."""
    best = [[list(map(repr, level[:2])) for level in side[:LEVELS]] for side in (book["bids"], book["asks"])]
    return hashlib.sha256(json.dumps(best).encode()).hexdigest()[:16]


class Strategy:
    """Buys if bids outweigh asks near the middle, and sells if asks do."""

    def __init__(self):
        self.fills, self.position = [], {}

    def decide(self, at, symbol, book):
        bids, asks = ([level[1] for level in side[:5]] for side in (book["bids"], book["asks"]))
        if not bids or not asks:
            return
        share, position = sum(bids) / (sum(bids) + sum(asks)), self.position.get(symbol, 0)
        if share > 0.7 and position < 5:
            self.fill(at, symbol, "buy", book["asks"][0][0], 1)
        elif share < 0.3 and position > -5:
            self.fill(at, symbol, "sell", book["bids"][0][0], -1)

    def fill(self, at, symbol, side, price, size):
        self.position[symbol] = self.position.get(symbol, 0) + size
        self.fills.append([at, symbol, side, repr(price)])


class Run:
    def __init__(self, options):
        self.options, self.base = options, f"http://{options.gateway}"
        self.books = {symbol: {} for symbol in options.symbols}
        self.trades = {symbol: {} for symbol in options.symbols}
        self.strategy, self.reconnects, self.stopped = Strategy(), 0, False
        exchange = ccxt.pro.binanceusdm({"enableRateLimit": False, "newUpdates": True, "options": {"defaultType": "swap"}})
        web = exchange.urls["api"]["ws"] | {"linear": f"ws://{options.gateway}/ws"}
        rest = {key: self.base + urllib.parse.urlsplit(url).path for key, url in exchange.urls["api"].items() if isinstance(url, str)}
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

    def ask(self, path, method="GET"):
        request = urllib.request.Request(self.base + path, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            return {"status": error.code}

    async def asked(self, path, method="GET"):
        return await asyncio.get_running_loop().run_in_executor(None, self.ask, path, method)

    async def live(self):
        await self.begin()
        await asyncio.sleep(self.options.seconds)

    async def replay(self):
        await self.begin()
        undecided, all_of_them = 0, 2 * len(self.unified)
        while True:
            # A closed socket is back before more time passes.
            until = time.monotonic() + 60
            while (await self.asked("/replay"))["subscriptions"] < all_of_them:
                if time.monotonic() > until:
                    raise SystemExit("ccxt has not subscribed again within 60 s: " + "; ".join(map(repr, self.tasks)))
                await asyncio.sleep(0.01)
            state = await self.asked(f"/replay/step?ms={self.options.step}", "POST")
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
        """Whether the gateway has a live book. The client then has it soon."""
        status = await self.asked(f"/streams/{symbol.lower()}@depth@100ms/status")
        if status.get("state") != "live":
            return False
        depth = await self.asked(f"/fapi/v1/depth?symbol={symbol}&limit=5")
        until = time.monotonic() + 120
        while time.monotonic() < until:
            book = self.exchange.orderbooks.get(unified)
            if book is not None and book["nonce"] == depth.get("lastUpdateId"):
                return True
            await asyncio.sleep(0.002)
        raise SystemExit(f"{symbol}: ccxt has {book and book['nonce']}, the gateway {depth}")

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
