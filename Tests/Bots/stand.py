"""The demo exchange with a gateway before it, plain requests to either, and what the exchange was asked."""

import collections
import http.client
import pathlib
import re
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent / "Soak"))

import house  # noqa: E402
import verdict  # noqa: E402

tell = verdict.tell
OWN = ("exchangeInfo", "time")
"""What the gateway asks for itself once it runs: the list of symbols and the venue's clock. Besides, it fills up and compares books and asks about silences."""
SPENT = re.compile(r'^futures_gateway_upstream_request_weight_total\{purpose="(\w+)"\} (\d+)', re.M)


class Reply:
    """An answer: `status`, `headers` by lower-case name, and `body`, the bytes as they came."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body


class Line:
    """One kept connection. A request that finds it closed is sent once more on a new one."""

    def __init__(self, host, port, timeout=30):
        self.host, self.port, self.timeout, self.kept = host, port, timeout, None

    def ask(self, target, headers=None, method="GET", body=None):
        for attempt in (1, 2):
            try:
                if not self.kept:
                    self.kept = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
                self.kept.request(method, target, body, headers or {})
                reply = self.kept.getresponse()
                return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
            except (OSError, http.client.HTTPException):
                self.close()
                if attempt == 2:
                    raise

    def close(self):
        if self.kept:
            self.kept.close()
        self.kept = None


class Venue(house.Exchange):
    """The demo exchange with enough symbols, and weight without end unless `weight` says otherwise."""

    def __init__(self, executable, symbols=40, weight=100_000_000, *options):
        super().__init__(executable, "--symbols", symbols, "--weight-limit", weight, *options)

    def line(self):
        return Line(self.host, self.port)

    def asked(self):
        """How often it was asked for each target so far, by everybody."""
        _, statistics = self.ask("GET", "/control/statistics")
        return collections.Counter({target: times for target, times in statistics["requests"].items() if not target.startswith("/control")})


class Mirror(house.Gateway):
    """A gateway before the venue."""

    def line(self):
        return Line(self.host, self.port)

    def spent(self):
        """Request weight by what it was spent for, by the gateway's own account."""
        _, text = self.ask("GET", "/metrics")
        return collections.Counter({name: int(weight) for name, weight in SPENT.findall(text)})


def endpoint(target):
    """The last part of a target: `klines` of `/k/KEY/fapi/v1/klines?symbol=BTCUSDT`, and of `/binance/fapi/v1/klines`, the path of a second venue."""
    parts = urllib.parse.urlsplit(target).path.split("/")
    parts = parts[3:] if parts[1:2] == ["k"] else parts[1:]
    parts = parts[1:] if parts[:1] == ["binance"] else parts
    return "/".join(parts[2:] if parts[:1] == ["fapi"] else parts)


def weight(target):
    """The request weight that the venues take for a target, as their documents say: the larger where they differ."""
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query))
    name, limit = endpoint(target), int(query["limit"]) if query.get("limit", "").isdigit() else 500
    if name == "klines" or name.endswith("Klines"):
        return 1 if limit < 100 else 2 if limit < 500 else 5 if limit <= 1000 else 10
    if name == "depth":
        return 2 if limit <= 50 else 5 if limit <= 100 else 10 if limit <= 500 else 20
    if name == "ticker/24hr":
        return 1 if "symbol" in query else 40
    if name == "ticker/price":
        return 1 if "symbol" in query else 2
    if name == "ticker/bookTicker":
        return 2 if "symbol" in query else 5
    if name == "premiumIndex":
        return 1 if "symbol" in query else 10
    return 20 if name == "aggTrades" else 1


def cost(asked):
    """The weight of what was asked, as `Venue.asked` counts it."""
    return sum(times * weight(target) for target, times in asked.items())


class Account:
    """What the venue was asked and what the gateway says it spent, until now, or in a time between two such accounts."""

    def __init__(self, venue, mirror):
        self.spent, self.asked = mirror.spent(), venue.asked()

    def since(self, before):
        part = object.__new__(Account)
        part.spent, part.asked = self.spent - before.spent, self.asked - before.asked
        return part

    @property
    def for_bots(self):
        """The weight that the venue saw, without what the gateway says were refills, comparisons and silences, and without its own list and clock."""
        own = sum(weight(target) * times for target, times in self.asked.items() if endpoint(target) in OWN)
        return cost(self.asked) - own - self.spent["refill"] - self.spent["audit"] - self.spent["silence"]

    def told(self, minutes=1.0):
        spent = ", ".join(f"{name} {self.spent[name] / minutes:.1f}" for name in ("content", "mirror", "refill", "audit", "silence"))
        return (f"weight {self.for_bots / minutes:.1f} for bots of {cost(self.asked) / minutes:.1f} in all ({by_endpoint(self.asked)}); "
                f"the gateway's account: {spent}")


def by_endpoint(asked):
    """`klines 50, depth 2`: how often what was asked for, the most often first."""
    counts = collections.Counter()
    for target, times in asked.items():
        counts[endpoint(target)] += times
    return ", ".join(f"{name} {times}" for name, times in counts.most_common()) or "nothing"


def wait(seconds, condition, step=0.05):
    """Whether a condition holds within so many seconds."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(step)
    return True
