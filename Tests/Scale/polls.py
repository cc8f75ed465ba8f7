"""Polls every node of a cluster, and holds each live snapshot against the venue's own WebSocket: `polls.py RATE VENUE_PORT NODE_PORT …`, until its input ends.

A snapshot that says `live` and `unverifiedMs` u says that nothing newer had come u ms ago. So it is wrong if the venue sent a newer message more than
u + 250 ms before the snapshot was asked for. It runs as a process of its own, because the clock of a busy process is late.
"""

import bisect
import collections
import http.client
import json
import re
import socket
import sys
import threading
import time

STREAMS = {"btcusdt@depth@100ms": rb'"lastUpdateId":(\d+)', "btcusdt@bookTicker": rb'"updateId":(\d+)', "btcusdt@aggTrade": rb'"id":(\d+)'}
FRAME = re.compile(rb'"stream":"([^"]+)","data":\{[^{}]*?"(?:u|a)":(\d+)')
SLACK = 0.25
"""Seconds by which the venue's message may come later to the gateway than to this process."""


class Truth:
    """When each message of the venue came, by its number."""

    def __init__(self, port):
        self.port, self.numbers, self.times = port, collections.defaultdict(list), collections.defaultdict(list)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            with socket.create_connection(("127.0.0.1", self.port)) as link:
                link.sendall((
                    f"GET /stream?streams={'/'.join(STREAMS)} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
                rest = b""
                while data := link.recv(1 << 18):
                    at, rest, end = time.monotonic(), rest + data, 0
                    for found in FRAME.finditer(rest):
                        stream, number, end = found[1].decode(), int(found[2]), found.end()
                        if not self.numbers[stream] or number > self.numbers[stream][-1]:
                            self.times[stream].append(at)
                            self.numbers[stream].append(number)
                    rest = rest[max(end, len(rest) - 1000):]

    def newer(self, stream, number):
        """When the first message came that is newer; None if none is known."""
        place = bisect.bisect_right(self.numbers[stream], number)
        return self.times[stream][place] if place < len(self.times[stream]) else None


def poll(port, rate, ended, results):
    """Polls one node; over a new connection after each failure."""
    link, polls = None, 0
    while not ended.is_set():
        stream = list(STREAMS)[polls % len(STREAMS)]
        polls += 1
        began = time.monotonic()
        try:
            link = link or http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            link.request("GET", f"/streams/{stream}?wait=0")
            answer = link.getresponse()
            body = answer.read()
            results.append((port, stream, began, answer.status, body if answer.status == 200 else b""))
        except (OSError, http.client.HTTPException):
            link = None
        time.sleep(max(0, began + 1 / rate - time.monotonic()))


def judge(truth, port, stream, began, body):
    """(whether it says live, unverifiedMs, what is wrong)"""
    state, unverified = re.search(rb'"state":"(\w+)"', body), re.search(rb'"unverifiedMs":(\d+)', body)
    numbers = re.findall(STREAMS[stream], body)
    if not state or state[1] != b"live" or not numbers:
        return False, 0, None
    unverified, newer = int(unverified[1]) if unverified else 0, truth.newer(stream, max(map(int, numbers)))
    late = began - unverified / 1000 - newer if newer else 0
    return True, unverified, f"{port}: {stream} was live and {unverified} ms unverified {late * 1000:.0f} ms too late" if late > SLACK else None


def main(rate, venue, *ports):
    truth, results, ended = Truth(int(venue)), collections.deque(), threading.Event()
    pollers = [threading.Thread(target=poll, args=(int(port), float(rate), ended, results)) for port in ports]
    for poller in [*pollers, threading.Thread(target=lambda: (sys.stdin.read(), ended.set()))]:
        poller.start()
    counts, oldest, wrong = collections.Counter(), 0, []
    while results or any(poller.is_alive() for poller in pollers):
        # A newer message may be read after the answer, so an answer is judged a second later.
        if not results or time.monotonic() < results[0][2] + 1:
            time.sleep(0.05)
            continue
        port, stream, began, status, body = results.popleft()
        counts[status] += 1
        if status == 200:
            live, unverified, fault = judge(truth, port, stream, began, body)
            counts["live"] += live
            oldest = max(oldest, unverified)
            wrong += [fault] if fault else []
    print(json.dumps({"polls": {str(name): count for name, count in counts.items()}, "oldest": oldest, "known": sum(map(len, truth.numbers.values())), "wrong": len(wrong), "samples": wrong[:10]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
