"""Public calls of one client library to the venue and to the mirror, compared. Runs inside the environment that has the library.

    calls.py LIBRARY VENUE MIRROR --calls N --seed N --now MILLISECONDS --symbols BTCUSDT,ETHUSDT

LIBRARY is binanceusdm or aster (ccxt), python-binance or connector (binance-futures-connector). It prints one line of JSON.
"""

import argparse
import collections
import inspect
import json
import random
import re
import sys
import urllib.parse

import equal
from targets import HOUR, INTERVALS, MINUTE, PERIODS, WRONG

ABSENT = ("lvtKlines", "convert/exchangeInfo", "insuranceBalance", "indexreferences", "historicalTrades", "apiTradingStatus", "adlQuantile",
          "forceOrders")
"""What the demo exchange or the mirror does not have, and what needs a key, which the mirror refuses in words of its own."""
DEPTHS = (5, 10, 20, 50, 100, 500, 1000, 7)
SHOWN = 300


class Dice(random.Random):
    """What calls are made of. `now` is when the market stopped."""

    def __init__(self, seed, now, symbols):
        super().__init__(seed)
        self.now, self.symbols = now, symbols

    def symbol(self):
        return self.choice(self.symbols)

    def pair(self):
        return self.symbol().split("_")[0]

    def interval(self):
        return self.choice(("1m", "1m", "5m", "1h", self.choice(list(INTERVALS))))

    def since(self, interval="1m"):
        bar = INTERVALS.get(interval, 1) * MINUTE
        return self.now // bar * bar - self.choice((1, 5, 40, 450)) * bar

    def maybe(self, **values):
        """Some of these parameters."""
        return {name: value for name, value in values.items() if self.random() < 0.5}

    def bars(self):
        interval = self.interval()
        return interval, self.maybe(limit=self.choice((1, 2, 99, 100, 499, 500, 1000, 1500)), startTime=self.since(interval))

    def wrong(self, query):
        """The parameters with one spoiled, one time in ten."""
        if query and self.random() < 0.1:
            name = self.choice(list(query))
            query = query | {name: self.choice(WRONG.get(name, ("x",)))}
        return query


class Ccxt:
    """The unified calls and the implicit ones of one exchange of ccxt."""

    def __init__(self, base, name, symbols):
        import ccxt
        self.base, self.name = base, name
        exchange = getattr(ccxt, name)({"enableRateLimit": False, "options": {"defaultType": "swap"}})
        exchange.urls["api"] = {key: base + urllib.parse.urlsplit(url).path for key, url in exchange.urls["api"].items() if isinstance(url, str)}
        exchange.on_rest_response = self.received
        self.exchange = exchange
        exchange.load_markets()
        by_id = {market["id"]: symbol for symbol, market in exchange.markets.items()}
        self.symbols = [by_id[symbol] for symbol in symbols if symbol in by_id]

    def received(self, code, reason, url, method, headers, body, *_):
        return equal.masked(url[len(self.base):], body.strip().encode()).decode()

    def next(self, dice):
        """A method and its arguments."""
        symbol, interval = dice.choice(self.symbols), dice.interval()
        since, limit = dice.choice((None, dice.since(interval))), dice.choice((None, 1, 10, 99, 499, 500, 1000))
        recent = dice.now - dice.choice((1, 5, 30)) * MINUTE
        price = dice.choice(({}, {}, {"price": dice.choice(("mark", "index", "premiumIndex"))}))
        if self.name == "aster":
            price = dice.choice(({}, {}, {"price": dice.choice(("mark", "index"))}))
        if interval == "1M" and self.name == "aster":
            since = None
        unified = [
            *[("fetch_ohlcv", symbol, interval, since, limit, price)] * 6,
            *[("fetch_order_book", symbol, dice.choice((None, *DEPTHS)))] * 5,
            ("fetch_time",), ("fetch_ticker", symbol), ("fetch_ticker", symbol), ("fetch_tickers",), ("fetch_tickers", [symbol]),
            ("fetch_bids_asks",), ("fetch_bids_asks", [symbol]), ("fetch_last_prices",), ("fetch_l2_order_book", symbol, 20),
            ("fetch_trades", symbol, None, dice.choice((None, 1, 500, 1000))), ("fetch_trades", symbol, recent, dice.choice((None, 100))),
            ("fetch_funding_rate", symbol), ("fetch_funding_rates",), ("fetch_funding_rates", [symbol]),
            ("fetch_funding_rate_history", symbol, dice.choice((None, dice.now - 72 * HOUR)), dice.choice((None, 3, 1000))),
            ("fetch_funding_intervals",), ("fetch_funding_interval", symbol), ("load_markets", True),
        ]
        if self.name == "binanceusdm":
            period = dice.choice(PERIODS)
            unified += [
                ("fetch_mark_price", symbol), ("fetch_mark_prices",), ("fetch_open_interest", symbol),
                ("fetch_open_interest_history", symbol, period, dice.choice((None, dice.now - 10 * HOUR)), dice.choice((None, 5, 500))),
                ("fetch_long_short_ratio_history", symbol, period, None, dice.choice((None, 5, 500))),
                ("fetch_trades", symbol, None, 5, {"fetchTradesMethod": "fapiPublicGetTrades"}),
            ]
        return dice.choice(unified) if dice.random() < 0.75 else self.implicit(dice)

    def implicit(self, dice):
        """A method that ccxt makes of the venue's path, with all that any path takes and sometimes something wrong."""
        groups = [group for group in ("fapiPublic", "fapiPublicV2", "fapiData") if group in self.exchange.api]
        group = dice.choice(groups)
        path = dice.choice(sorted(path for path in self.exchange.api[group]["get"] if not path.endswith(ABSENT)))
        name = group + "Get" + "".join(word[:1].upper() + word[1:] for word in re.split(r"[/_-]", path))
        symbol = dice.symbol()
        query = {"symbol": symbol, "pair": dice.pair(), "interval": dice.interval(), "period": dice.choice(PERIODS), "contractType": "PERPETUAL"}
        if dice.random() < 0.3 and not path.endswith("assetIndex"):
            query["limit"] = dice.choice((5, 100, 500, 1500))
        if dice.random() < 0.15:
            del query["symbol"], query["pair"]
        return name, dice.wrong(query)

    def call(self, name, *arguments):
        return getattr(self.exchange, name)(*arguments)


