"""An order book rebuilt from events alone."""

import functools
from decimal import Decimal

from follower import Follower

number = functools.lru_cache(1 << 18)(Decimal)


class Book(Follower):
    """A diff depth stream: quantities are absolute, zero removes, and every change names the one before it."""

    def __init__(self, stream):
        super().__init__(stream)
        self.bids, self.asks = {}, {}
        self.reach = None
        """The worst bid and ask of the last full book. Nobody told of all levels beyond."""

    def full(self, content):
        self.bids, self.asks = dict(content["bids"]), dict(content["asks"])
        if len(self.bids) != len(content["bids"]) or len(self.asks) != len(content["asks"]):
            self.broken("a price occurs twice in a snapshot")
        self.reach = tuple(number(content[side][-1][0]) for side in ("bids", "asks"))
        return content["lastUpdateId"]

    def delta(self, content):
        if content["lastUpdateId"] <= self.position:
            self.broken(f"update {content['lastUpdateId']} came after {self.position}")
        if content["previousUpdateId"] != self.position:
            self.broken(f"silent loss between {self.position} and {content['previousUpdateId']}")
        for side, levels in ((self.bids, content["bids"]), (self.asks, content["asks"])):
            for price, quantity in levels:
                if quantity.strip("0.") == "":
                    side.pop(price, None)
                else:
                    side[price] = quantity
        return content["lastUpdateId"]

    def top(self, depth=20):
        """The best levels of each side, best first."""
        return (
            sorted(self.bids.items(), key=lambda level: number(level[0]), reverse=True)[:depth],
            sorted(self.asks.items(), key=lambda level: number(level[0]))[:depth],
        )


def within(levels, reach):
    """The levels, best first, as far as `reach` of a full book."""
    return (
        [level for level in levels[0] if number(level[0]) >= reach[0]],
        [level for level in levels[1] if number(level[0]) <= reach[1]],
    )
