"""Three venues behind one gateway. Phases without and with a fault of one venue alternate, and the readers of the others must not notice it."""

import bisect
import contextlib
import itertools
import os
import re
import statistics
import subprocess
import sys
import time

import house
import faulty_venue
import stand
import three_venues
import verdict
import watch

FAULTS = {"killed": faulty_venue.Killed, "stalled": faulty_venue.Stalled, "flooded": faulty_venue.Flooded, "banned": faulty_venue.Banned}
PATIENCE = 90
"""Seconds after which a venue that is healthy again must be live."""
SHARE = 0.7
"""Of a phase with the fault until the fault ends. The recovery belongs to the phase."""
SYMBOLS = 16
MESSAGES = re.compile(r'^futures_gateway_upstream_messages_total\{upstream="binance"\} (\d+)', re.M)
FETCHES = re.compile(r'^futures_gateway_upstream_fetches_total\{upstream="hyperliquid",outcome="\w+"\} (\d+)', re.M)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0.0


class Phase:
    """A stretch of time, and the request weight that each healthy venue charged in it."""

    def __init__(self, number, begin, end, weight):
        self.number, self.begin, self.end, self.weight = number, begin, end, weight

    @property
    def is_sick(self):
        return self.number % 2 == 1


class Stage:
    """The gateway, its three venues, each in a process of its own, and a reader of each."""

    def __init__(self, options, kind):
        # Something changes between any two messages of a book, so the gateway never asks about a silence, and its weight is that of the polls alone.
        self.aster = stand.Venue(options.executable, 40, 100_000_000, "--seed", options.seed % 100_000 + 1, "--book-updates", 100)
        self.hyperliquid = house.Program(options.executable, "demo-upstream", "hyperliquid")
        self.sick = kind(options)
        self.gateway = three_venues.gateway(options, self.aster, self.sick, self.hyperliquid)
        symbols = [symbol.lower() for symbol in self.aster.symbols(SYMBOLS + 2) if "_" not in symbol][:SYMBOLS]
        streams = [f"{symbol}@depth5@100ms" for symbol in symbols] + ["!markPrice@arr@1s", "btcusdt@openInterest@10s"]
        # A control judges the venue that has the fault. A flood delays no message of its own venue, so its control floods more and judges the others.
        healthy = None if options.control and kind is not faulty_venue.Flooded else ("aster", "hyperliquid")
        self.watches = {
            "aster": watch.Watch(self.gateway, "", streams, watch.Futures, healthy and self.aster),
            "binance": watch.Watch(self.gateway, "binance:", self.sick.streams, watch.Futures, None if healthy else self.sick),
            "hyperliquid": watch.Watch(self.gateway, "hyperliquid:", [f"{coin}@{kind}" for coin in three_venues.COINS for kind in ("book", "bbo")],
                                       watch.Hyperliquid, healthy and self.hyperliquid),
        }
        self.judged = healthy or ("binance",)

    def is_live(self):
        """Whether every stream that has a reader is live."""
        return {row["state"] for row in self.gateway.ask("GET", "/streams")[1]["active"]} == {"live"}

    def weight(self):
        """The request weight that aster has charged, and the requests to Hyperliquid, of which the gateway should make none."""
        return {"aster": stand.cost(self.aster.asked()), "hyperliquid": self.counted(FETCHES)}

    def messages(self):
        return self.counted(MESSAGES)

    def counted(self, pattern):
        return sum(map(int, pattern.findall(self.gateway.ask("GET", "/metrics")[1])))

    def end(self):
        for program in (self.gateway, self.aster, self.hyperliquid, self.sick):
            program.end()


def phases(stage, options):
    """Runs the phases; (the phases, the seconds of the fault, the messages of the sick venue in it)."""
    done, faulty, messages = [], 0.0, 0
    for number in range(2 * max(1, round(options.minutes * 30 / options.phase))):
        begin, before = time.time(), stage.weight()
        if number % 2 == 0:
            time.sleep(options.phase * SHARE)
        else:
            seen = stage.messages()
            stage.sick.begin(stage.gateway)
            time.sleep(options.phase * SHARE)
            faulty, messages = faulty + time.time() - begin, messages + stage.messages() - seen
            stage.sick.heal()
        # Each phase asks as often, because a request for all streams takes as long as some messages.
        if not stand.wait(PATIENCE, lambda end=begin + options.phase: stage.is_live() and time.time() >= end, 0.1):
            raise TimeoutError(f"not every stream is live {PATIENCE} s after the fault")
        after = stage.weight()
        done.append(Phase(number, begin, time.time(), {venue: after[venue] - before[venue] for venue in after}))
    return done, faulty, messages


def by_phase(done, delays):
    """The delays of each phase, in milliseconds."""
    times = sorted(delays)
    places = [[bisect.bisect_left(times, (moment,)) for moment in (phase.begin, phase.end)] for phase in done]
    return [[delay * 1000 for _, delay in times[begin:end]] for begin, end in places]


