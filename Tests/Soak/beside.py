"""A thousand readers of what is live, while others are played the tape: their events come no later."""

import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

import crowd
import house
import paced
import verdict

KINDS = ("depth@100ms", "bookTicker", "aggTrade", "trade")


def recorded(options, directory):
    """Fills a tape with one busy symbol; from when to when, ms, and of which streams."""
    venue = house.Exchange(options.executable, "--book-updates", 1000, "--depth-interval", 5)
    streams = [f"btcusdt@{kind}" for kind in KINDS]
    gateway = house.Gateway(options.executable, venue, "--tape-directory", directory, "--pinned", ",".join(streams))
    time.sleep(3)
    begin = int(time.time() * 1000)
    time.sleep(options.tape)
    end = int(time.time() * 1000)
    time.sleep(2)
    gateway.end()
    venue.end()
    return f"streams={','.join(streams)}&from={begin}&to={end}"


class Replays:
    """So many readers who are played the whole tape again and again, each as fast as it is sent."""

    def __init__(self, gateway, count, query):
        self.address = f"http://127.0.0.1:{gateway.port}/events?{query}"
        self.ends, self.played, self.bytes = False, 0, 0
        self.threads = [threading.Thread(target=self.play) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def play(self):
        while not self.ends:
            done = subprocess.run(["chrt", "--idle", "0", "curl", "-sN", "-m", "60", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", self.address], capture_output=True, text=True)
            status, size = done.stdout.split()
            if status != "200":
                time.sleep(0.2)
                continue
            self.played, self.bytes = self.played + 1, self.bytes + int(size)

    def end(self):
        self.ends = True
        for thread in self.threads:
            thread.join()


def main(options):
    if not (tool := crowd.tool()):
        return verdict.tell(["the benchmarks' reader does not build"])
    directory = tempfile.mkdtemp(prefix="tape-", dir="/dev/shm")
    query = recorded(options, directory)
    venue = paced.Venue(options.rate, None)
    gateway = house.Gateway(options.executable, venue, "--tape-directory", directory, log=options.log)
    figures, faults, played = {False: [], True: []}, [], []
    for round in range(options.rounds):
        for beside in (False, True) if round % 2 == 0 else (True, False):
            replays = Replays(gateway, options.replays, query) if beside else None
            seen = crowd.measured(tool, gateway, options.readers, options.seconds)
            if replays:
                replays.end()
                played.append((replays.played, replays.bytes))
            if isinstance(seen, str):
                return verdict.tell([seen])
            faults += [f"{seen[name]} {name}" for name in ("missing", "repeated", "disordered", "ended") if seen[name]]
            figures[beside].append(seen["p99Ms"])
            print(f"round {round + 1}, {options.replays if beside else 0} replays: p50 {seen['p50Ms']} ms, p99 {seen['p99Ms']} ms", flush=True)
    gateway.end()
    venue.end()
    lines = subprocess.run([options.executable, "tape", "verify", directory], capture_output=True, text=True).stdout
    shutil.rmtree(directory, ignore_errors=True)
    alone, beside = (statistics.median(figures[kind]) for kind in (False, True))
    print(f"{options.readers} readers at {options.rate} events/s: p99 {alone:.2f} ms alone, {beside:.2f} ms beside {options.replays} replays: {beside / alone:.2f} x "
          f"(medians of {options.rounds}); the tape was played {sum(count for count, _ in played)} times, {sum(size for _, size in played) >> 20} MiB; "
          f"it has {re.search(r'([0-9]+) records', lines)[1]} records")
    if beside > options.ratio * alone:
        faults.append(f"the p99 of what is live is {beside / alone:.2f} x beside replays")
    if not all(count for count, _ in played):
        faults.append("nothing was played")
    return verdict.tell(faults)
