"""A gateway with a tape, stopped or killed under readers that come back: a stop loses nobody anything, and what a kill lost is told as a reset."""

import asyncio
import datetime
import json
import re
import shutil
import signal
import subprocess
import tempfile
import time

import house
import restarts

TRADES = 4
"""Streams of trades, of which each reader has three: trades are numbered, so whatever is missing or comes twice is seen. Few, because a start asks for
the missed ones of each, and the venue gives 2,400 of weight a minute to up to sixteen starts."""
LOST = 1.2
"""Seconds: a kill loses no more of what was received."""
PATIENCE = 60


class Reader:
    """One that comes back by itself with its last id, and counts trades."""

    def __init__(self, number, port, streams, faults):
        self.number, self.port, self.streams, self.faults = number, port, streams, faults
        self.identity, self.session, self.sessions, self.trades = None, None, 0, 0
        self.last, self.missed = {}, {}

    async def run(self):
        while True:
            try:
                await self.read()
            except (OSError, EOFError, asyncio.IncompleteReadError, ConnectionError):
                pass
            await asyncio.sleep(0.2)

    async def read(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)
        try:
            again = f"Last-Event-ID: {self.identity}\r\n" if self.identity else ""
            writer.write(f"GET /events?streams={','.join(self.streams)} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{again}\r\n".encode())
            if not (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200"):
                raise ConnectionError("no stream")
            while True:
                self.take((await reader.readuntil(b"\n\n")).decode())
        finally:
            writer.transport.abort()

    def take(self, block):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        name, data = fields.get("event"), json.loads(fields.get("data", "{}"))
        if name == "session":
            self.session, self.sessions = data["resume"], self.sessions + 1
            if self.session != "exact":
                self.last, self.missed = {}, {}
        elif name == "recover":
            self.missed[data["stream"]] = data.get("missed")
        elif name in ("update", "fetch"):
            self.count(data["stream"], data["kind"], [row["id"] for row in data["content"]])
        self.identity = fields.get("id", self.identity)

    def count(self, stream, kind, numbers):
        last = self.last.get(stream)
        if numbers and last is not None:
            hole = max(0, numbers[0] - last - 1)
            told = self.missed.get(stream)
            if hole and hole != told:
                self.faults.note(f"reader {self.number}: {stream} goes from {last} to {numbers[0]}, {told} told as missing")
            if kind == "delta" and numbers[0] <= last:
                self.faults.note(f"reader {self.number}: {stream} has {numbers[0]} again after {last}")
        if numbers:
            self.last[stream] = max(numbers[-1], last or 0)
            self.missed[stream] = None
            self.trades += len(numbers)


def newest(executable, directory):
    """When the newest record on the tape was received, in seconds since 1970."""
    told = subprocess.run([executable, "tape", "ls", directory], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"\.zst \d+ bytes \S+ to (\S+)", told)
    return datetime.datetime.fromisoformat(found[-1].replace("Z", "+00:00")).timestamp() if found else 0


def whole(executable, directory):
    """What `tape verify` says, and whether all of it can be read."""
    done = subprocess.run([executable, "tape", "verify", directory], capture_output=True, text=True)
    return done.stdout.strip().split("\n")[-1], done.returncode == 0


async def siege(options):
    directory = tempfile.mkdtemp(prefix="tape-")
    venue = house.Exchange(options.executable, "--symbols", 60, "--book-updates", options.events // 50, "--seed", options.seed % 100_000 + 1)
    symbols = [symbol.lower() for symbol in venue.symbols(50)]
    trades = [f"{symbol}@aggTrade" for symbol in symbols[:TRADES]]
    pinned = ",".join([*trades, "!bookTicker"])
    arguments = ["--tape-directory", directory, "--pinned", pinned]
    gateway = house.Gateway(options.executable, venue, *arguments)
    port, faults, dice = gateway.port, restarts.Faults(), options.dice
    readers = [Reader(number, port, dice.sample(trades, 3), faults) for number in range(options.readers)]
    tasks = [asyncio.create_task(reader.run()) for reader in readers]
    answers = {"stop": {}, "kill": {}}

    async def everybody(since):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not all(r.sessions > s and set(r.last) == set(r.streams) for r, s in zip(readers, since)):
            await asyncio.sleep(0.05)
        for reader, sessions in zip(readers, since):
            if reader.sessions <= sessions or set(reader.last) != set(reader.streams):
                faults.note(f"reader {reader.number} is not back within {PATIENCE} s")

    await everybody([0] * len(readers))
    worst, slowest, ends = 0.0, 0.0, ["kill"] * options.kills + ["stop"] * options.stops
    dice.shuffle(ends)
    for number, end in enumerate(ends, 1):
        if faults:
            break
        await asyncio.sleep(dice.uniform(1.5, 4))
        since = [reader.sessions for reader in readers]
        killed = time.time()
        gateway.signal(signal.SIGKILL if end == "kill" else signal.SIGTERM)
        await asyncio.get_running_loop().run_in_executor(None, gateway.process.wait)
        if end == "kill":
            lost = killed - newest(options.executable, directory)
            worst = max(worst, lost)
            if lost > LOST:
                faults.note(f"a kill lost {lost:.2f} s")
        if options.control:
            shutil.rmtree(directory)
        began = time.monotonic()
        gateway = house.Gateway(options.executable, venue, *arguments, port=port)
        slowest = max(slowest, time.monotonic() - began)
        await everybody(since)
        for reader in readers:
            answers[end][reader.session] = answers[end].get(reader.session, 0) + 1
            if end == "stop" and reader.session != "exact":
                faults.note(f"reader {reader.number} was told {reader.session} after a stop")
        if number % 10 == 0:
            print(f"{number} ends: {answers}", flush=True)
    # What goes on after the last one counts, too.
    await asyncio.sleep(2)
    for task in tasks:
        task.cancel()
    gateway.end()
    venue.end()
    told, is_whole = whole(options.executable, directory)
    # A kill may cut the block that is being written; the rest is whole.
    if not is_whole and options.kills == 0:
        faults.note(f"the tape is damaged: {told}")
    shutil.rmtree(directory, ignore_errors=True)
    print(f"{options.kills} kills and {options.stops} stops under {len(readers)} readers, {sum(r.trades for r in readers)} trades counted: {answers}; "
          f"a kill lost at most {worst:.2f} s; a start took at most {slowest:.1f} s; {told}")
    return faults


def main(options):
    return restarts.carry_out(options, siege)
