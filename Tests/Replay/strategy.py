"""Parts of the strategies that all clients share: the replay, the digest of a book, and the decision. It needs only the standard library."""

import asyncio
import hashlib
import json
import time
import urllib.request

LEVELS = 20
PATIENCE = 120
"""Seconds until a client must have subscribed again, or must have the gateway's book."""


def digest(bids, asks):
    """The digest of the best levels of a book, each a price and a size."""
    best = [[list(map(repr, level[:2])) for level in side[:LEVELS]] for side in (bids, asks)]
    return hashlib.sha256(json.dumps(best).encode()).hexdigest()[:16]


def side_of(bids, asks, position):
    """`buy` if bids outweigh asks near the middle, `sell` if asks do, None otherwise and at the bounds of the position."""
    if not bids or not asks:
        return None
    bid, ask = (sum(level[1] for level in side[:5]) for side in (bids, asks))
    share = bid / (bid + ask)
    if share > 0.7 and position < 5:
        return "buy"
    return "sell" if share < 0.3 and position > -5 else None


class Past:
    """The replay at an address. `reconnects` counts the steps after which sockets were closed."""

    def __init__(self, gateway):
        self.base, self.reconnects = f"http://{gateway}", 0

    def _ask(self, path, method):
        request = urllib.request.Request(self.base + path, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            return {"status": error.code}

    async def ask(self, path, method="GET"):
        return await asyncio.get_running_loop().run_in_executor(None, self._ask, path, method)

    async def open(self, subscriptions):
        """Waits until the client has subscribed to this many streams, also again after its sockets were closed."""
        until, is_open = time.monotonic() + PATIENCE, True
        while (found := (await self.ask("/replay"))["subscriptions"]) < subscriptions:
            self.reconnects, is_open = self.reconnects + is_open, False
            if time.monotonic() > until:
                raise SystemExit(f"after {PATIENCE} s, the client has subscribed to {found} of {subscriptions} streams")
            await asyncio.sleep(0.01)

    async def step(self, length):
        """Lets time pass, such as `ms=1000` or `messages=1`; the state of the replay after that."""
        return await self.ask(f"/replay/step?{length}", "POST")

    async def trade_id(self, symbol):
        """The id of the newest aggregate trade; None if the gateway has none."""
        trades = await self.ask(f"/fapi/v1/aggTrades?symbol={symbol}&limit=1")
        return trades[-1]["a"] if isinstance(trades, list) and trades else None

    async def update_id(self, symbol):
        """The update id of the gateway's book; None if it is not live. The client has this book soon."""
        status = await self.ask(f"/streams/{symbol.lower()}@depth@100ms/status")
        if status.get("state") != "live":
            return None
        return (await self.ask(f"/fapi/v1/depth?symbol={symbol}&limit=5"))["lastUpdateId"]