class PythonBinance:
    """python-binance: each of its public methods for USDⓈ-M futures."""

    def __init__(self, base, *_):
        from binance.client import Client
        self.client = Client(ping=False)
        self.client.FUTURES_URL, self.client.FUTURES_DATA_URL = base + "/fapi", base + "/futures/data"
        self.client.session.hooks["response"].append(mask)

    def next(self, dice):
        symbol, (interval, bars), period = dice.symbol(), dice.bars(), dice.choice(PERIODS)
        one, some = {"symbol": symbol}, dice.choice(({}, {"symbol": symbol}))
        ratio = one | {"period": period} | dice.maybe(limit=dice.choice((1, 100, 500)))
        name, query = dice.choice([
            *[("futures_klines", one | {"interval": interval} | bars)] * 4,
            *[("futures_order_book", one | dice.maybe(limit=dice.choice(DEPTHS)))] * 4,
            ("futures_ping", {}), ("futures_time", {}), ("futures_exchange_info", {}),
            ("futures_recent_trades", one | dice.maybe(limit=dice.choice((1, 100, 1000)))),
            ("futures_aggregate_trades", one | dice.maybe(limit=dice.choice((1, 100, 1000)))),
            ("futures_mark_price_klines", one | {"interval": interval} | bars), ("futures_premium_index_klines", one | {"interval": interval} | bars),
            ("futures_index_price_klines", {"pair": dice.pair(), "interval": interval} | bars),
            ("futures_continuous_klines", {"pair": dice.pair(), "contractType": "PERPETUAL", "interval": interval} | bars),
            ("futures_historical_klines", one | {"interval": "1m", "start_str": dice.since(), "end_str": dice.now}),
            ("futures_mark_price", some), ("futures_funding_rate", one | dice.maybe(limit=dice.choice((1, 3, 1000)))),
            ("futures_v1_get_funding_info", {}), ("futures_top_longshort_account_ratio", ratio), ("futures_top_longshort_position_ratio", ratio),
            ("futures_global_longshort_ratio", ratio), ("futures_taker_longshort_ratio", ratio), ("futures_open_interest_hist", ratio),
            ("futures_basis", {"pair": dice.pair(), "contractType": "PERPETUAL", "period": period, "limit": 30}),
            ("futures_ticker", some), ("futures_symbol_ticker", some), ("futures_orderbook_ticker", some),
            ("futures_index_price_constituents", one), ("futures_open_interest", one),
        ])
        return (name, query) if name == "futures_historical_klines" else (name, dice.wrong(query))

    def call(self, name, query):
        return getattr(self.client, name)(**query)


