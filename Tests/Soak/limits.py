"""Too little of something: descriptors, memory, disk, somebody who reads the log, a clock that can be trusted. Readers notice nothing of it."""

import collections
import contextlib
import copy
import fcntl
import http.client
import multiprocessing
import os
import queue
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

import cutter
import stage

MEMORY = "/sys/fs/cgroup/memory"


def main(options):
    good = True
    for case in (descriptors, memory, disk, log, clock, sleep):
        if options.case not in (None, case.__name__):
            continue
        print(f"--- {case.__doc__}", flush=True)
        good = case(copy.copy(options)) and good
    return good


def finish(run, *faults):
    """The verdict; that the gateway is no more comes before what readers say of it."""
    if run.court.faults:
        # One that is about to die has closed its sockets already.
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.gateway.process.wait(5)
    if (status := run.gateway.process.poll()) is not None:
        run.court.faults.insert(0, f"the gateway died ({status})")
    run.court.faults += [words for words in faults if words]
    run.end()
    return run.verdict()


def opened(run):
    run.require(60, run.all_valid, "the books did not come up")
    return run


def answers(port, path="/healthz"):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as probe:
            probe.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            return probe.recv(4096)[9:12].decode()
    except OSError:
        return "no answer"


def descriptors(options):
    """256 descriptors, more clients than that: readers go on, the venue is connected to anew, and there is room again at once"""
    run = opened(stage.Stage(options, wrap=["prlimit", "--nofile=256:256"]))
    crowd, full = [], ""
    for number in range(1000):
        # Who comes while others are being turned away is turned away too, so it is full only some time later.
        if number >= 400 and number % 20 == 0:
            run.listen(time.monotonic() + 0.5)
            full = answers(run.gateway.port, "/streams/btcusdt@bookTicker")
            if full != "200":
                break
        client = socket.create_connection(("127.0.0.1", run.gateway.port), timeout=5)
        client.sendall(b"GET /events?streams=btcusdt@bookTicker HTTP/1.1\r\nHost: localhost\r\n\r\n")
        crowd.append(client)
    run.cutter.strike(cutter.Strike("now", "reset"))
    run.listen(time.monotonic() + 1)
    run.require(20, run.all_valid, "the books did not come back while there were no descriptors")
    for client in crowd:
        client.close()
    begin = time.monotonic()
    while answers(run.gateway.port) != "200" and time.monotonic() < begin + 10:
        pass
    took = time.monotonic() - begin
    print(f"while full: status {full}; a new reader was accepted {took:.2f} s later")
    return finish(run, full != "503" and f"no room for a new reader: {full} instead of 503", took >= 1 and f"there was room again after {took:.2f} s")


def flood(address, symbols, seed, stop, answers):
    """600 readers who do not read, each replaced as soon as it is let go, and meanwhile one subscription after the other to streams picked at random."""
    dice = random.Random(seed)
    kinds = ["depth@100ms", "depth20@100ms", "bookTicker", "aggTrade", "markPrice@1s", "kline_1m", "ticker", "miniTicker"]
    names = [f"{symbol.lower()}@{kind}" for symbol in symbols for kind in kinds] + ["!ticker@arr", "!miniTicker@arr", "!bookTicker", "!markPrice@arr"]
    formats = ["/events?streams=", "/events?event=stream&streams=", "/events?gzip=true&streams="]

    def connect(count, number):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(5)
        try:
            client.connect(address)
            head = ["Accept: application/x-ndjson", "Accept-Encoding: gzip\r\nUser-Agent: Mozilla/5.0", "Accept: text/event-stream"][number % 7 % 3]
            path = formats[number % 3] + ",".join(dice.sample(names, count))
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode())
        except OSError:
            client.close()
            return None
        return client

    stopped, poll, number = {}, select.poll(), 0
    while not stop.is_set():
        number += 1
        if len(stopped) < 600 and (client := connect(40, number)):
            stopped[client.fileno()] = client
            poll.register(client, select.POLLRDHUP | select.POLLERR | select.POLLHUP)
        for descriptor, _ in poll.poll(0):
            poll.unregister(descriptor)
            stopped.pop(descriptor).close()
            answers.put("let go")
        if client := connect(20, number):
            try:
                text = client.recv(4096)
                while text.count(b"\n") < 12 and (more := client.recv(4096)):
                    text += more
                answers.put("turned away" if b"overloaded" in text else "admitted")
            except OSError:
                answers.put("no answer")
            client.close()
        time.sleep(0.01)
    for client in stopped.values():
        client.close()


def metrics(port, *names):
    with contextlib.suppress(OSError, http.client.HTTPException):
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
        found = dict(re.findall(r"(?m)^futures_gateway_(\w+) (\S+)", text))
        return [int(float(found.get(name, 0))) for name in names]
    return [0] * len(names)


