"""One client library, unmodified, that follows streams through the gateway. It runs inside the environment that has the library.

    driver.py CLIENT GATEWAY EXCHANGE --seconds N --symbols BTCUSDT,ETHUSDT

GATEWAY and EXCHANGE are HOST:PORT. The last line of the output is the verdict as JSON.
"""

import argparse
import asyncio
import collections
import faulthandler
import importlib.metadata
import json
import logging
import os
import queue
import re
import sys
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
import strict  # noqa: E402

sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
RECONNECT = re.compile(r"reconnect|clos(e|ed|ing)\b|connectionclosed|connection (reset|issue|lost|ended)|disconnect|"
                       r"no close frame|timed? ?out|1012|1013|1001", re.I)
"""What a client can say in its log when its connection ends, as it also does at the venue."""
NUMBERS = re.compile(r"\d[\d.]*")
"""Errors that differ only in numbers are counted together, and shown by the first of them."""
FRESH = 12
"""Seconds before the end within which each kind of event must have arrived."""
SPACING = 0.3
"""Seconds between two comparisons of one symbol's book."""


class Verdict:
    """What the client received, and its errors. Any thread can use it."""

    def __init__(self, options, package):
        self.options, self.lock = options, threading.Lock()
        self.begun = time.monotonic()
        self.version = importlib.metadata.version(package)
        self.events, self.last, self.errors, self.notes = collections.Counter(), {}, collections.Counter(), collections.Counter()
        self.first = {}
        self.reconnects, self.trades, self.compared, self.forgotten = 0, 0, 0, 0
        self.trade_ids, self.looked, self.books = {}, {}, queue.Queue()
        self.rest = strict.REST(Server(options.exchange))
        threading.Thread(target=self._compare, daemon=True).start()

    @property
    def left(self):
        return self.begun + self.options.seconds - time.monotonic()

    def error(self, words):
        with self.lock:
            words = " ".join(str(words).split())[:500]
            kind = NUMBERS.sub("N", words)
            first = self.first.setdefault(kind, (words, round(time.monotonic() - self.begun, 1)))
            self.errors[first[0]] += 1

    def note(self, words):
        self.notes[" ".join(str(words).split())[:160]] += 1

    def event(self, kind):
        with self.lock:
            self.events[kind] += 1
            self.last[kind] = time.monotonic()

    def reconnected(self, *keys):
        """A connection ended. `keys` are the keys of its trades; all if there are none."""
        with self.lock:
            self.reconnects += 1
            for key in keys or list(self.trade_ids):
                self.trade_ids.pop(key, None)

    def trade(self, key, number):
        """The next aggregate trade of a connection."""
        self.event("trades")
        with self.lock:
            self.trades += 1
            last, self.trade_ids[key] = self.trade_ids.get(key), number
        if last is not None and number != last + 1:
            self.error(f"trade {number} of {key} follows {last} inside one connection")

    def book(self, symbol, update_id, bids, asks):
        """Compares the best levels with the exchange's at this update. The lists are pairs of numbers or decimal texts, best first."""
        self.event("books")
        now = time.monotonic()
        if now < self.looked.get(symbol, 0) + SPACING:
            return
        self.looked[symbol] = now
        levels = [[(round(float(level[0]), 8), round(float(level[1]), 8)) for level in side[:20]] for side in (list(bids)[:20], list(asks)[:20])]
        self.books.put((symbol, int(update_id), levels))

    def _compare(self):
        while True:
            symbol, update_id, levels = self.books.get()
            try:
                true = self.rest.truth(symbol, update_id)
            except OSError as error:
                self.note(f"the exchange was not asked: {error}")
                continue
            if true is None:
                self.forgotten += 1
                continue
            self.compared += 1
            true = [[tuple(round(float(number), 8) for number in level) for level in side[:len(ours)]] for side, ours in zip(true, levels)]
            if not all(levels):
                self.error(f"the book of {symbol} at {update_id} has an empty side")
            elif wrong := strict.difference(levels, true):
                self.error(f"the book of {symbol} at {update_id} is not the exchange's: {wrong}")

    def finish(self, kinds):
        until = time.monotonic() + 5
        while not self.books.empty() and time.monotonic() < until:
            time.sleep(0.05)
        for kind in kinds:
            if not self.events[kind]:
                self.error(f"no {kind}")
            elif (age := time.monotonic() - self.last[kind]) > FRESH + (65 if kind == "bars" else 5):
                self.error(f"no {kind} in the last {age:.0f} s")
        if "books" in kinds and not self.compared:
            self.error(f"no book could be compared ({self.forgotten} unknown to the exchange)")
        out = {"client": self.options.client, "version": self.version, "events": dict(self.events), "reconnects": self.reconnects,
               "books": self.compared, "unknown books": self.forgotten, "trades": self.trades, "errors": dict(self.errors.most_common(20)),
               "first": dict(self.first.values()),
               "notes": dict(self.notes.most_common(8))}
        print(json.dumps(out), flush=True)
        os._exit(0)


