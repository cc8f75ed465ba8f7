"""Venues that fall silent or go away, gateways before them, and what was heard of each stream: the trials that `detect` and `receipts` judge."""

import collections
import multiprocessing
import signal
import time
import traceback
from typing import NamedTuple

import cutter
import ear
import house

KINDS = ("depth@100ms", "depth20@100ms", "bookTicker", "aggTrade", "markPrice@1s", "markPrice", "miniTicker")
"""Of each symbol; `btcusd@assetIndex` comes besides."""
FAULTS = ("blackhole", "frozen", "half-open", "forgotten", "stalled", "reset", "fin", "frame")
OF_SOCKETS = set(FAULTS) - {"forgotten", "stalled"}
"""Faults that end all data of a socket, so that what it delivered last counts for each of its streams."""
SOURCES = {"depth@100ms": "depth", "depth20@100ms": "depth", "bookTicker": "ticker/bookTicker", "aggTrade": "aggTrades", "miniTicker": "ticker/24hr"}
"""Where REST has what comes with the market."""
LINES = 20
"""Gateways of a venue that forgets one stream of each at a time, at most."""
BACK = 60
"""Seconds within which every stream has to be back once the venue is."""


def kind(stream):
    return stream.split("@", 1)[1]


class Trial(NamedTuple):
    """One stream and one fault. Times are this program's; None is what did not happen."""

    fault: str
    stream: str
    calm: float
    """Since when all was well, before it began."""
    began: float
    last: tuple | None
    """When its last frame before the fault went to the gateway: (before, after)."""
    last_of_socket: tuple | None
    """The same of anything its socket delivered."""
    stamp: float | None
    """When the gateway says that it had the last data of the socket, or of the stream where the fault is the stream's own."""
    asked: float | None
    """When REST was asked for it last before readers were told; what it said then is evidence too."""
    gap: float
    """The longest time between two of its frames, as they were sent or as the gateway had them, seconds; the silences of faults do not count."""
    events: list
    """What was heard of the stream, from some seconds before the fault until it was back."""
    confirmed: float | None = None
    """When REST was asked for it last but once before readers were told: it said that nothing was newer, since it was believed for longer."""

    @property
    def since(self):
        """What was heard from the fault on."""
        return [heard for heard in self.events if heard.at >= self.began]

    @property
    def told(self):
        return next((heard for heard in self.since if heard.tells), None)

    @property
    def fetched(self):
        """When its readers were last given what REST had before the fault, by the end of an outage say: that is as good as a frame."""
        return max((heard.at for heard in self.events if heard.name == "fetch" and heard.at < self.began), default=0)

    @property
    def alarm(self):
        """What was told before anything was wrong."""
        return next((heard for heard in self.events if self.calm <= heard.at < self.began and heard.tells), None)


class Line:
    """A gateway, what stands between it and the venue, and its reader."""

    def __init__(self, options, exchange, symbols):
        self.cutter = cutter.Cutter(exchange.host, exchange.port)
        self.gateway = house.Gateway(options.executable, self.cutter, log=options.log)
        self.streams = [f"{symbol.lower()}@{one}" for symbol in symbols for one in KINDS]
        if symbols[0] == "BTCUSDT":
            self.streams.append("btcusd@assetIndex")
        self.ear = ear.Ear(self.gateway, self.streams)

    def end(self):
        self.ear.end()
        self.gateway.end()


