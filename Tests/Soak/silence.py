"""A venue that stops without closing: frozen, swallowed by a black hole, or answering pings and sending nothing. Readers have to be told in time."""

import copy
import signal
import threading
import time

import stage

DEAD_AFTER = 30
"""Seconds without any frame after which the gateway gives a connection up (its default)."""
STALE_AFTER = {"markPrice@1s": 5, "markPrice": 15}
"""Seconds after which a stream that comes by the clock is stale (five periods)."""
GRACE = 3
KINDS = ("depth@100ms", "bookTicker", "markPrice@1s")


def main(options):
    cases = [Case(name, copy.copy(options)) for name in ("frozen", "black hole", "pings without data")]
    for case in cases:
        case.start()
    for case in cases:
        case.join()
    for case in cases:
        print(f"--- {case.name}")
        for line in case.lines:
            print(line)
        case.passed = case.run_stage.verdict() and case.passed
    return all(case.passed for case in cases)


class Case(threading.Thread):
    """One kind of silence, with an exchange and a gateway of its own, so that all kinds run at the same time."""

    def __init__(self, name, options):
        super().__init__()
        self.name, self.options = name, options
        self.lines = []
        self.passed = False
        self.run_stage = stage.Stage(options, KINDS, notices=True)

    def run(self):
        run = self.run_stage
        if run.require(60, run.all_valid, "the streams did not come up"):
            run.listen(run.now() + 3)
            before = {reader: list(totals) for reader, totals in run.totals.items()}
            began = run.now()
            self.silence(run)
            if self.name == "pings without data":
                self.watch_stale(run, began)
            else:
                self.watch_disconnect(run, began, before)
        run.end()
        self.passed = True

    def silence(self, run):
        run.court.truth = lambda *_: None
        if self.name == "frozen":
            run.exchange.signal(signal.SIGSTOP)
        else:
            run.exchange.fault("blackhole" if self.name == "black hole" else "stall")

    def resume(self, run):
        if self.name == "frozen":
            run.exchange.signal(signal.SIGCONT)
        else:
            run.exchange.ask("POST", "/control/clear")
        run.court.truth = run.exchange.true_book

    def watch_disconnect(self, run, began, before):
        streams, readers = len(run.streams), run.options.readers
        told = lambda: len(run.noticed["disconnect"]) == streams * readers
        if run.require(DEAD_AFTER + GRACE, told, "not all readers were told of the silence"):
            self.say("told of it", began, run.noticed["disconnect"])
        run.listen(run.now() + 2)
        resumed = run.now()
        self.resume(run)
        back = lambda: len(run.noticed["recover"]) >= streams * readers and run.all_valid()
        if run.require(60, back, "not all streams came back"):
            self.say("recovered after the venue came back", resumed, run.noticed["recover"])
        run.listen(run.now() + 3)
        run.expect_one_each(before, self.name)

    def watch_stale(self, run, began):
        """The connection lives. What comes by the clock is stale; a silent book or ticker may be a quiet market."""
        readers = run.options.readers
        periodic = [stream for stream in run.streams if stream.split("@", 1)[1] in STALE_AFTER]
        told = lambda: len({key for key in run.noticed["status stale"] if key[1] in periodic}) == len(periodic) * readers
        if run.require(max(STALE_AFTER[stream.split("@", 1)[1]] for stream in periodic) + GRACE, told, "not all periodic streams were told stale"):
            self.say("periodic streams told stale", began, {key: at for key, at in run.noticed["status stale"].items() if key[1] in periodic})
        run.listen(began + DEAD_AFTER + GRACE)
        event_driven = sorted({stream.split("@", 1)[1] for _, stream in run.noticed["status stale"]} - set(STALE_AFTER))
        self.lines.append(f"event-driven streams told stale while the connection answered pings: {event_driven or 'none'}")
        disconnected = {stream for _, stream in run.noticed["disconnect"]}
        self.lines.append(f"streams told disconnect meanwhile: {len(disconnected)}")
        resumed = run.now()
        self.resume(run)
        run.require(60, lambda: sum(at > resumed for at in run.noticed["status live"].values()) >= len(periodic) * readers, "not all periodic streams became live again")
        run.listen(run.now() + 3)

    def say(self, words, since, notices):
        times = sorted(at - since for at in notices.values())
        self.lines.append(f"{words}: first {times[0]:.2f} s, last {times[-1]:.2f} s ({len(times)} of stream and reader)")
