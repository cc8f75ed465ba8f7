"""Crowds that would make a gateway bother its venue: refetches, names of no stream, and readers that are all disconnected and return at once."""

import asyncio
import json
import os
import random
import re
import time

import house
import verdict

STREAMS = "btcusdt@bookTicker,ethusdt@markPrice"


def resident(pid):
    return int(open(f"/proc/{pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def venue_load(venue):
    _, statistics = venue.ask("GET", "/control/statistics")
    return sum(statistics["requests"].values()), statistics["controlMessages"], statistics["connectionsEver"]


async def flood(port, requests, connections=64):
    """Sends each request once over a few kept connections; the number of answers by status."""
    statuses, pending = {}, iter(requests)

    async def one():
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        for request in pending:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"Content-Length: (\d+)", head, re.I)
            await reader.readexactly(int(length[1]) if length else 0)
            statuses[head[9:12].decode()] = statuses.get(head[9:12].decode(), 0) + 1
        writer.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    return statuses


class Herd:
    """Readers that come back after the gateway's own `retry`, with the id they saw last."""

    def __init__(self, port, count):
        self.port, self.count, self.back, self.refused = port, count, 0, 0
        self.writers = {}
        self.last = [None] * count
        self.retries = []

    async def reader(self, number, delay):
        await asyncio.sleep(delay)
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
                header = f"Last-Event-ID: {self.last[number]}\r\n" if self.last[number] else ""
                writer.write(f"GET /events?streams={STREAMS}&maxRate=1 HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
                block = await reader.readuntil(b"\n\n")
                while b"event: session" not in block:
                    block = await reader.readuntil(b"\n\n")
                break
            except (OSError, asyncio.IncompleteReadError):
                self.refused += 1
                await asyncio.sleep(random.uniform(0.5, 1.5))
        retry = re.search(rb"retry: (\d+)", block)
        self.retries.append(int(retry[1]) / 1000 if retry else 2.0)
        self.writers[number] = writer
        self.back += 1
        try:
            while True:
                block = await reader.readuntil(b"\n\n")
                if identity := re.search(rb"^id: (\S+)", block, re.M):
                    self.last[number] = identity[1].decode()
        except (OSError, asyncio.IncompleteReadError):
            pass

    async def gather(self, delays):
        """All connect, each after its delay; how long until the last has its session."""
        self.back, self.retries, begin = 0, [], time.monotonic()
        tasks = [asyncio.create_task(self.reader(number, delays[number])) for number in range(self.count)]
        while self.back < self.count:
            await asyncio.sleep(0.02)
            if time.monotonic() > begin + 60:
                break
        return time.monotonic() - begin, tasks

    async def cut(self, tasks):
        for writer in self.writers.values():
            writer.transport.abort()
        self.writers.clear()
        await asyncio.gather(*tasks)


async def herds(gateway, count, rounds):
    herd = Herd(gateway.port, count)
    _, tasks = await herd.gather([number / count * 3 for number in range(count)])
    await asyncio.sleep(2)
    base, times = 0, []
    for number in range(rounds):
        # What the first cuts make the allocator keep it keeps; what later ones add would be a leak.
        if number == rounds // 4:
            base = resident(gateway.process.pid)
        delays = herd.retries
        await herd.cut(tasks)
        took, tasks = await herd.gather(delays)
        times.append(took)
        await asyncio.sleep(1)
    peak = resident(gateway.process.pid)
    await herd.cut(tasks)
    await asyncio.sleep(5)
    return times, herd, base, peak, resident(gateway.process.pid)


def main(options):
    venue = house.Exchange(options.executable, "--symbols", 50)
    gateway = house.Gateway(options.executable, venue, *(["--linger", 0] if options.control else []), log=options.log)
    dice, faults = random.Random(options.seed), []
    post = b"POST /streams/btcusdt@markPrice/refetch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
    gateway.ask("GET", "/streams/btcusdt@markPrice")
    before, begin = venue_load(venue), time.monotonic()
    statuses = asyncio.run(flood(gateway.port, [post] * options.refetches, 1000))
    took, after = time.monotonic() - begin, venue_load(venue)
    due = int(took) + 2
    print(f"{options.refetches} refetches in {took:.1f} s: {statuses}, {after[0] - before[0]} requests to the venue (limit {due})", flush=True)
    if after[0] - before[0] > due:
        faults.append(f"{after[0] - before[0]} requests to the venue for {options.refetches} refetches (limit {due})")
    if set(statuses) != {"200"}:
        faults.append(f"refetches were answered {statuses}")

    names = [f"{''.join(dice.choices('abcdefghijklmnopqrstuvwxyz@%!0123456789', k=dice.randint(1, 40)))}" for _ in range(options.names)]
    asked = [f"GET /streams/{name.replace('%', '%25')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for name in names]
    before = venue_load(venue)
    statuses = asyncio.run(flood(gateway.port, asked))
    after = venue_load(venue)
    print(f"{options.names} names of no stream: {statuses}, {after[0] - before[0]} requests and {after[1] - before[1]} messages to the venue", flush=True)
    if after[:2] != before[:2] or not set(statuses) <= {"400", "404", "410"}:
        faults.append(f"requests for names of no stream got {statuses}, or the venue was asked")

    gateway.ask("GET", "/streams/btcusdt@bookTicker")
    times, herd, base, peak, rest = asyncio.run(herds(gateway, options.readers, options.cuts))
    before = after
    after = venue_load(venue)
    spread = sorted(herd.retries)
    print(f"{options.readers} readers disconnected {options.cuts} times: all reconnected within {max(times):.1f} s (median {sorted(times)[len(times) // 2]:.1f} s),", end=" ")
    print(f"retry from {spread[0]:.2f} to {spread[-1]:.2f} s, {herd.refused} connections refused;", end=" ")
    print(f"{after[0] - before[0]} requests and {after[1] - before[1]} messages to the venue in all; memory {base >> 20} MB after a quarter of the disconnections, {peak >> 20} after all of them, {rest >> 20} without readers", flush=True)
    if max(times) >= 10:
        faults.append(f"readers came back after {max(times):.1f} s")
    if after[0] - before[0] > 4 or after[1] - before[1] > 4:
        faults.append("the venue noticed that readers were cut")
    if peak >= base * 1.1 + (2 << 20):
        faults.append(f"memory grew from {base >> 20} to {peak >> 20} MB")
    gateway.end()
    venue.end()
    return verdict.tell(faults)
