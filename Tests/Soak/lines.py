"""Faults of one of two lines to the venue at a time: readers see none of them, and nothing is asked over REST for them.

In the end both lines are cut together, which every reader is told once. With `--control` there is one line, and its faults are seen.
"""

import collections
import functools
import time

import cutter
import machine
import stage
import wires
from follower import TOTALS

KINDS = ("depth@100ms", "aggTrade", "bookTicker", "markPrice@1s")
ADDRESSES = ("127.0.0.2", "127.0.0.3")
LONGEST = 2
"""Seconds that a fault lasts at most; at least a quarter of it."""
SETTLE = 1.5
"""Seconds after a fault in which the gateway may still replace the line for it."""
CUTS = ("kill", "down")
"""Faults after which a line is opened once; whatever it is opened more, the gateway replaced it."""
AUDIT = 52.5
"""Seconds from one look at a whole book over REST to the next, at least."""


def gateway(lines):
    return "--lines", lines, "--line-addresses", ",".join(ADDRESSES[:lines])


def main(options):
    lines = 1 if options.control else 2
    run = stage.Stage(options, KINDS, gateway=gateway(lines), notices=True,
                      between=functools.partial(wires.Wires, addresses=ADDRESSES[:lines]))
    print(f"seed {options.seed}: {len(run.streams)} streams on {lines} lines, {options.readers} readers", flush=True)
    run.require(60, lambda: run.all_valid() and run.cutter.are_ready(set(run.streams)), "the streams did not come up")
    siege = Siege(run)
    siege.rest(options.quiet)
    siege.cut_once(lines - 1)
    began, each = time.monotonic(), options.minutes * 60 / options.faults
    while len(siege.story) < options.faults and not run.court.faults:
        run.listen(began + len(siege.story) * each)
        siege.round()
    siege.seconds = time.monotonic() - began
    siege.judge_requests(began)
    if not run.court.faults:
        siege.cut_all()
    run.end()
    siege.tell()
    return run.verdict()


