"""A reader that notes what it heard of each stream, and when; it judges nothing."""

import selectors
import threading
import time
from typing import NamedTuple

import sse

KEPT = 2000
"""Events of a stream that are remembered at least."""


class Heard(NamedTuple):
    """`data` is the event's own, but of contents only what tells which they are."""

    at: float
    name: str
    data: dict

    @property
    def tells(self):
        """Whether it tells that the stream is not to be relied on."""
        return self.name == "disconnect" or self.name == "status" and self.data["state"] in ("stale", "recovering", "failed")

    @property
    def is_data(self):
        return self.name in ("update", "fetch")

    @property
    def received(self):
        """When the gateway had it, by this program's clock."""
        return self.data["receivedAt"] / 1000 - time.time() + time.monotonic()


class Ear(threading.Thread):
    """One connection of all `streams`, until `end`; `lost` says why it ended by itself."""

    def __init__(self, gateway, streams):
        super().__init__(daemon=True)
        self.heard = {stream: [] for stream in streams}
        self.lost, self.ends = None, False
        self.connection = sse.Connection(gateway.host, gateway.port, streams)
        self.start()

    def run(self):
        poll = selectors.DefaultSelector()
        poll.register(self.connection, selectors.EVENT_READ)
        try:
            while not self.ends:
                if poll.select(0.2):
                    for block in self.connection.read():
                        self._take(sse.Event(block))
        except ConnectionError as error:
            self.lost = str(error)

    def _take(self, event):
        events = self.heard.get((event.data or {}).get("stream"))
        if events is None:
            return
        data = event.data
        if event.name in ("update", "fetch"):
            rows = data["content"] if isinstance(data["content"], list) and "@aggTrade" in data["stream"] else []
            data = {"kind": data["kind"], "receivedAt": data["receivedAt"], "ids": {row["id"]: row["time"] for row in rows}}
        events.append(Heard(time.monotonic(), event.name, data))
        if len(events) > 2 * KEPT:
            del events[:KEPT]

    def of(self, stream, since=0.0):
        """What was heard of a stream from `since` on, in order."""
        return [heard for heard in list(self.heard[stream]) if heard.at >= since]

    def end(self):
        self.ends = True
        self.join()
        self.connection.close()