class Connector:
    """binance-futures-connector: each public method of UMFutures that the demo exchange can answer."""

    ABSENT = ("historical_trades", "blvt_kline", "index_info", "quarterly_contract_settlement_price")

    def __init__(self, base, *_):
        from binance.um_futures import UMFutures, market
        self.client = UMFutures(base_url=base)
        self.client.session.hooks["response"].append(mask)
        self.methods = {name: inspect.signature(method).parameters for name, method in inspect.getmembers(market, inspect.isfunction)
                        if method.__module__ == market.__name__ and name not in self.ABSENT}

    def next(self, dice):
        name = dice.choice(sorted(self.methods) + ["klines", "depth", "klines", "depth"])
        parameters, symbol = self.methods[name], dice.symbol()
        known = {"symbol": symbol, "pair": dice.pair(), "interval": dice.interval(), "period": dice.choice(PERIODS), "contractType": "PERPETUAL"}
        query = {parameter: known[parameter] for parameter in parameters if parameter in known}
        if "symbol" in query and parameters["symbol"].default is None and dice.random() < 0.3:
            del query["symbol"]
        if name == "asset_Index":
            query = dice.choice(({}, {"symbol": "BTCUSD"}))
        if "kwargs" in parameters:
            query |= dice.maybe(limit=dice.choice(DEPTHS if name == "depth" else (1, 100, 500)))
        return name, {key: value for key, value in dice.wrong(query).items() if value != "" or key == "limit"}

    def call(self, name, query):
        return getattr(self.client, name)(**query)


def mask(reply, *_, **__):
    """A hook of `requests`: what the client is given has no clocks."""
    target = reply.request.path_url
    reply._content = equal.masked(target, reply.content)


LIBRARIES = {"binanceusdm": Ccxt, "aster": Ccxt, "python-binance": PythonBinance, "connector": Connector}


def outcome(client, base, call):
    """What a call returns, or the error that it raises."""
    try:
        return client.call(*call)
    except Exception as error:
        words = str(error).replace(base, "BASE")
        return type(error).__name__, re.sub(r", \{'.*", "", words)


def differ(ours, theirs, place=""):
    """Where two values differ first, in words; None where they are equal."""
    if type(ours) is not type(theirs):
        return f"{place}: {short(ours)} for {short(theirs)}"
    if isinstance(ours, dict):
        for key in [*theirs, *(key for key in ours if key not in theirs)]:
            if key not in ours or key not in theirs:
                return f"{place}.{key} is {'missing' if key not in ours else 'too much'}"
            if words := differ(ours[key], theirs[key], f"{place}.{key}"):
                return words
        return None
    if isinstance(ours, (list, tuple)):
        for number, (one, other) in enumerate(zip(ours, theirs)):
            if words := differ(one, other, f"{place}[{number}]"):
                return words
        return None if len(ours) == len(theirs) else f"{place}: {len(ours)} for {len(theirs)}"
    # A number that is none is the same as another.
    return None if ours == theirs or ours != ours and theirs != theirs else f"{place}: {short(ours)} for {short(theirs)}"


def short(value):
    text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("venue")
    parser.add_argument("mirror")
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--now", type=int, required=True)
    parser.add_argument("--symbols", required=True)
    options = parser.parse_args()
    symbols = options.symbols.split(",")
    dice = Dice(options.seed, options.now, symbols)
    venue, mirror = (LIBRARIES[options.library](base, options.library, symbols) for base in (options.venue, options.mirror))
    judge, wrong, methods, errors = equal.Judge(), [], collections.Counter(), 0
    for _ in range(options.calls):
        equal.wait_for_still()
        call = venue.next(dice)
        methods[call[0]] += 1
        seen = []

        def ask_venue():
            seen.append(outcome(venue, options.venue, call))
            return seen[-1]

        words = judge.judge(ask_venue, lambda: outcome(mirror, options.mirror, call), differ)
        errors += isinstance(seen[0], tuple)
        if words:
            wrong.append(f"{call[0]}{short(call[1:])}: {words}")
            if len(wrong) >= 200:
                break
    told = {"library": options.library, "calls": sum(methods.values()), "methods": len(methods), "errors": errors, "wrong": wrong}
    print(json.dumps(told | judge.summary()))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
