"""Requests for everything that bots read, right and wrong ones, made by dice."""

import urllib.parse

MINUTE, HOUR = 60_000, 3_600_000
INTERVALS = {"1m": 1, "3m": 3, "5m": 5, "15m": 15, "30m": 30, "1h": 60, "2h": 120, "4h": 240, "6h": 360, "8h": 480, "12h": 720, "1d": 1440,
             "3d": 4320, "1w": 10080, "1M": 43200}
"""The venue's intervals, each with its minutes."""
PERIODS = ("5m", "15m", "30m", "1h", "2h", "4h", "6h", "12h", "1d")
DEPTHS = (5, 10, 20, 50, 100, 500, 1000)
WRONG = {
    "symbol": ("NOPEUSDT", "", "BTC-USDT", "BTCUSDT%20", "%00"),
    "pair": ("NOPEUSDT", ""),
    "interval": ("7m", "", "1H", "60"),
    "period": ("7m", ""),
    "contractType": ("FOREVER", ""),
    "limit": ("0", "-1", "x", "1e2", "", "99999999999999999999", "1501", "3"),
    "startTime": ("yesterday", "-5"),
    "endTime": ("x", "-1"),
    "fromId": ("x", "-1"),
}
"""What a parameter may hold that it should not, as it stands in a URL."""

BARS = ("interval", "limit?", "startTime?", "endTime?")
RATIO = ("symbol", "period", "limit?", "startTime?", "endTime?")
FAPI = {
    "ping": (), "time": (), "exchangeInfo": (),
    "klines": ("symbol", *BARS),
    "continuousKlines": ("pair", "contractType", *BARS),
    "markPriceKlines": ("symbol", *BARS),
    "indexPriceKlines": ("pair", *BARS),
    "premiumIndexKlines": ("symbol", *BARS),
    "depth": ("symbol", "depth?"),
    "trades": ("symbol", "limit?"),
    "aggTrades": ("symbol", "limit?", "fromId?|startTime?", "endTime?"),
    "ticker/24hr": ("symbol?",), "ticker/price": ("symbol?",), "ticker/bookTicker": ("symbol?",),
    "premiumIndex": ("symbol?",),
    "fundingRate": ("symbol?", "limit?", "startTime?", "endTime?"),
    "fundingInfo": (),
    "openInterest": ("symbol",),
    "assetIndex": ("asset?",),
    "constituents": ("symbol",),
}
"""What is under /fapi/v1, with its parameters; `?` marks those that may be absent, and of two with `|` between there is at most one."""
DATA = {
    "openInterestHist": RATIO, "topLongShortAccountRatio": RATIO, "topLongShortPositionRatio": RATIO, "globalLongShortAccountRatio": RATIO,
    "takerlongshortRatio": RATIO, "basis": ("pair", "contractType", "period", "limit?", "startTime?", "endTime?"),
}
"""What is under /futures/data."""
BUSY = {"klines": 8, "depth": 6, "aggTrades": 3, "trades": 2, "ticker/24hr": 2, "ticker/bookTicker": 2, "premiumIndex": 2, "ticker/price": 2}
"""How often what is asked for beside what is asked for once."""


class Targets:
    """Makes targets. `now` is when the market stopped: times in requests are a few and fixed, so that a request is met again."""

    def __init__(self, dice, symbols, now, ids=None, most=0.2, versions=("v1",)):
        self.dice, self.symbols, self.now, self.ids, self.most, self.versions = dice, symbols, now, ids or {}, most, versions
        """`ids` has some ids of trades by symbol; `most` is the share of requests that are wrong."""
        self.paths = [("/fapi/v1/", name, FAPI[name]) for name in FAPI for _ in range(BUSY.get(name, 1))]
        self.paths += [("/futures/data/", name, DATA[name]) for name in DATA]

    def next(self):
        base, name, parameters = self.dice.choice(self.paths)
        if base == "/fapi/v1/":
            base = "/fapi/v2/" if name == "ticker/price" and self.dice.random() < 0.3 else f"/fapi/{self.dice.choice(self.versions)}/"
        return self.target(base, name, parameters)

    def each(self):
        """One right request for every path, with all its parameters."""
        for base, table in (("/fapi/v1/", FAPI), ("/futures/data/", DATA)):
            for name, parameters in table.items():
                yield self.target(base, name, [one.replace("?", "").split("|")[0] for one in parameters], is_wrong=False)

    def target(self, base, name, parameters, is_wrong=None):
        query, symbol = {}, self.dice.choice(self.symbols)
        for parameter in parameters:
            parameter = self.dice.choice(parameter.split("|"))
            if not parameter.endswith("?") or self.dice.random() < 0.45:
                parameter = parameter.rstrip("?")
                query["limit" if parameter == "depth" else parameter] = self.value(parameter, name, symbol, query)
        if self.dice.random() < self.most if is_wrong is None else is_wrong:
            self.spoil(query)
        pairs = list(query.items())
        self.dice.shuffle(pairs)
        return base + name + ("?" + "&".join(f"{one}={value}" for one, value in pairs) if pairs else "")

    def value(self, parameter, name, symbol, query):
        dice = self.dice
        minutes = INTERVALS.get(query.get("interval", query.get("period", "1m")), 1)
        if parameter in ("symbol", "pair"):
            symbol = symbol.split("_")[0] if parameter == "pair" else symbol
            written = symbol.lower() if dice.random() < 0.15 else symbol
            return urllib.parse.quote(written)
        if parameter == "interval":
            return dice.choice(("1m", "1m", "5m", "1h", dice.choice(list(INTERVALS))))
        if parameter == "asset":
            return dice.choice(("BTCUSD", "ETHUSD"))
        if parameter == "period":
            return dice.choice(PERIODS)
        if parameter == "contractType":
            return "PERPETUAL"
        if parameter == "depth":
            return dice.choice(DEPTHS)
        if parameter == "limit":
            most = (1000, 1500) if "lines" in name else (1000,)
            return dice.choice((1, 5, 99, 100, 499, 500) if name in DATA else (1, 2, 10, 99, 100, 499, 500, *most))
        if parameter == "fromId":
            return dice.choice(self.ids.get(symbol) or (1000,))
        if name == "aggTrades":
            minutes = 1
        begin = self.now // (minutes * MINUTE) * minutes * MINUTE - dice.choice((0, 1, 5, 40, 450)) * minutes * MINUTE
        if parameter == "startTime":
            return begin + dice.choice((0, 0, 1, -1, 30_000))
        return min(begin, 10**15) if "startTime" not in query else int(query["startTime"]) + dice.choice((0, 1, 10, 50)) * minutes * MINUTE

    def spoil(self, query):
        """Takes a parameter away, puts something wrong into one, or adds one that the venue does not know."""
        way = self.dice.random()
        if query and way < 0.25:
            del query[self.dice.choice(list(query))]
        elif query and way < 0.85:
            parameter = self.dice.choice(list(query))
            query[parameter] = self.dice.choice(WRONG.get(parameter, ("x",)))
        else:
            query["whatever"] = self.dice.choice(("1", "", "%20"))
