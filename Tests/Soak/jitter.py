"""Two lines that are late by 0 to 50 ms, each frame by something else: readers have each message when the faster line had it.

Then what two lines cost the gateway's processor, and a line that always lags: it is replaced, and no reader notices.
"""

import functools
import multiprocessing
import os
import random
import re
import selectors
import statistics
import time

import house
import lines
import machine
import sse
import verdict
import wires

KINDS = ("depth@100ms", "aggTrade", "bookTicker")
LATE = 0.05
"""Seconds that a frame is late by at most."""
LAG = 0.3
SETTLE = 5
"""Seconds in which the streams come up."""
GROWTH = 0.0005
"""Seconds that the p99 of readers may be more than that of the faster line, beside what the way through the gateway to a reader takes anyway."""
COST = 1.4
NUMBER = re.compile(rb'"(?:u|a)":(\d+)')


class Apart:
    """Wires in a process of their own, whose clock nothing else disturbs. `fault` is that of each line, as (class, its settings)."""

    def __init__(self, exchange, count, faults, seed):
        self.ours, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_apart, args=(theirs, exchange.host, exchange.port, count, faults, seed), daemon=True)
        self.process.start()
        self.host, self.port = self.ours.recv()

    def opened(self):
        """When each line's WebSockets were."""
        return self._ask("opened")

    def noted(self):
        """What came and went on: (line, stream, number, when it came, when it went on)."""
        return self._ask("noted")

    def begin(self, number, fault, seconds):
        self._ask((number, fault, seconds))

    def _ask(self, words):
        self.ours.send(words)
        return self.ours.recv()

    def end(self):
        self.process.kill()
        self.process.join()


def hasten():
    """What takes the time waits for nobody."""
    try:
        os.nice(-10)
    except PermissionError:
        pass


def _apart(pipe, host, port, count, faults, seed):
    hasten()
    noted = []
    between = wires.Wires(host, port, lines.ADDRESSES[:count], lambda *one: noted.append(one))
    for number, (fault, seconds) in enumerate(faults):
        between.begin(number, fault(random.Random(f"{seed} {number}"), seconds))
    pipe.send((between.host, between.port))
    while True:
        words = pipe.recv()
        if words == "opened":
            pipe.send([line.opened for line in between.lines])
        elif words != "noted":
            pipe.send(between.begin(words[0], words[1](random.Random(seed), words[2])))
        else:
            pipe.send([(line, frame.stream, int(NUMBER.search(frame.bytes)[1]), came, gone) for line, frame, came, gone in noted[:]])


def read(host, port, streams, pipe):
    """A process that reads and notes when, and makes sense of it in the end."""
    hasten()
    connection, heard = sse.Connection(host, port, streams), []
    poll = selectors.DefaultSelector()
    poll.register(connection, selectors.EVENT_READ)
    poll.register(pipe, selectors.EVENT_READ)
    while True:
        ready = [key.fileobj for key, _ in poll.select()]
        if connection in ready:
            blocks = connection.read()
            heard.append((time.monotonic(), blocks))
        if pipe in ready:
            break
    told, messages = [], []
    for at, blocks in heard:
        for event in map(sse.Event, blocks):
            if event.name in ("disconnect", "recover", "status"):
                told.append((at, event.name, event.data))
            elif event.name == "update":
                messages += [(event.data["stream"], number, at) for number in numbers(event.data["content"])]
    pipe.send((messages, told))


def numbers(content):
    """The venue's own numbers of what an update carries; what REST said may have none."""
    if isinstance(content, list):
        return [row["id"] for row in content]
    return [content[name] for name in ("updateId", "lastUpdateId") if name in content]


class Stretch:
    """One gateway of so many lines with these faults, read for so long."""

    def __init__(self, options, exchange, count, faults, seconds, readers=1, log=None, lag=0):
        """With `lag` the last line is late by so many seconds from the beginning on; it ends some seconds after that line was replaced."""
        streams = [f"{symbol.lower()}@{kind}" for symbol in exchange.symbols(options.symbols) for kind in KINDS]
        apart = Apart(exchange, count, faults, options.seed)
        gateway = house.Gateway(options.executable, apart, *lines.gateway(count), log=log)
        pipes = []
        for _ in range(readers):
            ours, theirs = multiprocessing.Pipe()
            multiprocessing.Process(target=read, args=(gateway.host, gateway.port, streams, theirs), daemon=True).start()
            theirs.close()
            pipes.append(ours)
        time.sleep(SETTLE)
        self.began, used = time.monotonic(), machine.processor_time(gateway.process.pid)
        if lag:
            apart.begin(count - 1, wires.Delay, lag)
        while time.monotonic() < self.began + seconds:
            time.sleep(min(SETTLE, seconds))
            if lag and apart.opened()[-1][-1] > self.began:
                time.sleep(SETTLE)
                break
        self.ended, self.used = time.monotonic(), machine.processor_time(gateway.process.pid) - used
        for pipe in pipes:
            pipe.send(None)
        self.messages, self.told = pipes[0].recv()
        self.opened = apart.opened()
        self.noted = [one for one in apart.noted() if self.began <= one[3] < self.ended - 1]
        self.told = [one for one in self.told if one[0] >= self.began]
        self.exit = gateway.end()
        apart.end()

    def times(self):
        """(of the faster line, of the reader, of the reader since the faster line had it) of each message, seconds since the venue sent it; how many
        never came."""
        had = {}
        for stream, number, at in self.messages:
            had.setdefault((stream, number), at)
        sent, best = {}, {}
        for _, stream, number, came, gone in self.noted:
            key = stream, number
            sent[key] = min(came, sent.get(key, came))
            best[key] = min(gone, best.get(key, gone))
        both = [key for key in best if key in had]
        return ([best[key] - sent[key] for key in both], [had[key] - sent[key] for key in both], [had[key] - best[key] for key in both], len(best) - len(both))

    @property
    def cost(self):
        """Seconds of the gateway's processor for a message."""
        return self.used * (1 - 1 / (self.ended - self.began)) / max(1, len({(stream, number) for _, stream, number, *_ in self.noted}))

    @property
    def copies(self):
        """How often each message came, on average."""
        return len(self.noted) / max(1, len({(stream, number) for _, stream, number, *_ in self.noted}))


