"""The exchange, a cutter before it, the gateway and its readers, and what the readers report."""

import collections
import queue as queues
import random
import time

import court
import cutter
import house
import readers
import verdict
from follower import TOTALS

SKIPS = TOTALS.index("skips")


class Stage:
    """`kinds` are the streams of each symbol; `record` is where every event goes besides.

    `market` is how many symbols the exchange has at least. With `notices` readers tell when they were told what of which stream. `between` makes
    what stands between the exchange and the gateway.
    """

    def __init__(self, options, kinds=("depth@100ms",), record=None, sample=readers.SAMPLE, notices=False, gateway=(), log=None, wrap=(), market=20,
                 between=cutter.Cutter):
        self.options = options
        self.dice = random.Random(options.seed)
        self.exchange = house.Exchange(
            options.executable, "--symbols", max(market, options.symbols + 10), "--book-updates", options.rate, "--depth-interval", options.interval,
            "--weight-limit", 100_000_000)
        self.cutter = between(self.exchange.host, self.exchange.port)
        self.gateway = house.Gateway(options.executable, self.cutter, *gateway, log=log or options.log, wrap=wrap)
        self.streams = [f"{symbol.lower()}@{kind}" for symbol in self.exchange.symbols(options.symbols) for kind in kinds]
        self.court = court.Court(self.exchange.true_book)
        self.record = record
        self.valid_at, self.totals, self.done = {}, {}, {}
        self.noticed = collections.defaultdict(dict)
        """When each (reader, stream) was told last, by what it was told."""
        self.reports, self.stop, self.processes = readers.start(
            options.readers, options.processes, (self.gateway.host, self.gateway.port), (self.exchange.host, self.exchange.port), self.streams,
            readers.Wishes(record is not None, notices, sample))

    now = staticmethod(time.monotonic)

    def listen(self, until, condition=lambda: False):
        """Takes reports until a time, or until the condition holds; whether it does."""
        while not condition():
            left = until - time.monotonic()
            if left <= 0 or self.court.faults:
                return condition()
            try:
                self._take(*self.reports.get(timeout=min(left, 0.02)))
            except queues.Empty:
                pass
        return True

    def require(self, seconds, condition, words):
        """As `listen`; that the condition does not hold in the end is a fault."""
        if self.listen(time.monotonic() + seconds, condition):
            return True
        if not self.court.faults:
            self.court.faults.append(f"{words} (within {seconds} s)")
        return False

    def _take(self, kind, reader, *report):
        if self.court.take(kind, reader, *report):
            return
        if kind == "event":
            self.record.append((reader, report[0]))
        elif kind == "notice":
            stream, words, at = report
            self.noticed[words][reader, stream] = at
        elif kind == "totals":
            self.totals[reader] = list(report)
        elif kind == "valid":
            self.valid_at[reader], *self.totals[reader] = report
        elif kind == "invalid":
            self.valid_at.pop(reader, None)
        elif kind == "done":
            self.done[reader] = report

    def all_valid(self):
        return len(self.valid_at) == self.options.readers

    def expect_one_each(self, before, way):
        """Expects that within a minute every reader has received one `disconnect` and one `recover` of every stream since the totals `before`.

        A slow reader may already have valid books while it has not yet received the events of some streams.
        """
        told = lambda reader: [after - earlier for after, earlier in zip(self.totals[reader], before[reader])]
        is_right = lambda told: told[:3] == [len(self.streams)] * 3 or told[SKIPS]
        self.listen(time.monotonic() + 60, lambda: all(is_right(told(reader)) for reader in self.totals))
        for reader in self.totals:
            if not is_right(told(reader)):
                self.court.faults.append(f"reader {reader}: after {way}, {told(reader)[:3]} disconnects, outages and recoveries of {len(self.streams)} streams")

    def events(self):
        return sum(events for events, *_ in self.done.values())

    def end(self):
        self.stop.set()
        until = time.monotonic() + 20
        while len(self.done) < self.options.readers and time.monotonic() < until:
            try:
                self._take(*self.reports.get(timeout=0.5))
            except queues.Empty:
                pass
        for process in self.processes:
            process.join(timeout=5)
            if process.is_alive():
                process.kill()
        self.exit = self.gateway.end(), self.exchange.end()

    def verdict(self):
        """Prints what was checked and what was wrong; whether nothing was."""
        faults = self.court.faults
        if len(self.done) < self.options.readers:
            faults.append(f"only {len(self.done)} of {self.options.readers} readers lived to the end")
        told = {totals for _, totals, *_ in self.done.values() if not totals[SKIPS]}
        for reader, (_, totals, invalid, _) in self.done.items():
            if totals[SKIPS]:
                print(f"reader {reader} was too slow {totals[SKIPS]} times; what it was told is not counted")
            elif totals[1] != totals[2] or invalid:
                faults.append(f"reader {reader}: {totals[2]} recoveries of {totals[1]} outages, open: {invalid}")
        if len({totals[:3] for totals in told}) > 1:
            faults.append(f"the readers were told different things: {sorted(told)}")
        if not told:
            faults.append("no reader kept up")
        if self.court.forgotten > self.court.equal:
            faults.append("most updates were forgotten by the venue before they could be compared")
        if self.exit != (0, 0):
            faults.append(f"the gateway and the exchange ended with {self.exit}")
        print(self.court.summary())
        for totals in sorted(told):
            print("told to each reader: " + ", ".join(f"{number} {name}" for number, name in zip(totals, TOTALS)))
        return verdict.tell(faults)
