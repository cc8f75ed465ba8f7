"""Slow clients by the thousand (slowhttptest, which is none of ours), beside readers whose every event is checked and probes that want an answer.

Each attack opens up to 800 sockets a second: where nothing ended them, they would soon take every connection the gateway may have. With
`--control` its deadlines are put so far off that they do. A short attack meets fewer connections and earlier deadlines in the same proportion.
"""

import http.client
import multiprocessing
import os
import shutil
import subprocess
import time

import stage


def probe(address, seconds, results):
    """Ten new connections a second; what each answer took, None where there was none."""
    begin, number = time.monotonic(), 0
    while (due := begin + number / 10) < begin + seconds:
        time.sleep(max(0, due - time.monotonic()))
        number += 1
        start = time.monotonic()
        try:
            connection = http.client.HTTPConnection(*address, timeout=5)
            connection.request("GET", "/healthz")
            good = connection.getresponse().status == 200
            connection.close()
        except OSError:
            good = False
        results.put(time.monotonic() - start if good else None)
    results.put("end")


def resident(pid):
    return int(open(f"/proc/{pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(options):
    tool = shutil.which("slowhttptest")
    if not tool:
        print("skipped: slowhttptest is not installed")
        return True
    connections, deadlines = min(9000, 250 * options.seconds), [min(usual, options.seconds // 4) for usual in (5, 10)]
    if options.control:
        deadlines = [3600, 3600]
    gateway = ["--max-connections", connections, "--header-deadline", deadlines[0], "--body-deadline", deadlines[1]]
    run = stage.Stage(options, gateway=gateway)
    run.require(60, run.all_valid, "the books did not come up")
    base = f"http://{run.gateway.host}:{run.gateway.port}"
    stream = run.streams[0]
    ways = {
        "slow heads": ["-H", "-c", "12000", "-i", "1", "-u", base + "/healthz"],
        "slow bodies": ["-B", "-c", "12000", "-i", "1", "-s", "4000", "-u", f"{base}/streams/{stream}/refetch"],
        "slow readers": ["-X", "-c", str(connections - 1000), "-w", "10", "-y", "20", "-n", "5", "-z", "8", "-k", "1", "-u", f"{base}/events?streams={stream}"],
    }
    faults = []
    for way, arguments in ways.items():
        if options.control and way == "slow readers":
            continue
        before = resident(run.gateway.process.pid)
        results = multiprocessing.Queue()
        multiprocessing.Process(target=probe, args=((run.gateway.host, run.gateway.port), options.seconds, results), daemon=True).start()
        ends, attacks, peak = time.monotonic() + options.seconds, [], 0
        while (left := ends - time.monotonic()) > 1:
            if not attacks or attacks[-1].poll() is not None:
                command = [tool, *arguments, "-r", "800", "-l", str(int(left)), "-p", "5"]
                attacks.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            run.listen(min(ends, time.monotonic() + 1))
            peak = max(peak, resident(run.gateway.process.pid))
        attacks[-1].terminate()
        attacks[-1].wait()
        times = list(iter(results.get, "end"))
        answered = sorted(took for took in times if took is not None)
        share = len(answered) / max(1, len(times))
        p99 = answered[int(0.99 * len(answered))] * 1000 if answered else float("inf")
        run.listen(time.monotonic() + 12)
        after = resident(run.gateway.process.pid)
        print(f"{way}: {len(attacks)} times {arguments[2]} sockets, availability {share:.1%} of {len(times)} probes, p99 {p99:.1f} ms;", end=" ")
        print(f"memory {before >> 20} MB, at most {peak >> 20}, {after >> 20} after; {len(run.court.faults)} faults of {options.readers} readers", flush=True)
        if share < 1:
            faults.append(f"{way}: availability {share:.1%} of {len(times)} probes")
        elif p99 >= options.p99:
            faults.append(f"{way}: p99 {p99:.1f} ms")
    run.end()
    run.court.faults[:0] = faults
    return run.verdict()
