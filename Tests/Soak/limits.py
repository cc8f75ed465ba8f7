"""Too little of something: descriptors, memory, disk, somebody who reads the log, a clock that can be trusted. Readers notice nothing of it."""

import copy
import fcntl
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

import cutter
import stage

MEMORY = "/sys/fs/cgroup/memory"


def main(options):
    good = True
    for case in (descriptors, memory, disk, log, clock):
        if options.case not in (None, case.__name__):
            continue
        print(f"--- {case.__doc__}", flush=True)
        good = case(copy.copy(options)) and good
    return good


def finish(run, held=True):
    if not held:
        run.court.faults.append("what is said above is not as it should be")
    run.end()
    return run.verdict()


def opened(run, **wishes):
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
    """256 descriptors, 400 clients: readers go on, the venue is connected to anew, and there is room again at once"""
    run = opened(stage.Stage(options, wrap=["prlimit", "--nofile=256:256"]))
    crowd = []
    for _ in range(400):
        client = socket.create_connection(("127.0.0.1", run.gateway.port), timeout=5)
        client.sendall(b"GET /events?streams=btcusdt@bookTicker HTTP/1.1\r\nHost: localhost\r\n\r\n")
        crowd.append(client)
    run.listen(time.monotonic() + 3)
    full = answers(run.gateway.port, "/streams/btcusdt@bookTicker")
    run.cutter.strike(cutter.Strike("now", "reset"))
    run.listen(time.monotonic() + 1)
    recovered = run.require(20, run.all_valid, "the books did not come back while there were no descriptors")
    for client in crowd:
        client.close()
    begin = time.monotonic()
    while answers(run.gateway.port) != "200" and time.monotonic() < begin + 10:
        pass
    took = time.monotonic() - begin
    print(f"while full: {full}; books back: {recovered}; room again after {took:.2f} s")
    return finish(run, recovered and took < 1 and full == "503")


def memory(options):
    """256 MB of memory, 600 readers of everything who do not read: they are let go, the gateway is not"""
    if not os.access(MEMORY, os.W_OK) or not os.path.exists(f"{MEMORY}/memory.limit_in_bytes") and not os.path.exists(f"{MEMORY}/memory.failcnt"):
        print("skipped: no memory cgroup can be made here")
        return True
    group = f"{MEMORY}/futures-gateway-soak"
    os.makedirs(group, exist_ok=True)
    with open(f"{group}/memory.limit_in_bytes", "w") as limit:
        limit.write(str(256 << 20))
    run = opened(stage.Stage(options, wrap=["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$0" "$@"']))
    names = [entry["name"] for entry in run.gateway.ask("GET", "/streams")[1].get("streams", []) if isinstance(entry, dict) and "name" in entry][:150]
    names = [name for name in names if re.fullmatch(r"[!@a-z0-9_]+", name)] or ["!ticker@arr", "!miniTicker@arr", "btcusdt@depth@100ms"]
    crowd = []
    for number in range(600):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", run.gateway.port))
        client.sendall(f"GET /events?streams={','.join(names[number % 3::3][:40])} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        crowd.append(client)
    run.listen(time.monotonic() + 45)
    most = int(open(f"{group}/memory.max_usage_in_bytes").read()) >> 20
    alive = run.gateway.process.poll() is None
    for client in crowd:
        client.close()
    print(f"alive: {alive}; at most {most} MB with what the kernel counts to it")
    held = finish(run, alive)
    os.rmdir(group)
    return held


def disk(options):
    """A log that goes to a full disk"""
    with open("/dev/full", "w") as full:
        run = opened(stage.Stage(options, gateway=["--log-level", "debug"], log=full))
        for _ in range(3):
            run.cutter.strike(cutter.Strike("now", "reset"))
            run.listen(time.monotonic() + 3)
    return finish(run, run.require(20, run.all_valid, "the books did not come back"))


def log(options):
    """A log that nobody reads"""
    end, pipe = os.pipe()
    # Full from the first line on.
    os.write(pipe, bytes(fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)))
    run = opened(stage.Stage(options, gateway=["--log-level", "trace"], log=os.fdopen(pipe, "w")))
    for _ in range(5):
        run.cutter.strike(cutter.Strike("now", "reset"))
        run.listen(time.monotonic() + 3)
    back = run.require(20, run.all_valid, "the books did not come back")
    os.close(end)
    return finish(run, back)


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
    if (clock == CLOCK_REALTIME) time->tv_sec += jump();
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
"""Swift's runtime does not find the arguments of a program under libfaketime, so the wall clock is put forward and back by this."""


def clock(options):
    """A wall clock that jumps by an hour to and fro"""
    if not shutil.which("gcc"):
        print("skipped: gcc is not installed")
        return True
    folder = tempfile.TemporaryDirectory()
    jump = f"{folder.name}/jump"

    def set_clock(seconds):
        with open(jump + ".new", "w") as file:
            file.write(str(seconds))
        os.rename(jump + ".new", jump)

    set_clock(0)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", f"{folder.name}/clock.so", "-xc", "-"], input=CLOCK, text=True, check=True)
    run = opened(stage.Stage(options, wrap=["env", f"LD_PRELOAD={folder.name}/clock.so", f"CLOCK_JUMP={jump}"]))
    stream, ages, seen, dates, odd = run.streams[0], [], set(), set(), 0
    quiet = "btcusdt@markPrice"
    run.gateway.ask("GET", f"/streams/{quiet}")
    before = {reader: list(totals) for reader, totals in run.totals.items()}
    for number in range(20):
        set_clock([3600, -3600, 0, -10][number % 4])
        # Before the next update of what comes every three seconds.
        quick = run.gateway.ask("GET", f"/streams/{quiet}/status")[1]["ageMs"]
        odd += not 0 <= quick < 4000
        run.listen(time.monotonic() + 1)
        reply = subprocess.run(["curl", "-si", f"http://{run.gateway.host}:{run.gateway.port}/streams/{stream}"], capture_output=True, text=True).stdout
        ages.append(int(re.search(r"(?im)^x-feed-age-ms: (\d+)", reply)[1]))
        seen.add(re.search(r"(?im)^x-feed-state: (\w+)", reply)[1])
        dates.add(re.search(r"(?im)^date: .* (\d+):\d+:\d+", reply)[1])
    told = [now[:3] != before[reader][:3] for reader, now in run.totals.items() if reader in before]
    print(f"20 jumps: the program's hours were {sorted(dates)}; ages of {min(ages)} to {max(ages)} ms, states {seen}; {odd} ages of a quiet stream right after a jump were wrong; {sum(told)} readers were told of an outage")
    return finish(run, len(dates) > 2 and max(ages) < 2000 and seen == {"live"} and not odd and not any(told))