class Siege:
    """One fault after the other, each of one line, drawn so that all kinds come equally often."""

    def __init__(self, run):
        self.run, self.wires, self.dice = run, run.cutter, run.dice
        self.deck, self.story, self.touched, self.replaced = [], [], collections.Counter(), collections.Counter()
        self.frames = self.bytes = 0.0
        """Of one line, a second, while all is well."""
        self.seconds = self.slow = 0
        self.next_report = 100
        self.load = machine.Load()
        self.busy = 0.0
        """Processors that the gateway used in the last round."""

    def used(self):
        return machine.processor_time(self.run.gateway.process.pid)

    def rest(self, seconds):
        """A stretch without a fault, for comparison."""
        line = self.wires.lines[0]
        began, frames, size = time.monotonic(), line.frames, line.bytes
        self.run.listen(began + seconds)
        took = time.monotonic() - began
        self.frames, self.bytes = (line.frames - frames) / took, (line.bytes - size) / took
        self.before = dict(self.run.totals)
        print(f"{self.frames:.0f} updates and {self.bytes / 1024:.0f} KiB a second reach the gateway on each line", flush=True)
        if not self.frames:
            self.run.court.faults.append(f"no line is told apart by its address: {self.wires.strangers[:3]}")

    def cut_once(self, number):
        """A line that comes back well is left as it is: it is not blamed for what came before it was subscribed."""
        began, line = time.monotonic(), self.wires.lines[number]
        before = len(line.opened)
        self.wires.cut(number, "reset")
        self.run.listen(began + 2 * SETTLE)
        self.run.require(60, lambda: self.wires.are_ready(set(self.run.streams)), f"line {number} did not come back")
        if (opened := len(line.opened) - before) != 1:
            self.run.court.faults.append(f"line {number} was opened {opened} times after one cut")
            self.explain(began)
        self.compare(f"fault 0 (kill of line {number})", began)

    def round(self):
        """One fault of one line, until both are well again."""
        if not self.deck:
            self.deck = self.dice.sample(list(self.faults), len(self.faults))
        name, number = self.deck.pop(), self.dice.randrange(len(self.wires.lines))
        began, fault, opened = time.monotonic(), self.faults[name](self), len(self.wires.lines[number].opened)
        self.load.others()
        used = self.used()
        if fault:
            self.wires.begin(number, fault)
        else:
            self.wires.cut(number, self.dice.choice(("reset", "fin")))
        self.story.append(name)
        self.run.listen(began + self.dice.uniform(LONGEST / 4, LONGEST))
        self.wires.heal(number)
        healed = time.monotonic()
        self.run.listen(healed + SETTLE)
        both = lambda: self.wires.are_ready(set(self.run.streams))
        self.run.require(60, both, f"not all lines are well after fault {len(self.story)} ({name} of line {number})")
        self.touched[name] += fault.touched if fault else 1
        self.replaced[name] += len(self.wires.lines[number].opened) - opened - (name in CUTS)
        self.busy = (self.used() - used) / (time.monotonic() - began)
        self.compare(f"fault {len(self.story)} ({name} of line {number})", began)
        if len(self.story) >= self.next_report:
            print(f"{len(self.story)} faults, {self.run.court.summary()}", flush=True)
            self.next_report += 100

    faults = {
        "kill": lambda self: None,
        "down": lambda self: wires.Down(),
        "stall": lambda self: wires.Stall(),
        "hole": lambda self: wires.Hole(),
        "drop": lambda self: wires.Drop(self.dice),
        "duplicate": lambda self: wires.Duplicate(self.dice),
        "reorder": lambda self: wires.Reorder(self.dice),
        "delay": lambda self: wires.Delay(),
        "throttle": lambda self: self.throttle(),
    }
    """What is to be wrong, by name; None where the line is cut, once."""

    def throttle(self):
        share = self.dice.uniform(0.2, 0.9)
        return wires.Throttle(self.dice, **self.dice.choice(({"frames": self.frames * share}, {"size": self.bytes * share})))

    def compare(self, words, began):
        """Readers have been told nothing since the last look."""
        for reader, now in self.run.totals.items():
            told = {name: after - before for name, before, after in zip(TOTALS, self.before[reader], now) if after != before}
            if "skips" in told:
                self.slow += 1
            elif told and not any("was seen" in fault for fault in self.run.court.faults):
                self.run.court.faults.append(f"reader {reader}: {words} was seen: {told}")
                self.explain(began)
        self.before = dict(self.run.totals)

    def explain(self, began):
        """What happened to the lines and what readers were told since a while before."""
        print(f"    the gateway used {self.busy:.2f} processors, others {self.load.others():.0%} of all")
        told = collections.Counter()
        for words, of in self.run.noticed.items():
            told.update((round(at, 1), words) for at in of.values())
        for at, words in sorted([*self.wires.story, *((at, f"told {times} times: {words}") for (at, words), times in told.items())]):
            if at > began - 8:
                print(f"    {at - began:+.3f} s {words}")

    def judge_requests(self, began):
        """A hole on one line is filled by the other: trades are never asked for again, and books hardly more than they are looked at anyway.

        A doubt about a silence, which this program's own pauses raise too, asks for a book as well; a book for every hole would be far more.
        """
        asked = collections.Counter(kind(*request) for at, *request in self.wires.requests if at >= began)
        books = sum("@depth" in stream for stream in self.run.streams)
        self.usual = books * (1 + self.seconds / AUDIT) + len(self.story) / 2
        self.asked = asked
        if asked["trades"] and not self.run.options.control:
            self.run.court.faults.append(f"{asked['trades']} requests for trades that one line lacked")
        if asked["books"] > self.usual and not self.run.options.control:
            self.run.court.faults.append(f"{asked['books']} requests for whole books (at most {self.usual:.0f} are usual)")

    def cut_all(self):
        """Every line at once: one outage of each stream."""
        run, before = self.run, dict(self.run.totals)
        run.cutter.strike(cutter.Strike("now", "reset", only="web"))
        if not run.require(10, lambda: bool(run.cutter.done), "the lines were not cut"):
            return
        at = run.cutter.done[-1][1]
        if run.require(60, lambda: run.all_valid() and min(run.valid_at.values()) > at, "not all streams are valid after all lines were cut"):
            run.listen(time.monotonic() + 3)
            run.expect_one_each(before, "all lines were cut together")

    def tell(self):
        run, told = self.run, collections.Counter()
        for _, totals, *_ in run.done.values():
            told.update(dict(zip(TOTALS, totals)))
        outages = len(run.streams) * len(run.done)
        ends = "of which the cut of both lines in the end made" if not run.court.faults else "of which the end would have made"
        print(f"{len(self.story)} faults of one line {dict(sorted(collections.Counter(self.story).items()))} in {self.seconds:.0f} s, {self.frames:.0f} updates/s, "
              f"{run.events()} events read; told: {told['disconnects']} disconnects and {told['recoveries']} recovers, {ends} {outages} each; "
              f"{run.court.equal} books equal")
        print(f"frames lost, late, doubled or swapped: {dict(sorted(self.touched.items()))}; "
              f"connections of each line: {[len(line.opened) for line in self.wires.lines]}; replaced by the gateway after: {dict(sorted((+self.replaced).items()))}")
        print(f"{sum(self.asked.values())} REST requests meanwhile: {dict(self.asked)}; without a fault about {len(run.streams) // len(KINDS) * self.seconds / 56:.0f} books"
              + (f"; readers too slow {self.slow} times" if self.slow else ""))


def kind(path, query):
    """What a request is for: whole books, trades from some number on, or something that is looked at now and then anyway."""
    if path == "depth" and "limit=1000" in query:
        return "books"
    return "trades" if "fromId" in query and "limit=1&" not in query + "&" else path
