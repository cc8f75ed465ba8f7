"""The tape played to readers: what one of the past is sent is, byte by byte, what a live one got; and what goes over into live has no hole."""

import asyncio
import bisect
import json
import shutil
import socket
import tempfile
import time

import house
import restarts
from book import Book, within

BOOKS, TRADES, QUOTES = 14, 3, 3
AT_ONCE = 4
"""Replays that run at a time."""
PATIENCE = 60
BOOK_EVERY = 40
"""Of how many replays one has its books compared with those that the live reader has built."""
LATE = 1500
"""Milliseconds between the time an event is received and the time at which it is told, at most."""


def number(identity):
    return int(identity.split(".")[1], 36)


class Reader:
    """One connection: every value and change, as its number, its stream, its kind and its bytes, and what else it was told."""

    def __init__(self, port):
        self.port = port
        self.numbers, self.events, self.told, self.bytes = [], [], [], 0

    async def read(self, query, until):
        # In one go: a comparison may take the program for so long that the gateway ends a connection that asks for nothing.
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.sendall(f"GET /events?{query} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
        reader, writer = await asyncio.open_connection(sock=connection, limit=1 << 26)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise ConnectionError((head + await reader.read(2000)).decode())
            while not until(self):
                block = await reader.readuntil(b"\n\n")
                self.bytes += len(block)
                self.take(block)
        finally:
            writer.transport.abort()
        return self

    def take(self, block):
        fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
        name = fields.get(b"event")
        if name in (b"update", b"fetch"):
            # Of values, only the last one has an id to resume from.
            identity = fields.get(b"id")
            self.numbers.append(number(identity.decode()) if identity else None)
            self.events.append(fields[b"data"])
        elif name:
            self.told.append((name.decode(), fields.get(b"data", b"{}"), len(self.events)))

    def names(self):
        return [name for name, _, _ in self.told]


def stream(data):
    return json.loads(data)["stream"]


def is_the_book(value, live, begin):
    """Whether a book is the one that the live reader had before a place."""
    mine, theirs = Book(value["stream"]), Book(value["stream"])
    mine.full(value["content"])
    needle = f'"stream":"{value["stream"]}"'.encode()
    for event in live.events[:begin]:
        if needle in event[:80]:
            data = json.loads(event)
            theirs.position = (theirs.full if data["kind"] == "full" else theirs.delta)(data["content"])
    return within(mine.top(), theirs.reach) == within(theirs.top(), theirs.reach)


def compare(played, live, streams, faults, what, limit=None):
    """Whether a replay is what a live reader got. `limit` is the time, ms, up to which everything has to be there."""
    first = next((place for place, identity in enumerate(played.numbers) if identity is not None), None)
    if first is None or {stream(data) for data in played.events[:first + 1]} != set(streams):
        faults.note(f"{what}: {len(played.events)} events, and no value of each stream first")
        return
    numbers, events = live.numbers, live.events
    begin = bisect.bisect_right(numbers, played.numbers[first], lo=len(streams))
    changes = played.events[first + 1:]
    if played.numbers[first + 1:] != numbers[begin:begin + len(changes)]:
        faults.note(f"{what}: behind {played.numbers[first]} come other numbers")
        return
    if changes != events[begin:begin + len(changes)]:
        faults.note(f"{what}: behind {played.numbers[first]} come other bytes")
        return
    for data in played.events[:first + 1]:
        value = json.loads(data)
        if "@bookTicker" in value["stream"]:
            before = next((event for event in reversed(events[max(len(streams), begin - 20_000):begin]) if stream(event) == value["stream"]), None)
            if before and json.loads(before)["content"] != value["content"]:
                faults.note(f"{what}: {value['stream']} begins with another value than it had")
        elif "@depth" in value["stream"] and begin % BOOK_EVERY == 0 and not is_the_book(value, live, begin):
            faults.note(f"{what}: {value['stream']} begins with another book than it had")
    end = begin + len(changes)
    if limit is not None and end < len(events) and json.loads(events[end])["receivedAt"] < limit - LATE:
        faults.note(f"{what}: ends {limit - json.loads(events[end])['receivedAt']} ms too early")


async def siege(options):
    directory = tempfile.mkdtemp(prefix="tape-", dir="/dev/shm")
    venue = house.Exchange(options.executable, "--symbols", 24, "--book-updates", options.rate, "--depth-interval", options.interval,
                           "--seed", options.seed % 100_000 + 1)
    symbols = [symbol.lower() for symbol in venue.symbols(BOOKS)]
    streams = ([f"{symbol}@aggTrade" for symbol in symbols[:TRADES]] + [f"{symbol}@bookTicker" for symbol in symbols[:QUOTES]]
               + [f"{symbol}@depth@100ms" for symbol in symbols])
    gateway = house.Gateway(options.executable, venue, "--tape-directory", directory, "--pinned", ",".join(streams), log=options.log)
    names, faults, dice = ",".join(streams), restarts.Faults(), options.dice
    live = Reader(gateway.port)
    living = asyncio.create_task(live.read(f"streams={names}", lambda reader: False))
    began = time.time()
    await asyncio.sleep(options.warm)
    first = int(began * 1000) + 3000
    events, longest, slots = [0, 0.0], 0.0, asyncio.Semaphore(AT_ONCE)

    async def window():
        now = int(time.time() * 1000) - 3000
        start = dice.randint(first, now - 100)
        end = min(start + dice.randint(50, 20_000), now)
        at = time.monotonic()
        played = await Reader(gateway.port).read(f"streams={names}&from={start}&to={end}", lambda reader: "bye" in reader.names())
        events[0] += len(played.events)
        events[1] += time.monotonic() - at
        compare(played, live, streams, faults, f"from {start} to {end}", end)

    async def join():
        nonlocal longest
        start = int(time.time() * 1000) - dice.randint(100, 15_000)
        more = dice.randint(50, 300)
        at = time.monotonic()

        def is_enough(reader):
            return any(name == "live" and len(reader.events) >= before + more for name, _, before in reader.told)

        played = await Reader(gateway.port).read(f"streams={names}&from={start}", is_enough)
        longest = max(longest, time.monotonic() - at)
        data = next(data for name, data, _ in played.told if name == "live")
        if json.loads(data)["resume"] != "exact":
            faults.note(f"from {start}: it goes over into live with {data.decode()}")
        while not live.numbers[-1] or live.numbers[-1] < (played.numbers[-1] or 0):
            await asyncio.sleep(0.01)
        compare(played, live, streams, faults, f"from {start} into live")

    async def one(kind):
        async with slots:
            if not faults:
                await asyncio.wait_for(kind(), PATIENCE)

    if options.control:
        # An event is forgotten that every window of a while has.
        await asyncio.sleep(1)
        place = len(live.numbers) - 500
        del live.numbers[place], live.events[place]
    kinds = [window] * options.windows + [join] * options.joins
    dice.shuffle(kinds)
    done = 0
    for begin in range(0, len(kinds), 100):
        await asyncio.gather(*(one(kind) for kind in kinds[begin:begin + 100]))
        done += len(kinds[begin:begin + 100])
        print(f"{done} replays, {len(live.events)} events live", flush=True)
        if living.done() or faults:
            break
    if living.done():
        faults.note(f"the live reader ended: {living.exception()}")
    seconds = time.time() - began
    living.cancel()
    gateway.end()
    venue.end()
    shutil.rmtree(directory, ignore_errors=True)
    print(f"{options.windows} windows and {options.joins} replays that went over into live, of {len(streams)} streams with "
          f"{len(live.events) / seconds:.0f} updates a second: {events[0]} events of windows compared, {events[0] / max(events[1], 0.001):.0f} a second "
          f"for each of {AT_ONCE} readers; the longest way into live took {longest:.1f} s")
    return faults


def main(options):
    return restarts.carry_out(options, siege)
