"""Readers cut at random instants go on exactly, or are told that they cannot, against one reader that is never cut. With `--control` hardly anything is kept."""

import asyncio
import json
import random

import house
import verdict

STREAMS = ["btcusdt@bookTicker", "ethusdt@bookTicker", "btcusdt@aggTrade", "btcusdt@depth@100ms", "!assetIndex@arr"]


class Reader:
    """One connection; `events` gives (id, event, data) as they come."""

    def __init__(self, gateway, last=None):
        self.gateway, self.last, self.buffer = gateway, last, b""

    async def __aenter__(self):
        self.input, self.output = await asyncio.open_connection(self.gateway.host, self.gateway.port, limit=1 << 22)
        header = f"Last-Event-ID: {self.last}\r\n" if self.last else ""
        target = f"/events?streams={','.join(STREAMS)}"
        self.output.write(f"GET {target} HTTP/1.1\r\nHost: {self.gateway.host}\r\n{header}\r\n".encode())
        head = await self.input.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(head.decode("latin1"))
        self.session = json.loads((await self.next())[1])
        return self

    async def __aexit__(self, *_):
        self.output.transport.abort()

    async def next(self):
        """The next event's id and data as they are on the wire: ten thousand readers leave no time for more."""
        while True:
            identity = data = None
            for line in (await self.input.readuntil(b"\n\n")).split(b"\n"):
                if line.startswith(b"id: "):
                    identity = line[4:].decode() or None
                elif line.startswith(b"data: "):
                    data = line[6:]
            if data is not None:
                return identity, data


def sequence(identity):
    return int(identity.split(".")[1], 36)


class Witness:
    """Everything with an id, in order."""

    def __init__(self, gateway):
        self.gateway, self.ids, self.data = gateway, [], {}

    async def run(self):
        async with Reader(self.gateway) as reader:
            while True:
                identity, data = await reader.next()
                if identity:
                    self.ids.append(sequence(identity))
                    self.data[self.ids[-1]] = data

    async def reaches(self, number):
        while not self.ids or self.ids[-1] < number:
            await asyncio.sleep(0.01)

    def between(self, after, last):
        return [number for number in self.ids if after < number <= last]


async def collect(reader, seconds, seen):
    """Reads for so long, but to the first id at least, and is then cut off wherever it is."""
    end = asyncio.get_running_loop().time() + seconds
    while True:
        left = end - asyncio.get_running_loop().time()
        if left <= 0 and seen:
            return
        try:
            identity, data = await asyncio.wait_for(reader.next(), left if seen else 60)
        except TimeoutError:
            return
        if identity:
            seen.append((identity, data))


async def inside(gateway, witness, dice, tally):
    first, second = [], []
    async with Reader(gateway) as reader:
        await collect(reader, dice.uniform(0, 1), first)
    await asyncio.sleep(dice.uniform(0, 3))
    last = first[-1][0]
    async with Reader(gateway, last) as reader:
        resumed = reader.session["resume"]
        await collect(reader, dice.uniform(0, 0.5), second)
    await witness.reaches(sequence(second[-1][0]))
    numbers = [sequence(identity) for identity, _ in second]
    # The first id of a connection is that of the cached values; what follows it is what the witness had.
    is_right = numbers == witness.between(sequence(last), numbers[-1]) and all(witness.data[sequence(i)] == data for i, data in second)
    outcome = resumed if is_right or resumed != "exact" else "exact, but wrong"
    tally[outcome] = tally.get(outcome, 0) + 1


async def outside(gateway, witness, dice, events, tally):
    first, second = [], []
    async with Reader(gateway) as reader:
        await collect(reader, dice.uniform(0, 1), first)
    gone = len(witness.ids) + events
    while len(witness.ids) < gone:
        await asyncio.sleep(0.05)
    async with Reader(gateway, first[-1][0]) as reader:
        resumed = reader.session["resume"]
        await collect(reader, 0, second)
        is_right = json.loads(second[0][1])["kind"] == "full"
    outcome = resumed if is_right or resumed != "reset" else "reset, but no full value"
    tally[outcome] = tally.get(outcome, 0) + 1


async def all_of(options, gateway, task, dice, *more):
    witness = Witness(gateway)
    watching = asyncio.create_task(witness.run())
    await witness.reaches(0)
    tally = {}
    places = asyncio.Semaphore(options.at_once)

    async def one(number):
        async with places:
            await task(gateway, witness, random.Random(dice + number), *more, tally)

    readers = asyncio.gather(*(one(number) for number in range(options.readers)))
    await asyncio.wait({watching, readers}, return_when=asyncio.FIRST_COMPLETED)
    if watching.done():
        watching.result()
    await readers
    watching.cancel()
    return tally, len(witness.ids)


def main(options):
    print(f"seed {options.seed}: {options.readers} readers, {options.at_once} at once, streams {', '.join(STREAMS)}", flush=True)
    exchange = house.Exchange(options.executable)
    faults = []
    for name, task, wanted, settings, more in (
        ("inside the window", inside, "exact", ["--replay-events", 4] if options.control else ["--replay-seconds", 600], ()),
        ("outside the window", outside, "reset", ["--replay-events", 4], (100,)),
    ):
        gateway = house.Gateway(options.executable, exchange, *settings)
        tally, events = asyncio.run(all_of(options, gateway, task, options.seed, *more))
        status = gateway.end()
        print(f"{name}: {tally} over {events} events; the gateway ended with {status}", flush=True)
        if tally != {wanted: options.readers}:
            words = "go on exactly" if wanted == "exact" else "begin anew"
            faults.append(f"{name}: {options.readers - tally.get(wanted, 0)} of {options.readers} readers did not {words}: {tally}")
        if status:
            faults.append(f"{name}: the gateway ended with {status}")
    exchange.end()
    return verdict.tell(faults)