class Server:
    def __init__(self, address):
        self.host, port = address.split(":")
        self.port = int(port)


class Logs(logging.Handler):
    """Errors in the client's log are errors of the client, unless they are about the end of a connection."""

    def __init__(self, verdict):
        super().__init__(logging.WARNING)
        self.verdict = verdict

    def emit(self, record):
        words = f"{record.name}: {record.getMessage()}"
        if record.levelno >= logging.ERROR and not RECONNECT.search(words):
            self.verdict.error(words)
        else:
            self.verdict.note(words)


class Joined:
    """A book that the driver itself keeps from the client's events and its REST call, by the strictest rule."""

    def __init__(self, verdict, symbol, fetch):
        self.verdict, self.symbol, self.fetch, self.lock = verdict, symbol, fetch, threading.RLock()
        self.reset()

    def reset(self):
        with self.lock:
            self.book, self.is_asked = strict.Book(), False

    def take(self, event):
        """`event` has U, u, pu, b and a."""
        with self.lock:
            try:
                if not self.book.receive(event):
                    self.verdict.note("a break of pu")
                    self.reset()
                    self.book.receive(event)
            except strict.Overlap as error:
                self._overlap(error)
            if not self.is_asked:
                self.is_asked = True
                threading.Thread(target=self._ask, args=(self.book,), daemon=True).start()
            if self.book.position is not None:
                self.verdict.book(self.symbol, self.book.position, *self.book.top())

    def _ask(self, book):
        try:
            snapshot = self.fetch()
        except Exception as error:
            self.verdict.note(f"depth of {self.symbol}: {error}")
            time.sleep(0.5)
            with self.lock:
                self.is_asked = self.is_asked and book is not self.book
            return
        with self.lock:
            if book is self.book:
                try:
                    self.book.start(snapshot)
                except strict.Overlap as error:
                    self._overlap(error)

    def _overlap(self, error):
        self.verdict.error(f"{self.symbol}: {error}")
        self.reset()


# ccxt

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


# The official SDK

