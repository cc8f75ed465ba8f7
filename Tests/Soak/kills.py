"""Upstream kills at random points while many readers rebuild many books; every book has to be right, every outage told once."""

import queue as queues
import random
import statistics
import time

import house
import readers


class Run:
    """The exchange, the gateway, the readers, and what they reported."""

    def __init__(self, options):
        self.options = options
        self.dice = random.Random(options.seed)
        self.exchange = house.Exchange(
            options.executable, "--symbols", options.symbols + 10, "--book-updates", options.rate, "--depth-interval", options.interval,
            "--weight-limit", 100_000_000)
        self.gateway = house.Gateway(options.executable, self.exchange, "--rotate-after", options.rotate_after)
        self.streams = [f"{symbol.lower()}@depth@100ms" for symbol in self.exchange.symbols(options.symbols)]
        self.reports, self.stop, self.processes = readers.start(
            options.readers, options.processes, self.gateway.host, self.gateway.port, self.streams)
        self.valid_at = {}
        self.connected_at = 0.0
        self.samples = {}
        self.checked = self.unknown = 0
        self.faults = []
        self.done = {}

    def listen(self, until, condition=lambda: False):
        """Takes reports until a time, or until the condition holds; whether it does."""
        while not condition():
            left = until - time.monotonic()
            if left <= 0 or self.faults:
                return condition()
            try:
                self._take(self.reports.get(timeout=min(left, 0.5)))
            except queues.Empty:
                pass
        return True

    def _take(self, report):
        kind, reader = report[:2]
        if kind == "valid":
            self.valid_at[reader] = report[2]
        elif kind == "invalid":
            self.valid_at.pop(reader, None)
        elif kind == "connect":
            self.connected_at = max(self.connected_at, report[2])
        elif kind == "sample":
            self._compare(*report[1:])
        elif kind == "fault":
            self.faults.append(f"reader {reader}: {report[2]}")
        elif kind == "done":
            self.done[reader] = report[2:]

    def _compare(self, reader, stream, update_id, top):
        key = (stream, update_id)
        if key not in self.samples:
            self.samples[key] = self.exchange.true_book(stream.split("@")[0].upper(), update_id)
        truth = self.samples[key]
        if truth is None:
            self.unknown += 1
        elif top != truth:
            self.faults.append(f"reader {reader}: {stream} is wrong at {update_id}: {top[0][:3]} {top[1][:3]} for {truth[0][:3]} {truth[1][:3]}")
        else:
            self.checked += 1

    def all_valid(self):
        return len(self.valid_at) == self.options.readers

    def kill(self):
        """Cuts the venue's connections in one of many ways; when the last cut was."""
        way = self.dice.choice(["reset", "close", "midFrame", "midFrame", "midSnapshot", "midSubscribe"])
        if way == "reset":
            self.exchange.fault("drop")
        elif way == "close":
            self.exchange.fault("drop", code=self.dice.choice([1000, 1001, 1006 + 2, 1011, 1012]))
        else:
            self.exchange.fault("drop", afterBytes=self.dice.randrange(1, 5_000))
        at = time.monotonic()
        if way in ("midSnapshot", "midSubscribe"):
            before = self.connected_at
            self.listen(time.monotonic() + 10, lambda: self.connected_at > before)
            reach = 400_000 if way == "midSnapshot" else 300
            self.exchange.fault("drop", afterBytes=self.dice.randrange(0, reach))
            at = time.monotonic()
        return way, at

    def end(self):
        self.stop.set()
        self.listen(time.monotonic() + 20, lambda: len(self.done) == self.options.readers)
        metrics = self.gateway.metrics()
        for process in self.processes:
            process.join(timeout=5)
        self.gateway.end()
        self.exchange.end()
        return metrics


def percentiles(values):
    ordered = sorted(values)
    at = lambda share: ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000
    return f"p50 {statistics.median(ordered) * 1000:.0f} ms, p90 {at(0.9):.0f} ms, p99 {at(0.99):.0f} ms, max {ordered[-1] * 1000:.0f} ms"


def main(options):
    run = Run(options)
    print(f"seed {options.seed}: {len(run.streams)} books, {options.rate} updates/s each every {options.interval} ms, {options.readers} readers", flush=True)
    outages, recoveries, ways = [], [], {}
    if not run.listen(time.monotonic() + 60, run.all_valid):
        run.faults.append("the books did not come up within 60 s")
    began = time.monotonic()
    for number in range(options.kills):
        if run.faults:
            break
        run.listen(time.monotonic() + run.dice.uniform(1.0, 1.6))
        way, at = run.kill()
        ways[way] = ways.get(way, 0) + 1
        run.listen(time.monotonic() + 5, lambda: len(run.valid_at) < options.readers)
        if not run.listen(time.monotonic() + 60, lambda: run.all_valid() and min(run.valid_at.values()) > at):
            run.faults.append(f"kill {number} ({way}): not all books are valid after 60 s")
            break
        last = max(run.valid_at.values())
        outages.append(last - at)
        recoveries.append(last - run.connected_at)
        if (number + 1) % 25 == 0:
            print(f"{number + 1} kills, from the last cut {percentiles(outages)}", flush=True)
    run.listen(time.monotonic() + 3)
    events_for = time.monotonic() - began
    metrics = run.end()
    events = sum(done[0] for done in run.done.values())
    told = {(done[1], done[2]) for done in run.done.values()}
    for reader, done in run.done.items():
        if done[1] != done[2] or done[3]:
            run.faults.append(f"reader {reader}: {done[1]} recoveries of {done[2]} outages, open: {done[3]}")
    if len(told) > 1:
        run.faults.append(f"the readers were told of different numbers of outages: {sorted(told)}")
    if run.unknown > run.checked:
        run.faults.append(f"only {run.checked} of {run.checked + run.unknown} samples could be compared")
    print(f"{len(outages)} kills {ways}, {events} events in {events_for:.0f} s ({events / max(1, events_for):.0f}/s)")
    print(f"{run.checked} books equal to the venue's at the same update, {run.unknown} updates the venue had forgotten")
    if outages:
        print(f"from the cut to all books valid at all readers: {percentiles(outages)}")
        print(f"from the new connection to all books valid at all readers: {percentiles(recoveries)}")
    print(f"recoveries told to each reader: {sorted(told)}; gateway: " + ", ".join(
        f"{name.removeprefix('futures_gateway_feed_')} {value:.0f}" for name, value in metrics.items() if "{" not in name))
    for fault in run.faults:
        print("FAULT", fault)
    return not run.faults