def ratio(phases, others):
    """The median of the p99 of the phases, divided by that of the others."""
    p99, other = (statistics.median([percentile(delays, 0.99) for delays in part] or [0]) for part in (phases, others))
    return p99 / other if other else 0.0


def weights(done, venue):
    """The weight a minute without and with the fault, and the difference beyond one poll for each phase, whose bounds are not those of the polls."""
    spent, seconds = [0, 0], [0.0, 0.0]
    for phase in done:
        spent[phase.is_sick] += phase.weight[venue]
        seconds[phase.is_sick] += phase.end - phase.begin
    rates = [60 * weight / max(1e-9, length) for weight, length in zip(spent, seconds)]
    excess = abs(spent[1] - rates[0] / 60 * seconds[1]) - len(done)
    return rates, excess


def judge(name, venue, done, delays, notices, options):
    """(what was measured in words, the faults, what makes the measurement worthless)"""
    parts = by_phase(done, delays)
    without, during = parts[::2], parts[1::2]
    (p50, p50_during), (p99, p99_during) = ([percentile(list(itertools.chain(*part)), share) for part in (without, during)] for share in (0.5, 0.99))
    found, among = ratio(during, without), ratio(without[1::2], without[::2])
    changes = [notice for notice in notices if done[0].begin <= notice[0] < done[-1].end]
    words = (f"{venue} p50 {p50:.2f} and {p50_during:.2f} ms, p99 {p99:.2f} and {p99_during:.2f} ms, "
             f"ratio {found:.3f} (without the fault {among:.3f}), {len(changes)} state changes")
    faults = [f"{name}: {venue} changed its state: {event} {data}" for _, event, data in changes[:3]]
    if venue in done[0].weight:
        rates, excess = weights(done, venue)
        words += f", weight {rates[0]:.1f} and {rates[1]:.1f} a minute"
        if excess > 0:
            faults.append(f"{name}: the request weight of {venue} is {rates[1]:.1f} a minute, without the fault {rates[0]:.1f}")
    if found > options.ratio:
        faults.append(f"{name}: the p99 of {venue} is {found:.3f} times as high with the fault (at most {options.ratio})")
    fewest = min(map(len, parts))
    return words, faults, [f"{name}: a phase has only {fewest} messages of {venue}"] if fewest < 20 else []


def evidence(name, done, notices, rate, options):
    """What shows that the fault had an effect; a fault if nothing does."""
    times = [at for at, event, _ in notices if event in ("disconnect", "status")]
    sick_phases = [phase for phase in done if phase.is_sick]
    seen = sum(any(phase.begin <= at < phase.end for at in times) for phase in sick_phases)
    if name == "flooded":
        return f"binance {rate:.0f} frames/s", [f"flooded: only {rate:.0f} frames/s came"] if rate < 0.9 * options.rate else []
    lacking = [] if seen == len(sick_phases) else [f"{name}: only {seen} of {len(sick_phases)} faults were noticed by binance's own reader"]
    return f"binance was noticed {seen} of {len(sick_phases)} times", lacking


def carry_out(name, options):
    """One fault: prints its line; the faults found, and those of the harness itself."""
    stage = Stage(options, FAULTS[name])
    try:
        if not stand.wait(PATIENCE, stage.is_live, 0.1):
            return [], [f"{name}: the streams did not become live"]
        # The gateway has learned the usual gaps between messages, and polls have begun.
        time.sleep(options.phase)
        done, faulty, messages = phases(stage, options)
        ends = {venue: reader.end() for venue, reader in stage.watches.items()}
    except TimeoutError as error:
        return [], [f"{name}: {error}"]
    finally:
        stage.end()
    judged = [judge(name, venue, done, *ends[venue], options) for venue in stage.judged]
    words, lacking = evidence(name, done, ends["binance"][1], messages / max(1e-9, faulty), options)
    print("; ".join([f"{name}, {len(done)} phases: {words}", *(part for part, _, _ in judged)]), flush=True)
    return list(itertools.chain(*(faults for _, faults, _ in judged))), list(itertools.chain(lacking, *(few for _, _, few in judged)))


@contextlib.contextmanager
def busy_cores(wanted):
    """Keeps each core busy with a process that any other process interrupts. Otherwise cores sleep longer while a venue is silent, and wake up later."""
    spin = "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nos.nice(19)\nwhile os.getppid() == %d: pass" % os.getpid()
    spinning = [subprocess.Popen([sys.executable, "-c", spin]) for _ in os.sched_getaffinity(0)] if wanted else []
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def main(options):
    with busy_cores(options.awake):
        return carry_out_all(options)


def carry_out_all(options):
    print(f"seed {options.seed}; the first of two figures is without the fault; a ratio is that of the medians of the p99 of each phase", flush=True)
    faults = []
    for name in options.only:
        found, lacking = carry_out(name, options)
        if not options.control:
            faults += found + lacking
        elif found:
            print(f"control: {name} is found: {found[0][:100]}", flush=True)
        else:
            faults += [f"{name}: the check does not find the fault of the venue that it measures", *lacking]
    return verdict.tell(faults)
