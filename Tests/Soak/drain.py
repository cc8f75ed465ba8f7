"""Thousands of readers when the gateway stops: each is told, whole, and not all at once. `--control` kills it instead."""

import selectors
import signal
import socket
import statistics
import threading
import time

import house
import verdict

STREAM = "btcusdt@bookTicker"


class Probe(threading.Thread):
    """When `/readyz` said no for the first time."""

    def __init__(self, gateway):
        super().__init__(daemon=True)
        self.gateway, self.refused_at = gateway, None

    def run(self):
        while self.refused_at is None:
            try:
                with socket.create_connection((self.gateway.host, self.gateway.port), timeout=2) as probe:
                    probe.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    if probe.recv(64)[9:12] != b"200":
                        self.refused_at = time.monotonic()
            except OSError:
                self.refused_at = time.monotonic()
            time.sleep(0.02)


def main(options):
    venue = house.Exchange(options.executable)
    gateway = house.Gateway(options.executable, venue, log=options.log)
    poll, tails = selectors.DefaultSelector(), {}
    for _ in range(options.readers):
        reader = socket.create_connection((gateway.host, gateway.port))
        reader.sendall(f"GET /events?streams={STREAM}&maxRate=2 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        reader.setblocking(False)
        poll.register(reader, selectors.EVENT_READ)
        tails[reader] = b""
    ends, byes, whole, retries = {}, {}, 0, set()

    def read(until):
        while time.monotonic() < until and len(ends) < options.readers:
            for key, _ in poll.select(0.05):
                reader = key.fileobj
                try:
                    data = reader.recv(1 << 16)
                except OSError:
                    data = b""
                if not data:
                    poll.unregister(reader)
                    ends[reader] = time.monotonic()
                else:
                    tails[reader] = (tails[reader] + data)[-600:]
                    if b"event: bye" in tails[reader]:
                        byes.setdefault(reader, time.monotonic())

    read(time.monotonic() + 4)
    probe = Probe(gateway)
    probe.start()
    time.sleep(0.2)
    begin = time.monotonic()
    gateway.signal(signal.SIGKILL if options.control else signal.SIGTERM)
    read(begin + 20)
    status = gateway.process.wait(timeout=20)
    took = time.monotonic() - begin
    for tail in tails.values():
        event = tail.rpartition(b"event: bye")[2]
        if b'"draining"' in event and event.endswith(b"}\n\n"):
            whole += 1
        for line in tail.split(b"\n"):
            if line.startswith(b"retry: "):
                retries.add(int(line[7:]))
    times = sorted(at - begin for at in byes.values()) or [0.0]
    busiest = max(sum(1 for at in times if second / 10 <= at < second / 10 + 1) for second in range(int(times[-1] * 10) + 1))
    unready = probe.refused_at - begin if probe.refused_at else float("inf")
    print(f"{options.readers} readers: {len(byes)} received `bye`, {whole} of them complete, within {times[-1]:.1f} s (median {statistics.median(times):.1f} s),", end=" ")
    print(f"at most {busiest} in a second; {len(retries)} different reconnection delays from {min(retries, default=0)} to {max(retries, default=0)} ms;", end=" ")
    print(f"/readyz failed after {unready * 1000:.0f} ms; the gateway exited with {status} after {took:.1f} s")
    venue.end()
    faults = []
    if whole < options.readers:
        faults.append(f"only {whole} of {options.readers} readers received a complete stream with `bye`")
    if status or took >= 15:
        faults.append(f"the gateway ended with {status} after {took:.1f} s")
    if unready >= 1:
        faults.append(f"it was ready for {unready:.1f} s more")
    if len(retries) <= 100 or busiest > max(1100, options.readers / 2):
        faults.append(f"readers were sent off together: {len(retries)} different delays, {busiest} in a second")
    return verdict.tell(faults)
