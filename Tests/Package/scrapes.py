#!/usr/bin/env python3
"""scrapes.py record EXECUTABLE FILE STREAMS [MINUTES]: reads streams of a demo gateway, and keeps what Prometheus would scrape of it every 15 s.

`tests` makes promtool's tests of the scrapes: a healthy gateway for which no rule may fire.
"""

import gzip
import json
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

EVERY = 15
TARGET = 'instance="a",job="futures-gateway",environment="demo"'


def record(executable, file, streams, minutes):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    gateway = subprocess.Popen([executable, "serve", "--demo", "--port", str(port)], stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                events = urllib.request.urlopen(f"http://127.0.0.1:{port}/events?streams={streams}", timeout=60)
                break
            except OSError:
                time.sleep(0.1)
        threading.Thread(target=lambda: [None for _ in events], daemon=True).start()
        scrapes, began = [], time.monotonic()
        for number in range(minutes * 60 // EVERY + 1):
            time.sleep(max(0, began + number * EVERY - time.monotonic()))
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                text = answer.read().decode()
            scrapes.append("\n".join(line for line in text.splitlines() if not line.startswith("#")))
        Path(file).write_bytes(gzip.compress("\n\n".join(scrapes).encode(), mtime=0))
    finally:
        gateway.terminate()
        gateway.wait()


def series(file):
    """The values of each series, one for each scrape, None where it is missing; each as of the target `a`."""
    scrapes = gzip.decompress(Path(file).read_bytes()).decode().split("\n\n")
    found = {f"up{{{TARGET}}}": ["1"] * len(scrapes)}
    for number, scrape in enumerate(scrapes):
        for line in scrape.splitlines():
            name, _, value = line.rpartition(" ")
            metric, labels = re.fullmatch(r"([^{]+)(?:\{(.*)\})?", name).groups()
            full = f"{metric}{{{','.join(part for part in (labels, TARGET) if part)}}}"
            found.setdefault(full, [None] * len(scrapes))[number] = value
    return found


def tests(rules, file, asked=None):
    """What `promtool test rules` takes: none of the rules fires at any minute. JSON is YAML."""
    text = Path(rules).read_text()
    known = series(file)
    names = set(re.findall(r"\b(?:futures_gateway|process)_[a-z_]+|\bup\b", text))
    length = len(next(iter(known.values())))
    moments = [f"{minute}m" for minute in range(1, (length - 1) * EVERY // 60 + 1)]
    return json.dumps({
        "rule_files": [str(rules)], "evaluation_interval": f"{EVERY}s",
        "tests": [{
            "name": "a healthy gateway", "interval": f"{EVERY}s",
            "input_series": [{"series": name, "values": " ".join("_" if one is None else one for one in values)}
                             for name, values in known.items() if name.split("{")[0] in names],
            "alert_rule_test": [{"eval_time": moment, "alertname": alert} for alert in asked or re.findall(r"- alert: (\w+)", text) for moment in moments]}]})


if __name__ == "__main__":
    record(*sys.argv[2:5], int(sys.argv[5]) if len(sys.argv) > 5 else 6)