async def sdk(verdict):
    from binance_common.configuration import ConfigurationRestAPI, ConfigurationWebSocketStreams
    from binance_sdk_derivatives_trading_usds_futures.derivatives_trading_usds_futures import DerivativesTradingUsdsFutures
    base = verdict.options.gateway
    client = DerivativesTradingUsdsFutures(
        config_rest_api=ConfigurationRestAPI(api_key="", api_secret="", base_path=f"http://{base}"),
        config_ws_streams=ConfigurationWebSocketStreams(stream_url=f"ws://{base}", reconnect_delay=1000, reconnect_attempts=10))
    rest = client.rest_api
    ended = asyncio.Event()

    def fetch(symbol):
        reply = rest.order_book(symbol=symbol, limit=1000).data()
        return {"lastUpdateId": reply.last_update_id, "bids": reply.bids, "asks": reply.asks}

    def plain(data):
        return data.to_dict() if hasattr(data, "to_dict") else dict(data)

    async def follow(connection):
        connection.on_connection("close", lambda *words: ended.set())
        # After the venue's notice the library opens the connection and its streams again by itself.
        connection.on_connection("reconnect", lambda *words: verdict.reconnected())
        for symbol in verdict.options.symbols:
            book = Joined(verdict, symbol, lambda symbol=symbol: fetch(symbol))
            stream = await connection.aggregate_trade_streams(symbol=symbol.lower())
            stream.on("message", lambda data, symbol=symbol: verdict.trade(symbol, plain(data)["a"]))
            stream = await connection.diff_book_depth_streams(symbol=symbol.lower(), update_speed="100ms")
            stream.on("message", lambda data, book=book: book.take(plain(data)))
        first = verdict.options.symbols[0].lower()
        for kind, call, given in (("ticker", connection.individual_symbol_ticker_streams, {"symbol": first}),
                                  ("mark price", connection.mark_price_stream, {"symbol": first, "update_speed": "1s"}),
                                  ("bids and asks", connection.individual_symbol_book_ticker_streams, {"symbol": first}),
                                  ("ohlcv", connection.kline_candlestick_streams, {"symbol": first, "interval": "1m"}),
                                  ("tickers", connection.all_market_tickers_streams, {}),
                                  ("liquidations", connection.all_market_liquidation_order_streams, {})):
            stream = await call(**given)
            stream.on("message", lambda data, kind=kind: verdict.event(kind))

    # The library only reports the end of a connection without a notice.
    while verdict.left > 2:
        ended.clear()
        try:
            connection = await client.websocket_streams.create_connection()
            await follow(connection)
            await asyncio.wait_for(ended.wait(), verdict.left - 2)
        except asyncio.TimeoutError:
            listed = await connection.list_subscribe()
            verdict.note(f"LIST_SUBSCRIPTIONS: {str(listed)[:100]}")
            break
        except Exception as error:
            if not RECONNECT.search(f"{type(error).__name__} {error}"):
                verdict.error(f"{type(error).__name__}: {error}")
        verdict.reconnected()
        try:
            await connection.close_connection()
        except Exception as error:
            verdict.note(f"close_connection: {error}")
        await asyncio.sleep(1)
    verdict.finish(["trades", "books", "ticker", "mark price", "bids and asks", "ohlcv", "tickers"])


# python-binance

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


# unicorn

async def unicorn(verdict):
    from unicorn_binance_local_depth_cache import BinanceLocalDepthCacheManager
    from unicorn_binance_rest_api import BinanceRestApiManager
    from unicorn_binance_websocket_api import BinanceWebSocketApiManager
    base, exchange = verdict.options.gateway, "binance.com-futures"
    uris = {"websocket_base_uri": f"ws://{base}/", "restful_base_uri": f"http://{base}/", "websocket_api_base_uri": f"ws://{base}/"}

    class Rest(BinanceRestApiManager):
        """The constructor asks the spot exchange for its time, before any URL can be set."""

        def get_server_time(self):
            return {"serverTime": int(time.time() * 1000)}

        def get_used_weight(self, *words, **more):
            """Without the header X-MBX-USED-WEIGHT it returns None, and the depth cache fails on that."""
            used = super().get_used_weight(*words, **more)
            if used is None:
                verdict.error("/api/v3/ping has no header X-MBX-USED-WEIGHT, so the depth cache cannot start (TypeError at manager.py:598)")
            return used or {"status_code": 200, "timestamp": time.time(), "weight": 1}
    rest = Rest(exchange=exchange, warn_on_update=False, disable_colorama=True)
    rest.API_URL, rest.FUTURES_URL, rest.FUTURES_DATA_URL = f"http://{base}/api", f"http://{base}/fapi", f"http://{base}/futures/data"
    depth = BinanceLocalDepthCacheManager(exchange=exchange, ubra_manager=rest, warn_on_update=False, disable_colorama=True, init_interval=0.5,
                                          init_time_window=2)
    own = depth._process_stream_signals

    def signals(signal_type=None, stream_id=None, data_record=None, error_msg=None):
        if signal_type == "DISCONNECT":
            verdict.note(f"disconnected: {error_msg}")
            verdict.reconnected()
        if signal_type == "STREAM_UNREPAIRABLE":
            verdict.error(f"{signal_type}: {error_msg}")
        return True

    def both(**words):
        signals(**words)
        return own(**words)
    depth.ubwa.stop_manager()
    depth.ubwa = BinanceWebSocketApiManager(exchange=exchange, enable_stream_signal_buffer=True, process_stream_signals=both, warn_on_update=False,
                                            disable_colorama=True, close_timeout_default=2, ping_timeout_default=10, ping_interval_default=20, **uris)
    web = BinanceWebSocketApiManager(exchange=exchange, enable_stream_signal_buffer=True, process_stream_signals=signals, warn_on_update=False,
                                     disable_colorama=True, output_default="dict", **uris)

    def take(message):
        if "error" in message or "code" in message:
            return verdict.error(f"an answer: {message}")
        if "stream" not in message:
            return verdict.note("answers")
        data, kind = message["data"], message["stream"].partition("@")[2]
        if kind == "aggTrade":
            verdict.trade(data["s"], data["a"])
        else:
            verdict.event({"kline_1m": "ohlcv", "markPrice": "mark price", "bookTicker": "bids and asks"}.get(kind, kind))

    lower = [symbol.lower() for symbol in verdict.options.symbols]
    web.create_stream(["aggTrade", "kline_1m", "markPrice", "ticker"], lower, process_stream_data=take)
    web.create_stream(["bookTicker"], lower, process_stream_data=take)
    depth.create_depthcache(markets=verdict.options.symbols)
    out_since = {symbol: time.monotonic() for symbol in verdict.options.symbols}
    while verdict.left > 1:
        await asyncio.sleep(0.1)
        for symbol in verdict.options.symbols:
            market, state = symbol.lower(), depth.depth_caches.get(symbol.lower(), {})
            if not state.get("is_synchronized"):
                continue
            before = state["last_update_id"]
            bids, asks = dict(state["bids"]), dict(state["asks"])
            if state.get("is_synchronized") and before == depth.depth_caches[market]["last_update_id"]:
                # The library's thread changes the sides before the update id. It gets time to complete such a change, which the look below finds.
                await asyncio.sleep(0.005)
                if bids and asks:
                    out_since[symbol] = time.monotonic()
                    tops = strict.sides({k: v for k, v in bids.items() if float(v)}, {k: v for k, v in asks.items() if float(v)}, 20)
                    unchanged = before == depth.depth_caches[market]["last_update_id"] and tops == strict.sides(
                        {k: v for k, v in dict(state["bids"]).items() if float(v)}, {k: v for k, v in dict(state["asks"]).items() if float(v)}, 20)
                    if unchanged:
                        verdict.book(symbol, before, *tops)
    for symbol, since in out_since.items():
        if time.monotonic() - since > FRESH:
            verdict.error(f"the depth cache of {symbol} is not synchronized since {time.monotonic() - since:.0f} s")
    verdict.note(f"restarts of depth caches: {sum(depth.get_restart_count(symbol) for symbol in verdict.options.symbols)}")
    verdict.finish(["trades", "books", "ohlcv", "mark price", "ticker", "bids and asks"])


