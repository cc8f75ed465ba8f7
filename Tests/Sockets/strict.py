"""Order books kept by the strictest rule of the clients.

The first applied event has U <= lastUpdateId <= u. The `pu` of each following event is the `u` of the event before it.
"""

import http.client
import json
import time

KEPT = 40
"""Books of a client's last events that are kept, so that one of them can be compared with the exchange's complete book."""
LEVELS = 1000


class Overlap(Exception):
    """The book from REST and the events cannot be joined. `is_next` says whether the first event continues that book, by `pu`."""

    def __init__(self, words, is_next=False):
        super().__init__(words)
        self.is_next = is_next


class Book:
    """The levels as decimal texts. `position` is the update id of the book; None before the book and the events are joined."""

    def __init__(self):
        self.bids, self.asks, self.position = {}, {}, None
        self.buffer, self.snapshot, self.reach = [], None, None
        self.kept = {}

    def receive(self, event):
        """Takes an event; False if `pu` shows that events are missing."""
        if self.position is None:
            self.buffer.append(event)
            if self.snapshot is not None:
                self.join()
            return True
        if event["pu"] != self.position:
            return False
        self._apply(event)
        return True

    def start(self, snapshot):
        self.snapshot = snapshot
        self.join()

    def join(self):
        """Joins the book from REST with the buffered events if an event reaches it."""
        identifier = self.snapshot["lastUpdateId"]
        events = [event for event in self.buffer if event["u"] >= identifier]
        if not events:
            return
        first = events[0]
        if not first["U"] <= identifier <= first["u"]:
            before = [event["u"] for event in self.buffer if event["u"] < identifier]
            age = f", which is {first['E'] - self.snapshot['E']} ms younger than the book by E" if "E" in self.snapshot and "E" in first else ""
            raise Overlap(f"lastUpdateId {identifier} is not within the first event {first['U']}..{first['u']} pu {first['pu']}{age}; "
                          f"{len(before)} events before it{f', the last at {before[-1]}' if before else ''}", first["pu"] == identifier)
        self.bids, self.asks = dict(map(tuple, self.snapshot["bids"])), dict(map(tuple, self.snapshot["asks"]))
        self.reach = [float(self.snapshot[side][-1][0]) for side in ("bids", "asks")]
        self.position = first["pu"]
        self.buffer = []
        for event in events:
            if event["pu"] != self.position:
                raise Overlap(f"pu {event['pu']} follows u {self.position} among the buffered events")
            self._apply(event)

    def _apply(self, event):
        for levels, changes in ((self.bids, event["b"]), (self.asks, event["a"])):
            for price, quantity in changes:
                if float(quantity) == 0:
                    levels.pop(price, None)
                else:
                    levels[price] = quantity
        self.position = event["u"]

    def keep(self):
        """Keeps a copy of the book as it is now."""
        self.kept[self.position] = dict(self.bids), dict(self.asks)
        while len(self.kept) > KEPT:
            del self.kept[next(iter(self.kept))]

    def top(self, count=20):
        return sides(self.bids, self.asks, count)


def sides(bids, asks, count):
    return (sorted(bids.items(), key=lambda level: -float(level[0]))[:count], sorted(asks.items(), key=lambda level: float(level[0]))[:count])


def difference(ours, theirs):
    """Words for the first level that differs; None if the books are the same."""
    for side, mine, other in zip(("bids", "asks"), ours, theirs):
        for place, (level, true) in enumerate(zip(mine, other)):
            if tuple(level) != tuple(true):
                return f"{side}[{place}] is {tuple(level)} for {tuple(true)}"
        if len(mine) != len(other):
            return f"{len(mine)} {side} for {len(other)}"
    return None


class REST:
    """A kept HTTP connection, opened again if it was cut."""

    def __init__(self, server):
        self.server, self.kept = server, None

    def get(self, target, timeout=15):
        """(status, body as JSON)."""
        for attempt in (1, 2, 3):
            try:
                if self.kept is None:
                    self.kept = http.client.HTTPConnection(self.server.host, self.server.port, timeout=timeout)
                self.kept.request("GET", target)
                reply = self.kept.getresponse()
                return reply.status, json.loads(reply.read())
            except (OSError, http.client.HTTPException):
                self.close()
                if attempt == 3:
                    raise
                time.sleep(0.05)

    def depth(self, symbol):
        return self.get(f"/fapi/v1/depth?symbol={symbol}&limit={LEVELS}")

    def truth(self, symbol, update_id):
        """The exchange's best 20 levels of each side right after an update; None if it does not remember them."""
        status, reply = self.get(f"/control/book?symbol={symbol}&updateId={update_id}")
        return (list(map(tuple, reply["bids"])), list(map(tuple, reply["asks"]))) if status == 200 else None

    def close(self):
        if self.kept:
            self.kept.close()
        self.kept = None


def deep_difference(book, snapshot):
    """How a kept book differs from the exchange's complete book at the same update; None if it does not, False if none is of that update."""
    kept = book.kept.get(snapshot["lastUpdateId"])
    if kept is None:
        return False
    reach = [float(snapshot[side][-1][0]) for side in ("bids", "asks")]
    low, high = max(reach[0], book.reach[0]), min(reach[1], book.reach[1])
    ours, theirs = sides(*kept, None), (list(map(tuple, snapshot["bids"])), list(map(tuple, snapshot["asks"])))
    cut = [([level for level in bids if float(level[0]) >= low], [level for level in asks if float(level[0]) <= high])
           for bids, asks in (ours, theirs)]
    return difference(*cut)
