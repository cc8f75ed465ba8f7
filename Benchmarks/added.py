#!/usr/bin/env python3
"""What the gateway adds to a frame's way: added.py GATEWAY_PORT VENUE_PORT [SECONDS].

One process reads the venue's WebSocket and the gateway's events of the same stream and tells how much later each event came by the second. The
venue is one that counts its mark prices in the next funding time, as the fan-out comparison's does.
"""
import base64
import os
import re
import select
import socket
import sys
import time

gateway, venue = int(sys.argv[1]), int(sys.argv[2])
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 5

direct = socket.create_connection(("127.0.0.1", venue))
key = base64.b64encode(os.urandom(16)).decode()
direct.sendall(
    f"GET /stream?streams=btcusdt@markPrice HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
)
events = socket.create_connection(("127.0.0.1", gateway))
events.sendall(b"GET /events?streams=btcusdt@markPrice HTTP/1.1\r\nHost: localhost\r\n\r\n")
for connection in (direct, events):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
poll = select.epoll()
poll.register(direct, select.EPOLLIN)
poll.register(events, select.EPOLLIN)
patterns = {direct.fileno(): re.compile(rb'"T":(\d+)\}'), events.fileno(): re.compile(rb'"nextFundingTime":(\d+)')}
rest = {direct.fileno(): b"", events.fileno(): b""}
arrivals = {direct.fileno(): {}, events.fileno(): {}}
end = time.monotonic() + seconds
while time.monotonic() < end:
    for fileno, _ in poll.poll(0.1):
        data = os.read(fileno, 1 << 16)
        now = time.monotonic_ns()
        text = rest[fileno] + data
        last = 0
        for found in patterns[fileno].finditer(text):
            arrivals[fileno].setdefault(int(found[1]), now)
            last = found.end()
        rest[fileno] = text[last:][-400:]
first, second = arrivals[direct.fileno()], arrivals[events.fileno()]
added = sorted((second[number] - first[number]) / 1000 for number in first.keys() & second.keys() if number > 0)
print(f"{len(added)} events: added p50 {added[len(added) // 2]:.0f} µs, p99 {added[len(added) * 99 // 100]:.0f} µs")