# cryptofeed

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


# nautilus_trader

def nautilus(verdict):
    from nautilus_trader.adapters.binance.common.enums import BinanceTimeInForce as Force
    # The client cannot read a list of symbols with these kinds of orders, neither here nor at a venue that has them.
    for name in ("RPI", "HIDDEN"):
        if name not in Force.__members__:
            member = object.__new__(Force)
            member._name_ = member._value_ = name
            Force._member_map_[name] = Force._value2member_map_[name] = member
            Force._member_names_.append(name)
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


RUNS = {
    "binanceusdm": ("ccxt", lambda verdict: asyncio.run(ccxt(verdict, "binanceusdm"))),
    "aster": ("ccxt", lambda verdict: asyncio.run(ccxt(verdict, "aster"))),
    "sdk": ("binance-sdk-derivatives-trading-usds-futures", lambda verdict: asyncio.run(sdk(verdict))),
    "python-binance": ("python-binance", lambda verdict: asyncio.run(python_binance(verdict))),
    "unicorn": ("unicorn-binance-local-depth-cache", lambda verdict: asyncio.run(unicorn(verdict))),
    "cryptofeed": ("cryptofeed", cryptofeed),
    "nautilus": ("nautilus_trader", nautilus),
}

if __name__ == "__main__":
    faulthandler.enable()
    parser = argparse.ArgumentParser()
    parser.add_argument("client", choices=list(RUNS))
    parser.add_argument("gateway")
    parser.add_argument("exchange")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--symbols", type=lambda text: text.split(","), default=["BTCUSDT", "ETHUSDT"])
    given = parser.parse_args()
    package, run = RUNS[given.client]
    judged = Verdict(given, package)
    logging.getLogger().addHandler(Logs(judged))
    try:
        run(judged)
    except Exception as failure:
        import traceback
        traceback.print_exc()
        judged.error(f"{type(failure).__name__}: {failure}")
    judged.finish([])
