"""Readers that come and go by the thousand, and a venue that is cut again and again: memory, descriptors and threads stay as they are.

What is measured is what one reader, one cut or one event leaves behind, so more of them in less time say as much. With `--control` events are kept for a day, and memory grows.
"""

import os
import re
import selectors
import socket
import statistics
import threading
import time

import cutter
import stage


GROWTH = 1024
"""KiB by which what is allocated may grow from a run's beginning to its end."""
KEPT = 2048
"""KiB by which what the allocator keeps may grow besides: it gives pages back when it can, not when it should."""
CUT_EVERY = 7.5
"""Seconds."""
WINDOW = 15
"""Samples of which the least counts: what the allocator holds for a moment is no growth."""


class Churn(threading.Thread):
    """So many readers at a time: each reads for some seconds and leaves in one way or another, and another comes in its place."""

    def __init__(self, run, population):
        super().__init__(daemon=True)
        self.port, self.streams, self.dice = run.gateway.port, run.streams, run.dice
        self.poll, self.population = selectors.DefaultSelector(), population
        self.ends, self.came = False, 0

    def run(self):
        begin = time.monotonic()
        # They come one by one at first, so that they do not all leave together.
        leaving = [(begin + 6 * number / self.population, None) for number in range(self.population)]
        while not self.ends:
            for key, _ in self.poll.select(0.01):
                try:
                    if not key.fileobj.recv(1 << 18):
                        self.poll.unregister(key.fileobj)
                except OSError:
                    self.poll.unregister(key.fileobj)
            now = time.monotonic()
            due = [reader for when, reader in leaving if when <= now]
            leaving = [one for one in leaving if one[0] > now]
            for reader in due:
                self._leave(reader)
                leaving.append((now + self.dice.uniform(0, 6), self._come()))
        for _, reader in leaving:
            self._leave(reader)

    def _come(self):
        reader = socket.create_connection(("127.0.0.1", self.port))
        streams = self.dice.sample(self.streams, self.dice.randint(1, 4)) + ["btcusdt@aggTrade"]
        coding = self.dice.choice(("gzip", "identity"))
        reader.sendall(f"GET /events?streams={','.join(streams)} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: {coding}\r\nUser-Agent: Mozilla/5.0\r\n\r\n".encode())
        reader.setblocking(False)
        self.came += 1
        if self.dice.random() < 0.9:
            self.poll.register(reader, selectors.EVENT_READ)
        return reader

    def _leave(self, reader):
        if not reader:
            return
        if reader in self.poll.get_map():
            self.poll.unregister(reader)
        if self.dice.random() < 0.5:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, cutter.RESET)
        reader.close()


def sample(pid):
    """Resident KiB, descriptors, threads."""
    resident = int(open(f"/proc/{pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10
    return resident, len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


def told(gateway):
    """KiB that the gateway says it has allocated, its rings use, and have. They grow by doubling wherever much came in a minute, so what they do not
    use is no leak."""
    _, text = gateway.ask("GET", "/metrics")
    found = dict(re.findall(r"^futures_gateway_(allocated_bytes|event_ring_bytes|event_ring_memory_bytes) (\d+)", text, re.M))
    return [int(found[name]) >> 10 for name in ("allocated_bytes", "event_ring_bytes", "event_ring_memory_bytes")]


def slope(points):
    """Theil and Sen's: the median of the slopes between points, a unit of y for one of x."""
    few = points[:: max(1, len(points) // 200)]
    return statistics.median((b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(few) for b in few[i + 1 :])


def main(options):
    kept = ("--replay-seconds", 86_400, "--replay-bytes", 1 << 30, "--replay-events", 10_000_000) if options.control else ()
    run = stage.Stage(options, gateway=kept)
    run.require(60, run.all_valid, "the books did not come up")
    churn = Churn(run, options.churn)
    churn.start()
    begin, ends, cuts, next_cut, samples = time.monotonic(), time.monotonic() + options.minutes * 60, 0, 30, []
    while time.monotonic() < ends and not run.court.faults:
        run.listen(time.monotonic() + 2)
        now = time.monotonic() - begin
        (resident, *counts), (allocated, used, held) = sample(run.gateway.process.pid), told(run.gateway)
        samples.append((now / 3600, allocated - held + used, *counts, resident))
        if len(samples) % 30 == 0:
            print(f"{now / 60:.1f} minutes: {churn.came} readers came, {cuts} cuts; {resident / 1024:.1f} MB, {allocated / 1024:.1f} of them allocated, rings {used / 1024:.1f} of {held / 1024:.1f} MB", flush=True)
        if now > next_cut:
            run.cutter.strike(cutter.Strike("now", run.dice.choice(("reset", "fin"))))
            cuts, next_cut = cuts + 1, next_cut + CUT_EVERY
    churn.ends = True
    churn.join()
    run.listen(time.monotonic() + 8)
    run.end()
    # Until then the allocator and the logs of the last minute come to what they need.
    settled = samples[len(samples) // 3 :]
    windows = [settled[place:place + WINDOW] for place in range(0, len(settled) - WINDOW + 1, WINDOW // 3)]
    growth, kept = (
        slope([(statistics.mean(point[0] for point in window), min(point[column] for point in window)) for window in windows]) for column in (1, 4))
    thirds = [settled[: len(settled) // 3], settled[-(len(settled) // 3) :]]
    mean = [[statistics.mean(point[column] for point in part) for column in (1, 2, 3, 4)] for part in thirds]
    print(f"{options.minutes} minutes, {churn.came} readers came and went, {cuts} cuts; allocated besides the rings' spare room {mean[0][0] / 1024:.1f} MB in the first third,", end=" ")
    print(f"{mean[1][0] / 1024:.1f} in the last, {growth / 1024:+.2f} MB an hour; resident {mean[0][3] / 1024:.1f} and {mean[1][3] / 1024:.1f} MB,", end=" ")
    print(f"{kept / 1024:+.2f} MB an hour; descriptors {mean[0][1]:.0f} and {mean[1][1]:.0f}, threads {mean[0][2]:.0f} and {mean[1][2]:.0f}")
    # In a few minutes the kernel gives and takes more than a run may leave behind.
    allowed = GROWTH + (mean[0][0] / 20 if options.minutes < 10 else 0)
    if growth * options.minutes / 60 > allowed:
        run.court.faults.append(f"memory grows by {growth / 1024:+.2f} MB an hour")
    if kept * options.minutes / 60 > KEPT + (mean[0][3] / 20 if options.minutes < 10 else 0):
        run.court.faults.append(f"memory grows by {kept / 1024:+.2f} MB an hour, as the kernel counts it")
    if mean[1][1] >= mean[0][1] + 20 or mean[1][2] > mean[0][2] + 1:
        run.court.faults.append("descriptors or threads grow")
    return run.verdict()