def admits(port, stream):
    """Whether a new reader is let in and given a value."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/events?count=1&streams={stream}", timeout=5) as reply:
            return b"event: update" in (text := reply.read()) or b"event: fetch" in text
    except (OSError, http.client.HTTPException):
        return False


def memory(options):
    """256 MB of memory, a market of 150 symbols, 600 readers who do not read and a flood of subscriptions: they are let go, the gateway is not"""
    if not os.access(MEMORY, os.W_OK) or not os.path.exists(f"{MEMORY}/memory.limit_in_bytes") and not os.path.exists(f"{MEMORY}/memory.failcnt"):
        print("skipped: no memory cgroup can be made here")
        return True
    group = f"{MEMORY}/futures-gateway-soak-{os.getpid()}"
    os.makedirs(group, exist_ok=True)
    with open(f"{group}/memory.limit_in_bytes", "w") as limit:
        limit.write(str(options.megabytes << 20))
    run = opened(stage.Stage(options, market=150, wrap=["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$0" "$@"']))
    port, stop, reports = run.gateway.port, multiprocessing.Event(), multiprocessing.Queue()
    arguments = ("127.0.0.1", port), run.exchange.symbols(150), options.seed, stop, reports
    crowd = multiprocessing.Process(target=flood, args=arguments, daemon=True)
    crowd.start()
    answered, shown, ends = [], [], time.monotonic() + options.flood
    while time.monotonic() < ends and run.gateway.process.poll() is None and not run.court.faults:
        run.listen(time.monotonic() + 1)
        answered.append(answers(port, "/readyz"))
        shown.append(metrics(port, "memory_short", "event_ring_memory_bytes", "memory_used_bytes", "event_rings"))
    stop.set()
    counts = collections.Counter()
    while crowd.is_alive() or not reports.empty():
        with contextlib.suppress(queue.Empty):
            counts[reports.get(timeout=0.1)] += 1
    begin = time.monotonic()
    while not admits(port, run.streams[0]) and time.monotonic() < begin + 20:
        time.sleep(0.1)
    took = time.monotonic() - begin
    (relieved,) = metrics(port, "event_relieved_total")
    most, failed = (int(open(f"{group}/memory.{name}").read()) for name in ("max_usage_in_bytes", "failcnt"))
    killed = int(re.search(r"(?m)^oom_kill (\d+)", open(f"{group}/memory.oom_control").read())[1])
    short, logs, used, streams = (max(column) for column in zip(*shown))
    print(f"alive: {run.gateway.process.poll() is None}, killed {killed} times; at most {most >> 20} of {options.megabytes} MB, {used >> 20} without files; the limit was met {failed} times")
    print(f"short: {sum(row[0] for row in shown)} of {len(shown)} looks; {streams} logs took at most {logs >> 20} MB; {relieved} readers sent off for it")
    print(f"subscriptions: {dict(counts)}; /readyz: {dict(collections.Counter(answered))}; a new reader after {took:.2f} s", flush=True)
    held = finish(
        run, killed and f"{killed} processes were killed for their memory", took >= 5 and f"a new reader was let in after {took:.2f} s",
        set(answered) != {"200"} and f"/readyz answered {sorted(set(answered))}")
    os.rmdir(group)
    return held


def disk(options):
    """A log that goes to a full disk"""
    with open("/dev/full", "w") as full:
        run = opened(stage.Stage(options, gateway=["--log-level", "debug"], log=full))
        for _ in range(3):
            run.cutter.strike(cutter.Strike("now", "reset"))
            run.listen(time.monotonic() + 3)
    run.require(20, run.all_valid, "the books did not come back")
    return finish(run)


def log(options):
    """A log that nobody reads"""
    end, pipe = os.pipe()
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
    full = threading.Event()

    def read():
        while not full.is_set():
            if select.select([end], [], [], 0.1)[0]:
                os.read(end, 4096)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    lines = os.fdopen(pipe, "w")
    run = opened(stage.Stage(options, gateway=["--log-level", "trace"], log=lines))
    full.set()
    reader.join()
    # By a description of its own, since whoever waits for nothing would have the gateway wait for nothing too.
    filler = os.open(f"/proc/self/fd/{pipe}", os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while os.write(filler, b"\n"):
            pass
    for _ in range(5):
        run.cutter.strike(cutter.Strike("now", "reset"))
        run.listen(time.monotonic() + 3)
    told = lambda: all(totals[0] == 5 * len(run.streams) for totals in run.totals.values())
    run.require(20, lambda: told() and run.all_valid(), "the books did not come back")
    os.close(end)
    return finish(run)


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long jump(void) {
    char text[32] = {0};
    int file = open(getenv("CLOCK_JUMP"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    long size = read(file, text, 31);
    close(file);
    return size > 0 ? atol(text) : 0;
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    int isWall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (isWall || (clock == CLOCK_BOOTTIME && getenv("CLOCK_SLEEPS"))) time->tv_sec += jump();
    return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (now) *now = time.tv_sec;
    return time.tv_sec;
}
"""
"""Swift's runtime does not find the arguments of a program under libfaketime, so the wall clock is put forward and back by this. With `CLOCK_SLEEPS`
the clock that includes sleep moves with it, as after a sleep of the machine."""