class Scene:
    """A venue and one gateway, or many with streams of their own where it forgets one of each."""

    def __init__(self, options, fault, dice, trials):
        self.fault, self.dice = fault, dice
        lines, each = (min(LINES, trials), 1) if fault == "forgotten" else (1, 3)
        self.exchange = house.Exchange(
            options.executable, "--symbols", 60, "--book-updates", 20, "--depth-interval", 100, "--weight-limit", 100_000_000)
        self.lines, self.rounds, self.others, self.calm = [], 0, 0, 0.0
        self.faults = collections.defaultdict(list)
        """When each stream was met by a fault."""
        symbols = [symbol for symbol in self.exchange.symbols(60) if "_" not in symbol]
        try:
            self.lines += [Line(options, self.exchange, symbols[number * each:(number + 1) * each]) for number in range(lines)]
        except BaseException:
            self.end()
            raise

    def end(self):
        self.exchange.signal(signal.SIGCONT)
        for line in self.lines:
            line.end()
        self.exchange.end()

    def wait(self, seconds, condition):
        """Whether the condition came to hold."""
        until = time.monotonic() + seconds
        while not (holds := condition()) and time.monotonic() < until:
            time.sleep(0.02)
        return holds

    def settle(self, seconds):
        """Waits until every stream has its value, and some time more."""
        started = lambda: all(any(heard.is_data for heard in line.ear.of(stream)) for line in self.lines for stream in line.streams)
        if not self.wait(60, started):
            raise TimeoutError("the streams did not come up")
        time.sleep(seconds)
        self.calm = time.monotonic()

    def round(self, patience, hold):
        """One fault; the trials of all streams it met. `patience` is how long the word is waited for, `hold` how long the fault goes on after it."""
        time.sleep(self.dice.uniform(1, 2))
        met = self._met()
        began = time.monotonic()
        self._strike([stream for _, stream in met])
        told = lambda: all(any(heard.tells for heard in line.ear.of(stream, began)) for line, stream in met)
        all_told = self.wait(patience, told)
        if all_told:
            time.sleep(hold)
        ended = time.monotonic()
        if self.fault == "frozen":
            self.exchange.signal(signal.SIGCONT)
        elif self.fault in ("blackhole", "stalled"):
            self.exchange.ask("POST", "/control/clear")
        everything = [(line, stream) for line in self.lines for stream in line.streams]
        told_of = lambda line, stream: (line, stream) in met or any(heard.tells for heard in line.ear.of(stream, began))
        back = lambda: all(is_back(line.ear.of(stream, began)) for line, stream in everything if told_of(line, stream))
        self.wait(BACK if all_told else 0, back)
        time.sleep(0.5)
        for line, stream in everything:
            if told_of(line, stream):
                self.faults[stream].append(began)
        trials = [self._trial(line, stream, began, ended) for line, stream in met]
        self.others += sum(told_of(line, stream) for line, stream in everything) - len(met)
        self.rounds, self.calm = self.rounds + 1, time.monotonic()
        return trials

    def _met(self):
        """The (line, stream) that the next fault meets."""
        if self.fault == "forgotten":
            return [(line, line.streams[(self.rounds + number) % len(line.streams)]) for number, line in enumerate(self.lines)]
        return [(line, stream) for line in self.lines for stream in line.streams]

    def _strike(self, streams):
        if self.fault == "blackhole":
            self.exchange.fault("blackhole")
        elif self.fault == "frozen":
            self.exchange.signal(signal.SIGSTOP)
        elif self.fault == "stalled":
            self.exchange.fault("stall")
        elif self.fault == "forgotten":
            self.exchange.fault("forget", streams=streams)
        else:
            at, how = {"half-open": ("now", "vanish"), "frame": ("frame", "reset")}.get(self.fault, ("now", self.fault))
            for line in self.lines:
                line.cutter.strike(cutter.Strike(at, how, self.dice.random(), only="web" if how == "vanish" else ""))

    def _trial(self, line, stream, began, ended):
        events = line.ear.of(stream, began - 15)
        told = next((heard.at for heard in events if heard.at >= began and heard.tells), ended)
        frame = line.cutter.last_frame(stream, min(told, ended))
        # Of all sockets: a stream that was silent changes to a fresh one without a frame.
        heard = [line.cutter.last_byte(pipe, min(told, ended)) for pipe in list(line.cutter.bytes)]
        byte = frame and max(filter(None, heard), default=None)
        peers = line.streams if self.fault in OF_SOCKETS else [stream]
        stamps = [heard.received for peer in peers for heard in line.ear.of(peer, began - 15) if heard.is_data and heard.at < min(told, ended)]
        source = SOURCES.get(kind(stream)), stream.split("@")[0]
        asks = sorted(at for at in line.cutter.asked[source][:] if at < min(told, ended))
        asked = asks[-1] if asks else None
        return Trial(self.fault, stream, self.calm, began, frame and frame[:2], byte, max(stamps, default=None), asked, self._gap(line, stream, began), events,
                     asks[-2] if len(asks) > 1 else None)

    def _gap(self, line, stream, until):
        sent = [before for before, _, _ in line.cutter.frames[stream].copy()]
        had = [heard.received for heard in line.ear.of(stream) if heard.is_data]
        gaps = [gap for times in (sent, had) for gap in zip(times, times[1:]) if gap[1] <= until]
        return max((end - begin for begin, end in gaps if not any(begin <= fault < end for fault in self.faults[stream])), default=0.0)


def is_back(events):
    """Whether data came after the word, and after the recovery where there was one."""
    places = [place for place, heard in enumerate(events) if heard.tells or heard.name == "recover"]
    return bool(places) and events[places[-1]].name == "recover" and any(heard.is_data for heard in events[places[-1]:])


def run(faults, work, *arguments):
    """Calls `work(fault, say, *arguments)` for every fault, each in a process of its own; what it returned by fault. `say` prints a line."""
    queue = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=_work, args=(fault, queue, work, arguments)) for fault in faults]
    for process in processes:
        process.start()
    results, left = {}, len(processes)
    while left:
        fault, word, value = queue.get()
        if word == "line":
            print(f"{fault}: {value}", flush=True)
        else:
            results[fault], left = value, left - 1
    for process in processes:
        process.join()
    return results


def _work(fault, queue, work, arguments):
    try:
        queue.put((fault, "end", work(fault, lambda line: queue.put((fault, "line", line)), *arguments)))
    except BaseException:
        queue.put((fault, "line", traceback.format_exc()))
        queue.put((fault, "end", None))


def percentiles(values, unit="s"):
    """p50 and the largest."""
    ordered = sorted(values)
    return f"p50 {ordered[len(ordered) // 2]:.2f} {unit}, max {ordered[-1]:.2f} {unit}"


def by(trials, key):
    groups = collections.defaultdict(list)
    for trial in trials:
        groups[key(trial)].append(trial)
    return dict(sorted(groups.items()))
