"""What more fan-out threads would do, simulated with costs that were measured on this machine.

One feed's thread signals N threads one after the other; each sends an event to its share of the readers, one call after the other, and what comes
meanwhile goes with the next call. Assumed: a processor for each thread and enough others for the readers, a network that takes all of it, and that each
other thread makes a call dearer by the same share, `friction`.
"""

import dataclasses
import random

READERS = 10_000
EVENTS = 300


@dataclasses.dataclass
class Costs:
    """Microseconds."""

    send: float
    """A call that sends one event to one reader."""
    more: float
    """What each further event in the same call adds."""
    signal: float
    """The feed's thread signals one other thread."""
    wake: float
    """From the signal to the other thread's first instruction."""
    frame: float
    """The feed's thread turns a message into an event."""
    friction: float = 0.0


def delays(costs, threads, rate, readers=READERS, events=EVENTS, seed=1):
    """How late each delivery is, ms, and how much of the time the busiest thread works."""
    dice = random.Random(seed)
    share = [readers // threads + (index < readers % threads) for index in range(threads)]
    send = costs.send * (1 + costs.friction * (threads - 1))
    late, busiest = [], 0.0
    due = [number * 1e6 / rate for number in range(events)]
    for index, count in enumerate(share):
        known = [at + costs.frame + (index + 1) * costs.signal + dice.expovariate(1 / costs.wake) for at in due]
        step = 50
        time, worked, sent = 0.0, 0.0, 0
        while sent < events:
            if time < known[sent]:
                time = known[sent]
            begin, first, ready, last = time, sent, sent, None
            for place in range(0, count, step):
                while ready < events and known[ready] <= time:
                    ready += 1
                cost = send + costs.more * (ready - first - 1)
                group = min(step, count - place)
                time += cost * group
                late += [(time - due[number]) / 1000 for number in range(first, ready)]
                last = ready if last is None else last
            # The next sweep begins with what the first readers of this one lack; the others had it with theirs, which the model counts twice.
            sent = last
            worked += time - begin
        busiest = max(busiest, worked / time)
    return late, busiest


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def most(costs, threads, readers=1000, batch=32):
    """Deliveries a second once every call takes `batch` events, and the most that the feed's thread lets through."""
    send = costs.send * (1 + costs.friction * (threads - 1))
    calls = threads * 1e6 / (send + costs.more * (batch - 1))
    return calls * batch, readers * 1e6 / (costs.frame + costs.signal * threads / batch)


def friction(ratio):
    """What makes a call beside one other thread cost `ratio` times as much as alone."""
    return max(0.0, ratio - 1)
