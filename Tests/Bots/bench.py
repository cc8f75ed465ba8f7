"""Requests a second on one core, 64 kept connections, beside nginx serving the same bytes from a file. Needs h2load (nghttp2-client) and nginx."""

import os
import pathlib
import re
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

import stand

import machine

WANTED = {"depth?symbol=BTCUSDT&limit=5": 100_000, "klines?symbol=BTCUSDT&interval=1m&limit=499": 25_000}
"""Requests a second that are promised."""
P99 = 2.0
"""Milliseconds, at the promised rate."""
BUSY = 0.25
"""The share of the machine that others may use; if it is more, only the comparison with nginx counts."""
OF_NGINX = 0.6
CONNECTIONS = 64
NGINX = """worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_rlimit_nofile 4096;
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; tcp_nodelay on; open_file_cache max=16; keepalive_requests 1000000000; default_type application/json;
client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
server {{ listen 127.0.0.1:{port} backlog=1024; root {folder}; }} }}
"""


def pinned(core):
    """The command that keeps a program on a core; nothing where there is only one."""
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cores[core])] if len(cores) > 1 and shutil.which("taskset") else []


def h2load(url, *options):
    command = [*pinned(1), "h2load", "--h1", "-t1", f"-c{CONNECTIONS}", *map(str, options), url]
    return subprocess.run(command, capture_output=True, text=True, timeout=300).stdout


def rate(url, seconds):
    """Requests a second, and how many were not answered 200."""
    text = h2load(url, "-D", round(seconds), "--warm-up-time", 1)
    done = re.search(r"finished in .*?, ([\d.]+) req/s", text)
    bad = re.search(r"status codes: \d+ 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text)
    return float(done[1]) if done else 0.0, sum(map(int, bad.groups())) if bad else -1


def late(url, wanted, folder):
    """(p50, p99) in milliseconds at a rate that is given."""
    log = folder / "times"
    log.unlink(missing_ok=True)
    h2load(url, "-n", 4 * wanted, "--rps", wanted / CONNECTIONS, f"--log-file={log}")
    times = sorted(int(line.split()[2]) for line in log.read_text().splitlines())
    # What is before is the opening of connections.
    return tuple(times[int(len(times) * share)] / 1000 for share in (0.5, 0.99)) if times else (0.0, 1e9)


class Load:
    """Processor time since it was made: the share of the machine that others used."""

    def __init__(self):
        self.begin = self.read()

    def others(self):
        whole, busy, own = (after - before for after, before in zip(self.read(), self.begin))
        return max(0.0, (busy - own) / max(1, whole))

    def read(self):
        """The machine's time, what was used of it, and what this program, its processes and those that have ended used."""
        with open("/proc/stat") as file:
            times = [int(part) / os.sysconf("SC_CLK_TCK") for part in file.readline().split()[1:9]]
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        alive = sum(machine.processor_time(process) for process in machine.descendants(os.getpid()))
        return sum(times), sum(times) - times[3] - times[4], alive + ended.ru_utime + ended.ru_stime


def nginx(folder, port):
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    # As root nginx would serve as somebody who may not read the folder.
    who = ["-g", "user root;"] if os.getuid() == 0 else []
    return subprocess.Popen([*pinned(0), "nginx", "-c", folder / "nginx.conf", "-p", folder, *who], stderr=subprocess.DEVNULL)


def free():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def main(options):
    missing = [tool for tool in ("h2load", "nginx") if not shutil.which(tool)]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed (nghttp2-client, nginx)")
        return True
    print(f"seed {options.seed}; load average {os.getloadavg()[0]:.1f}", flush=True)
    faults = []
    venue = stand.Venue(options.executable, options.symbols)
    gateway = stand.Mirror(options.executable, venue, log=options.log, wrap=pinned(0))
    with tempfile.TemporaryDirectory(prefix="bots-") as name:
        folder = pathlib.Path(name)
        port, line = free(), gateway.line()
        server = nginx(folder, port)
        try:
            for target, wanted in WANTED.items():
                url, file = f"http://{gateway.host}:{gateway.port}/fapi/v1/{target}", folder / target.split("?")[0]
                line.ask("/fapi/v1/" + target)
                time.sleep(2)
                reply = line.ask("/fapi/v1/" + target)
                if reply.status != 200:
                    faults.append(f"{target} is answered {reply.status} {reply.body[:160]!r}")
                    continue
                file.write_bytes(reply.body)
                beside = f"http://127.0.0.1:{port}/{file.name}"
                rounds, bad, load = [], 0, Load()
                for _ in range(options.rounds):
                    ours, errors = rate(url, options.seconds)
                    bad += errors
                    rounds.append((ours, rate(beside, options.seconds)[0]))
                p50, p99 = late(url, wanted, folder)
                _, theirs = late(beside, wanted, folder)
                others = load.others()
                best, ratio = max(ours for ours, _ in rounds), statistics.median(ours / max(1, other) for ours, other in rounds)
                beat = f"nginx {max(other for _, other in rounds):,.0f}; median of the {options.rounds} rounds' ratios {ratio:.2f}"
                slow = f"at {wanted:,}/s p50 {p50:.2f} ms, p99 {p99:.2f} ms (nginx {theirs:.2f})"
                print(f"{file.name}, {len(reply.body)} bytes: {best:,.0f} requests/s ({beat}); {slow}; others used {others:.0%}", flush=True)
                if bad:
                    faults.append(f"{target}: {bad} answers were not 200")
                if ratio < OF_NGINX:
                    faults.append(f"{target}: {ratio:.2f} of nginx")
                if others > BUSY:
                    print(f"others were too busy to tell whether {target} reaches {wanted:,}/s: measure on a quiet machine", flush=True)
                    continue
                if best < wanted:
                    faults.append(f"{target}: {best:,.0f} requests/s for {wanted:,}")
                if p99 > P99:
                    faults.append(f"{target}: p99 {p99:.2f} ms at {wanted:,}/s")
        finally:
            server.terminate()
            server.wait(10)
    gateway.end()
    venue.end()
    return stand.tell(faults)