def main(options):
    exchange = house.Exchange(options.executable, "--symbols", max(20, options.symbols + 10), "--book-updates", options.rate,
                              "--depth-interval", options.interval, "--weight-limit", 100_000_000)
    stretch = functools.partial(Stretch, options, exchange)
    print(f"seed {options.seed}: {options.symbols} symbols, {', '.join(KINDS)}", flush=True)
    faults = judge_jitter(stretch, options)
    if options.rounds:
        faults += judge_cost(stretch, options)
    if options.lag:
        faults += judge_lag(stretch, options)
    exchange.end()
    return verdict.tell(faults)


def judge_jitter(stretch, options):
    late = (wires.Jitter, LATE)
    count = 1 if options.control else 2
    plain = stretch(1, [(wires.Jitter, 0)], options.seconds / 3)
    merged = stretch(count, [late, late][:count], options.seconds, log=options.log)
    # Of one line, the control, what another would have brought is not known: it is held against half of the range.
    best, whole, rest, missing = merged.times()
    if len(best) < options.seconds * 100:
        return [f"only {len(best)} messages were read"]
    _, _, path, _ = plain.times()
    bound = percentile(best, 99) if not options.control else LATE * 0.9
    over = percentile(whole, 99) - bound
    each = len(best) / (merged.ended - merged.began - 1)
    print(f"{each:.0f} messages/s on {count} lines that delay each by 0 to {LATE * 1000:.0f} ms: p99 of readers {ms(whole, 99)}, "
          f"of the faster line {bound * 1000:.2f} ms, {over * 1000:+.2f} ms; p50 {ms(whole, 50)} and {ms(best, 50)}; {missing} messages missing or combined")
    print(f"from the faster line's byte to the reader's: p50 {ms(rest, 50)}, p99 {ms(rest, 99)}; of one line without delay p50 {ms(path, 50)}, p99 {ms(path, 99)}")
    faults = [f"readers were told: {merged.told[:3]}"] if merged.told else []
    most = GROWTH + percentile(path, 50)
    if over > most:
        faults.append(f"p99 of readers is {over * 1000:.2f} ms more than that of the faster line (at most {most * 1000:.2f})")
    return faults


def judge_cost(stretch, options):
    """One line and two by turns, so that what else the machine does falls on both."""
    costs = {1: [], 2: []}
    for _ in range(options.rounds):
        for count in costs:
            found = stretch(count, [(wires.Jitter, 0)] * count, options.seconds, readers=options.readers)
            costs[count].append(found.cost)
    one, two = (statistics.median(costs[count]) * 1e6 for count in (1, 2))
    say = lambda values: ", ".join(f"{1e6 * value:.0f}" for value in values)
    print(f"processor time of a message with {options.readers} readers: {one:.0f} us on one line ({say(costs[1])}), {two:.0f} us on two ({say(costs[2])}): "
          f"ratio {two / one:.2f} with {found.copies:.2f} copies of each message")
    return [f"two lines cost {two / one:.2f} times what one costs (at most {COST})"] if two / one > COST else []


def judge_lag(stretch, options):
    found = stretch(2, [(wires.Jitter, 0)] * 2, 60, log=options.log and options.log + ".lag", lag=LAG)
    later = [at - found.began for at in found.opened[1] if at > found.began]
    words = f"replaced after {later[0]:.1f} s" if later else "not replaced within 60 s"
    print(f"a line that is always {LAG * 1000:.0f} ms late: {words}; readers received {len(found.told)} reports")
    faults = [] if later else ["the line that lags was not replaced"]
    return faults + ([f"readers were told of it: {found.told[:3]}"] if found.told else [])


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


def ms(values, share):
    return f"{percentile(values, share) * 1000:.2f} ms"
