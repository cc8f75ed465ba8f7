#!/usr/bin/env python3
"""Counts what N readers of one stream of the embedded exchange are sent: readers.py EXECUTABLE [N [SECONDS]]."""
import resource
import select
import signal
import socket
import subprocess
import sys
import time

executable = sys.argv[1]
count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 5
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

gateway = subprocess.Popen([executable, "serve", "--demo", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
try:
    port = int(gateway.stdout.readline().rsplit(":", 1)[1])
    poll = select.epoll()
    readers = {}
    for _ in range(count):
        reader = socket.create_connection(("127.0.0.1", port))
        reader.sendall(b"GET /events?streams=btcusdt@bookTicker HTTP/1.1\r\nHost: localhost\r\n\r\n")
        reader.setblocking(False)
        readers[reader.fileno()] = reader
        poll.register(reader, select.EPOLLIN)

    def drain(until):
        events = size = 0
        while (left := until - time.monotonic()) > 0:
            for fileno, _ in poll.poll(left):
                data = readers[fileno].recv(1 << 20)
                events += data.count(b"event: update")
                size += len(data)
        return events, size

    def cpu():
        with open(f"/proc/{gateway.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    drain(time.monotonic() + 1)
    before = cpu()
    events, size = drain(time.monotonic() + seconds)
    used = cpu() - before
    with open(f"/proc/{gateway.pid}/statm") as statm:
        resident = int(statm.read().split()[1]) * 4
    print(f"{count} readers, {events / seconds:,.0f} deliveries/s, {size / seconds / 1e6:.1f} MB/s, "
          f"{used / seconds:.2f} cores, {resident / count:.1f} KiB resident per reader (the whole process)")
finally:
    gateway.send_signal(signal.SIGTERM)
    gateway.wait(timeout=15)