class Jump:
    """The clock of one gateway. `to` sets how many seconds it is ahead; `wrap` starts the gateway with it."""

    def __init__(self, *environment):
        self.folder = tempfile.TemporaryDirectory()
        self.file = f"{self.folder.name}/jump"
        self.to(0)
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", f"{self.folder.name}/clock.so", "-xc", "-"], input=CLOCK, text=True, check=True)
        self.wrap = ["env", f"LD_PRELOAD={self.folder.name}/clock.so", f"CLOCK_JUMP={self.file}", *environment]

    def to(self, seconds):
        with open(self.file + ".new", "w") as file:
            file.write(str(seconds))
        os.rename(self.file + ".new", self.file)


def clock(options):
    """A wall clock that jumps by an hour to and fro"""
    if not shutil.which("gcc"):
        print("skipped: gcc is not installed")
        return True
    jump = Jump()
    run = opened(stage.Stage(options, wrap=jump.wrap))
    stream, ages, seen, dates, odd = run.streams[0], [], set(), set(), 0
    quiet = "btcusdt@markPrice"
    run.gateway.ask("GET", f"/streams/{quiet}")
    before = {reader: list(totals) for reader, totals in run.totals.items()}
    for number in range(20):
        jump.to([3600, -3600, 0, -10][number % 4])
        # Before the next update of what comes every three seconds.
        # A stream whose linger ended by the jump has no age, which is wrong too.
        quick = run.gateway.ask("GET", f"/streams/{quiet}/status")[1].get("ageMs")
        odd += quick is None or not 0 <= quick < 4000
        run.listen(time.monotonic() + 1)
        reply = subprocess.run(["curl", "-si", f"http://{run.gateway.host}:{run.gateway.port}/streams/{stream}"], capture_output=True, text=True).stdout
        ages.append(int(re.search(r"(?im)^x-feed-age-ms: (\d+)", reply)[1]))
        seen.add(re.search(r"(?im)^x-feed-state: (\w+)", reply)[1])
        dates.add(re.search(r"(?im)^date: .* (\d+):\d+:\d+", reply)[1])
    told = [now[:3] != before[reader][:3] for reader, now in run.totals.items() if reader in before]
    print(f"20 jumps: the hours in Date headers were {', '.join(sorted(dates))}; ages were {min(ages)} to {max(ages)} ms, states {', '.join(sorted(seen))}; {odd} wrong ages of a quiet stream immediately after a jump; {sum(told)} readers received an outage notice")
    return finish(
        run, any(told) and f"{sum(told)} readers received an outage notice", (odd or max(ages) >= 2000) and f"wrong ages: {odd} of a quiet stream, at most {max(ages)} ms",
        seen != {"live"} and f"the states were {seen}", len(dates) <= 2 and "the program's clock did not jump")


def sleep(options):
    """The machine sleeps for ten minutes, and the venue stops sending: ages include the sleep, and readers get a notice within 5 s"""
    if not shutil.which("gcc"):
        print("skipped: gcc is not installed")
        return True
    jump = Jump("CLOCK_SLEEPS=1")
    run = opened(stage.Stage(options, wrap=jump.wrap))
    status = lambda: run.gateway.ask("GET", f"/streams/{run.streams[0]}/status")[1]
    run.exchange.process.send_signal(signal.SIGSTOP)
    # The gateway first reads the messages that were sent before the sleep.
    run.listen(time.monotonic() + 0.5)
    jump.to(600)
    woken = status()
    told = run.listen(time.monotonic() + 5, lambda: not run.valid_at and status()["state"] != "live")
    run.exchange.process.send_signal(signal.SIGCONT)
    run.require(60, run.all_valid, "the books did not come back")
    ages = min(woken["ageMs"], woken["unverifiedMs"])
    print(f"after ten minutes of sleep, age and time unverified were at least {ages} ms; within 5 s {'all' if told else 'not all'} readers got a notice")
    return finish(run, not 600_000 <= ages < 610_000 and f"wrong ages: {woken}", not told and "readers got no notice of the sleep")
