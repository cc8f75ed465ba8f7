"""Upstream kills at random points while many readers rebuild many books; every book has to be right, every outage told once.

With several lines a kill ends all of them together, or one alone, of which readers are told nothing.
"""

import collections
import statistics
import time

import cutter
import machine
import stage
from follower import TOTALS

QUIET = 0.2
"""Times measured while others used less of the machine are told apart."""


def main(options):
    run = stage.Stage(options, gateway=("--lines", options.lines))
    print(f"seed {options.seed}: {len(run.streams)} books on {options.lines} lines, {options.rate} updates/s each every {options.interval} ms, {options.readers} readers", flush=True)
    run.require(60, run.all_valid, "the books did not come up")
    siege = Siege(run)
    began = time.monotonic()
    while siege.kills < options.kills and not run.court.faults:
        siege.round()
    run.listen(time.monotonic() + 3)
    seconds = time.monotonic() - began
    run.end()
    siege.tell(seconds)
    return run.verdict()


class Siege:
    """One cut after the other, and how long each took to heal."""

    WAYS = ("reset", "fin", "frame", "frame", "snapshot", "snapshot", "refetch", "subscribe", "subscribe", "rest")
    ALONE = ("one", "one frame", "one subscribe")

    def __init__(self, run):
        self.run, self.dice = run, run.dice
        self.choice = self.WAYS + self.ALONE * (2 if run.options.lines > 1 else 0)
        self.ways = collections.Counter()
        self.kills = self.next_report = 0
        self.back, self.last, self.first = [], [], []
        self.back_by_way = collections.defaultdict(list)
        self.alone = 0
        """Outages of one line, of which readers are told nothing."""
        self.load = machine.Load()
        self.undisturbed, self.others, self.slowest = [], [], []

    def round(self):
        """One outage: its cuts, until all books are valid again at all readers."""
        run, venue = self.run, self.run.cutter
        run.listen(time.monotonic() + self.dice.uniform(0.2, 0.9))
        ready = lambda: venue.are_ready(run.options.lines, set(run.streams))
        if not run.require(60, ready, "not all lines are well"):
            return
        totals, cut_before, sockets = dict(run.totals), len(venue.done), len(venue.accepted)
        way = self.dice.choice(self.choice)
        self.load.others()
        strikes = self.strikes(way)
        for strike in strikes:
            venue.strike(strike)
        if way == "refetch":
            run.gateway.ask("POST", f"/streams/{self.dice.choice(run.streams)}/refetch", headers={"Prefer": "respond-async"})
        struck = lambda: len(venue.done) == cut_before + len(strikes)
        if not run.require(60, struck, f"the cut {way} found nothing to cut"):
            return
        at = [when for _, when in venue.done[cut_before:]]
        if way in self.ALONE:
            return self.expect_nothing(totals, way, len(strikes))
        if not run.require(90, lambda: run.all_valid() and min(run.valid_at.values()) > at[-1], f"not all books are valid after {way} {strikes}"):
            return
        healed = max(run.valid_at.values())
        accepted = [when for when in venue.accepted[sockets:] if when < healed]
        self.back.append(healed - max([at[-1], *accepted]))
        self.back_by_way[way].append(self.back[-1])
        self.others.append(self.load.others())
        self.slowest = sorted([*self.slowest, (self.back[-1], f"{way} while others used {self.others[-1]:.0%}")])[-3:]
        if self.others[-1] < QUIET:
            self.undisturbed.append(self.back[-1])
        self.last.append(healed - at[-1])
        self.first.append(healed - at[0])
        self.ways[way] += len(strikes)
        self.kills += len(strikes)
        if len(strikes) == 1:
            run.expect_one_each(totals, way)
        if self.kills >= self.next_report:
            print(f"{self.kills} kills in {len(self.back)} outages, venue back to valid: {percentiles(self.back)}", flush=True)
            self.next_report += 50

    def expect_nothing(self, before, way, kills):
        """Until the line is back, and a moment longer, readers are told nothing."""
        run = self.run
        if run.require(60, lambda: run.cutter.are_ready(run.options.lines, set(run.streams)), f"the line did not come back after {way}"):
            run.listen(time.monotonic() + 0.5)
        for reader, now in run.totals.items():
            told = [after - earlier for after, earlier in zip(now, before[reader])]
            if any(told) and not told[stage.SKIPS]:
                run.court.faults.append(f"reader {reader}: {way} was seen: {dict(zip(TOTALS, told))}")
        self.ways[way] += kills
        self.kills += kills
        self.alone += 1

    def strikes(self, way):
        """The cuts of one outage. What happens only while the gateway comes back needs a plain cut before."""
        how, share = self.dice.choice(("reset", "fin")), self.dice.random()
        nth = self.dice.randint(1, len(self.run.streams))
        plain = cutter.Strike("now", self.dice.choice(("reset", "fin")))
        if way in self.ALONE:
            first = cutter.Strike("now", how, share, only="web", alone=True)
            again = cutter.Strike("subscribe", how, self.dice.choice((0.0, share, 1.0)), only="web", alone=True)
            return {"one": [first], "one frame": [cutter.Strike("frame", how, share, only="web", alone=True)], "one subscribe": [first, again]}[way]
        if way in ("reset", "fin"):
            return [cutter.Strike("now", way)]
        if way == "frame":
            return [cutter.Strike("frame", how, share)]
        if way == "refetch":
            return [cutter.Strike("snapshot", how, share)]
        if way == "subscribe":
            return [plain, cutter.Strike("subscribe", how, self.dice.choice((0.0, share, 1.0)))]
        return [plain, cutter.Strike("snapshot", how, share, nth, only="rest" if way == "rest" else "")]

    def tell(self, seconds):
        run = self.run
        print(f"{self.kills} kills {dict(self.ways)} in {len(self.back)} outages"
              + (f" and {self.alone} of one line alone" if self.alone else "") + f", {run.events()} events read in {seconds:.0f} s")
        if self.back:
            print(f"from the venue's accepting the connection (or its last cut, where only REST was cut) to all books valid: {percentiles(self.back)}")
            print(f"    while others used {statistics.mean(self.others):.0%} of the processors on average (at most {max(self.others):.0%})")
            if self.undisturbed:
                print(f"    while others used less than {QUIET:.0%}: {percentiles(self.undisturbed)} of {len(self.undisturbed)}")
            for way, times in sorted(self.back_by_way.items()):
                print(f"    {way}: {percentiles(times)} of {len(times)}")
            print("    slowest: " + ", ".join(f"{seconds * 1000:.0f} ms ({words})" for seconds, words in reversed(self.slowest)))
            print(f"from the last cut to all books valid:  {percentiles(self.last)}")
            down = [milliseconds / 1000 for *_, times in run.done.values() for milliseconds in times]
            if down:
                print(f"each book's outage by the gateway's own clock: {percentiles(down)}")
            print(f"from the first cut to all books valid: {percentiles(self.first)}")


def percentiles(values):
    ordered = sorted(values)
    at = lambda share: ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000
    return f"p50 {statistics.median(ordered) * 1000:.0f} ms, p90 {at(0.9):.0f} ms, p99 {at(0.99):.0f} ms, max {ordered[-1] * 1000:.0f} ms"
