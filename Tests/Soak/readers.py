"""Readers in processes of their own: each follows every stream, checks every event, and reports what changed."""

import multiprocessing
import selectors
import time
import zlib
from typing import NamedTuple

import deep
import rows
import sse
from follower import TOTALS, Fault

SAMPLE = 150
"""One update in so many is compared, by its id, so all readers take the same."""


class Wishes(NamedTuple):
    """What readers are to report besides: every event as it came; every notice about a stream; and which share of the books."""

    record: bool = False
    notices: bool = False
    sample: int = SAMPLE


class Reader:
    """One event connection and what was rebuilt from it."""

    def __init__(self, number, streams, report, wishes=Wishes()):
        self.number, self.report, self.wishes = number, report, wishes
        self.followers = {stream: rows.follower(stream) for stream in streams}
        self.chains = {}
        self.last_id = (0, 0)
        self.events = 0
        self.invalid = set(streams)
        self.deep = None

    def take(self, event):
        name, data = event.name, event.data
        if name is None:
            return
        self.events += 1
        if event.identity:
            if event.identity <= self.last_id or (self.last_id[0] and event.identity[0] != self.last_id[0]):
                raise Fault(f"id {event.identity} after {self.last_id}")
            self.last_id = event.identity
        if name == "session":
            return
        follower = self.followers.get(data.get("stream"))
        if not follower:
            raise Fault(f"not asked for: {name} {data}")
        if name == "update" and not event.identity and data["kind"] == "full" and follower.position is not None:
            follower.refill(data)
        else:
            follower.take(name, data)
        if self.wishes.notices and name in ("disconnect", "recover", "status"):
            words = name if name != "status" else "status " + data["state"]
            self.report(("notice", self.number, follower.stream, words, time.monotonic()))
        if event.levels:
            self._chain(follower, data["kind"] == "full", event.levels)
        if name != "update" or follower.stream in self.invalid:
            self._validity(follower)
        if self.deep and self.deep.follower is follower:
            self.deep.keep()

    def _chain(self, follower, is_full, levels):
        """A checksum of everything read since the last full book, reported with the book now and then."""
        position = follower.position
        if is_full:
            self.tell_chain(follower.stream)
        base, _, chain = (position, position, 0) if is_full else self.chains[follower.stream]
        self.chains[follower.stream] = base, position, zlib.crc32(levels, chain)
        if position % self.wishes.sample == 0 or (is_full and position % 20 == self.number):
            self.report(("sample", self.number, follower.stream, base, position, self.chains[follower.stream][2], follower.top()))

    def tell_chain(self, stream):
        """Before a full book ends it."""
        if stream in self.chains:
            self.report(("chain", self.number, stream, *self.chains[stream]))

    def _validity(self, follower):
        before = bool(self.invalid)
        (self.invalid.discard if follower.valid else self.invalid.add)(follower.stream)
        if before != bool(self.invalid):
            self.report(("invalid" if self.invalid else "valid", self.number, time.monotonic(), *self.totals()))

    def totals(self):
        """The sums of TOTALS over all streams."""
        return tuple(sum(getattr(follower, name) for follower in self.followers.values()) for name in TOTALS)


def run(numbers, gateway, venue, streams, queue, stop, wishes):
    """A process with some readers. `venue` is where its depth can be asked for, None for no deep comparisons."""
    selector = selectors.DefaultSelector()
    parse = sse.Parser()
    readers = [Reader(number, streams, queue.put, wishes) for number in numbers]
    for reader in readers:
        connection = sse.Connection(*gateway, streams)
        selector.register(connection, selectors.EVENT_READ, (reader, connection))
    asker = deep.Asker(readers[0], *venue) if venue else None
    told_at = 0.0
    try:
        while not stop.is_set():
            for key, _ in selector.select(timeout=0.2):
                reader, connection = key.data
                for block in connection.read():
                    if wishes.record:
                        queue.put(("event", reader.number, block))
                    reader.take(parse(block))
            if asker:
                asker.turn()
            if time.monotonic() > told_at + 1:
                told_at = time.monotonic()
                for reader in readers:
                    queue.put(("totals", reader.number, *reader.totals()))
    except (Fault, ConnectionError) as fault:
        queue.put(("fault", reader.number, str(fault)))
    for reader in readers:
        queue.put(("done", reader.number, reader.events, reader.totals(), sorted(reader.invalid),
                   [down for follower in reader.followers.values() for down in follower.down]))


def start(count, processes, gateway, venue, streams, wishes=Wishes()):
    """Starts `count` readers; returns the queue of reports, the stop event and the processes."""
    queue, stop = multiprocessing.Queue(), multiprocessing.Event()
    groups = [group for group in (range(count)[number::processes] for number in range(processes)) if group]
    started = [multiprocessing.Process(target=run, args=(group, gateway, venue, streams, queue, stop, wishes), daemon=True) for group in groups]
    for process in started:
        process.start()
    return queue, stop, started
