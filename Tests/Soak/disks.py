"""A disk under the tape that is full, read-only or slow: the tape is told to stand still, and the feed goes on as if nothing were.

Needs root: each disk is a small file system in memory, and `strace` makes the slow one wait.
"""

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import house
import lists

TOLD = "nothing is recorded"
DELAY = 5
"""Seconds that a write to the slow disk waits."""
HEALTHY = 20
"""Writes to the slow disk before the first that waits."""


class Disk:
    """A file system of a few megabytes."""

    def __init__(self, megabytes):
        self.path = tempfile.mkdtemp(prefix="disk-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", self.path], check=True)

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", self.path], check=True)

    def fill(self):
        with open(f"{self.path}/filler", "wb", buffering=0) as file:
            try:
                while file.write(bytes(1 << 16)):
                    pass
            except OSError:
                pass

    def empty(self):
        os.unlink(f"{self.path}/filler")

    def end(self):
        subprocess.run(["umount", "-l", self.path], check=False)
        os.rmdir(self.path)


class Run:
    """A gateway that records to a disk, and a reader who notes how late each event comes."""

    def __init__(self, options, disk, wrap=()):
        self.venue = house.Exchange(options.executable, "--book-updates", options.rate, "--depth-interval", options.interval)
        streams = [f"{symbol.lower()}@{kind}" for symbol in self.venue.symbols(options.symbols) for kind in ("depth@100ms", "bookTicker")]
        self.gateway = house.Gateway(
            options.executable, self.venue, "--tape-directory", disk.path, "--pinned", ",".join(streams), log=options.log, wrap=wrap)
        self.is_wrapped = bool(wrap)
        self.marks, self.stop = multiprocessing.Queue(), multiprocessing.Event()
        self.reader = multiprocessing.Process(target=lists.delays, args=("127.0.0.1", self.gateway.port, streams, self.marks, self.stop), daemon=True)
        self.reader.start()
        time.sleep(5)

    def metric(self, name):
        _, text = self.gateway.ask("GET", "/metrics")
        found = re.search(rf"^futures_gateway_tape_{name} (\S+)", text, re.M)
        return float(found[1]) if found else 0.0

    def told(self):
        status, text = self.gateway.ask("GET", "/readyz")
        return status == 200 and TOLD in str(text)

    def wait(self, condition, seconds=30):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if condition():
                return True
            time.sleep(0.1)
        return False

    def end(self):
        self.stop.set()
        seen = self.marks.get(timeout=10)
        self.reader.join(timeout=5)
        # What strace runs goes on if strace itself is ended.
        process = self.gateway.process.pid
        with open(f"/proc/{process}/task/{process}/children") as file:
            children = file.read().split()
        os.kill(int(children[0]) if self.is_wrapped and children else process, signal.SIGTERM)
        self.gateway.process.wait(timeout=30)
        self.venue.end()
        return seen


def span(seconds):
    """Lets time pass; from when to when, ms."""
    begin = time.time() * 1000
    time.sleep(seconds)
    return begin, time.time() * 1000


def judge(what, seen, calm, ill, growth, faults):
    (before, few), (during, many) = lists.p99(seen, calm), lists.p99(seen, ill)
    print(f"a disk that is {what}: p99 of events {before:.1f} ms while it is well ({few}), {during:.1f} ms while it is not ({many})", flush=True)
    if during - before >= growth or min(few, many) < 100:
        faults.append(f"a disk that is {what} delays events: p99 {before:.1f} -> {during:.1f} ms")


def full(options, faults):
    disk = Disk(64)
    run = Run(options, disk)
    calm = span(options.seconds)
    disk.fill()
    if not run.wait(run.told):
        faults.append("a full disk is not told")
    ill = span(options.seconds)
    disk.empty()
    if not run.wait(lambda: run.metric("recording") == 1):
        faults.append("nothing is recorded though the disk has room again")
    missed = run.metric("missed_records_total")
    judge("full", run.end(), calm, ill, options.growth, faults)
    gaps = subprocess.run(["grep", "-c", '"full"', f"{disk.path}/gaps.ndjson"], capture_output=True, text=True).stdout.strip()
    print(f"{missed:.0f} records are missing, in {gaps} gaps", flush=True)
    if missed == 0 or gaps in ("", "0"):
        faults.append("what a full disk missed is not told")
    disk.end()


def read_only(options, faults):
    disk = Disk(64)
    disk.remount("ro")
    run = Run(options, disk)
    if not run.wait(run.told):
        faults.append("a read-only disk is not told")
    ill = span(options.seconds)
    disk.remount("rw")
    if not run.wait(lambda: run.metric("recording") == 1):
        faults.append("nothing is recorded though the disk can be written again")
    calm = span(options.seconds)
    judge("read-only", run.end(), calm, ill, options.growth, faults)
    disk.end()


def slow(options, faults):
    disk = Disk(64)
    delay = f"fdatasync:delay_enter={DELAY * 1_000_000}:when={HEALTHY}+"
    run = Run(options, disk, wrap=("strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", f"inject={delay}"))
    calm = span(max(1, HEALTHY * 0.9 - 8))
    if not run.wait(lambda: time.time() - run.metric("synced_timestamp_seconds") > DELAY - 2):
        faults.append("a slow disk is not told")
    ill = span(options.seconds)
    missed = run.metric("missed_records_total")
    judge(f"slow by {DELAY} s a write", run.end(), calm, ill, options.growth, faults)
    told = subprocess.run([options.executable, "tape", "verify", disk.path], capture_output=True, text=True)
    print(f"{missed:.0f} records are missing; {told.stdout.strip().splitlines()[-1]}", flush=True)
    if missed or told.returncode:
        faults.append(f"a slow disk costs records: {missed:.0f}, {told.stdout}")
    disk.end()


def main(options):
    if os.geteuid() or not shutil.which("strace"):
        print("skipped: mounting a disk needs root, and slowing it down needs strace")
        return True
    faults = []
    for disk in (full, read_only, slow):
        disk(options, faults)
    for fault in faults:
        print("FAULT", fault)
    print("passed" if not faults else f"FAILED with {len(faults)} faults", flush=True)
    return not faults
