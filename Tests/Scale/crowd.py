"""Many readers at three edges behind HAProxy, as ops/haproxy configures it, and edges killed: everybody is back `exact` soon after its own retry."""

import collections
import heapq
import random
import re
import resource
import selectors
import shutil
import socket
import statistics
import subprocess
import threading
import time

import engine as engines
import machine
import nodes
import verdict

STREAM = "btcusdt@markPrice@1s"
LATE = 1.0
"""Seconds after its own retry in which a reader has to be back."""
CONFIGURATION = engines.TESTS.parent / "ops/haproxy/haproxy.cfg"


class Reader:
    __slots__ = ("number", "link", "last", "retry", "lost_at", "buffer", "is_open", "verdict", "late")

    def __init__(self, number):
        self.number, self.last, self.retry, self.link, self.lost_at, self.buffer, self.is_open = number, None, 2.0, None, None, b"", False
        self.verdict, self.late = None, 0.0


class Crowd:
    """All readers on one selector. Each comes back by itself after its own retry, as a browser does."""

    def __init__(self, ports, count):
        self.ports, self.readers = ports, [Reader(number) for number in range(count)]
        self.selector, self.due, self.events, self.verdicts, self.refusals = selectors.DefaultSelector(), [], 0, collections.Counter(), 0
        self.lost = 0
        """Connections that ended since the kill."""

    def open(self, reader):
        reader.link = socket.socket()
        reader.link.setblocking(False)
        reader.buffer, reader.is_open = b"", False
        reader.link.connect_ex(("127.0.0.1", self.ports[reader.number % len(self.ports)]))
        header = f"Last-Event-ID: {reader.last}\r\n" if reader.last else ""
        self.selector.register(reader.link, selectors.EVENT_WRITE, (
            reader, f"GET /events?streams={STREAM} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{header}\r\n".encode()))

    def lose(self, reader):
        self.selector.unregister(reader.link)
        reader.link.close()
        now = time.monotonic()
        if reader.is_open:
            reader.lost_at, reader.is_open = now, False
            self.lost += 1
            wait = reader.retry
        else:
            self.refusals += 1
            wait = 0.2
        heapq.heappush(self.due, (now + wait, reader.number))

    def turn(self):
        now = time.monotonic()
        while self.due and self.due[0][0] <= now:
            self.open(self.readers[heapq.heappop(self.due)[1]])
        for key, _ in self.selector.select(0.02):
            reader, request = key.data
            try:
                if request:
                    reader.link.sendall(request)
                    self.selector.modify(reader.link, selectors.EVENT_READ, (reader, None))
                    continue
                data = reader.link.recv(1 << 16)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if not data:
                self.lose(reader)
                continue
            self.take(reader, data)

    def take(self, reader, data):
        if not reader.is_open:
            reader.buffer += data
            found = re.search(rb'retry: (\d+)\nevent: session\ndata: .*?"resume":"(\w+)"', reader.buffer)
            if not found:
                if b"event: bye" in reader.buffer or b"HTTP/1.1 5" in reader.buffer[:12]:
                    self.lose(reader)
                return
            if reader.lost_at:
                reader.late, reader.verdict = time.monotonic() - reader.lost_at - reader.retry, found[2].decode()
                self.verdicts[reader.verdict] += 1
            reader.lost_at = None
            reader.retry, reader.is_open, data, reader.buffer = int(found[1]) / 1000, True, reader.buffer, b""
        at = data.rfind(b"\nid: ")
        if at >= 0:
            self.events += data.count(b"\nid: ")
            reader.last = data[at + 5 :].split(b"\n")[0].decode()

    def until(self, condition, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.turn()
            if condition():
                return True
        return False

    def close(self):
        """All readers leave."""
        for reader in self.readers:
            reader.link.close()
        self.selector.close()

    @property
    def is_whole(self):
        return all(reader.is_open and reader.last for reader in self.readers)


def proxy(cluster, port, most):
    """A proxy as ops/haproxy has it, with the addresses of this cluster."""
    text = CONFIGURATION.read_text().replace("127.0.0.1:8080", f"127.0.0.1:{port}").replace("maxconn 60000", f"maxconn {most}")
    for number, edge in enumerate(cluster.edges):
        text = text.replace(f"127.0.0.1:808{number + 1}", f"127.0.0.1:{edge.port}")
    path = cluster.folder / f"haproxy-{port}.cfg"
    path.write_text(text)
    with open(cluster.folder / f"haproxy-{port}.log", "w") as log:
        return subprocess.Popen(["haproxy", "-db", "-f", path], stdout=log, stderr=log)


def readers_of(edge):
    """How many readers an edge has; one that was started again has none."""
    return sum(int(count) for count in re.findall(r"^futures_gateway_event_readers\{.*\} (\d+)$", edge.program.ask("GET", "/metrics")[1], re.M))


def main(options):
    if not shutil.which("haproxy"):
        print("skipped: haproxy is not installed")
        return True
    print(f"seed {options.seed}", flush=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    faults, dice = [], random.Random(options.seed)
    kills, verdicts, latest, median, refusals = 0, collections.Counter(), 0, [], 0
    cluster = nodes.Cluster(options.executable, edges=3)
    # A reader takes two descriptors of a proxy.
    most = min(60_000, (hard - 1000) // 2)
    proxies, ports = [], engines.free_ports(-(-options.readers // most))
    try:
        cluster.start()
        for port in ports:
            proxies.append(proxy(cluster, port, most))
        engines.wait("the proxies answer", lambda: all(socket.create_connection(("127.0.0.1", port), 1) for port in ports))
        print(f"{len(ports)} proxies, {most} readers at most each", flush=True)
        for _ in range(options.kills):
            # New readers each time, so that the three edges have as many each.
            cluster.await_ready(cluster.edges)
            # The proxies ask each edge once a second.
            threading.Event().wait(3)
            crowd = Crowd(ports, options.readers)
            begin = time.monotonic()
            for reader in crowd.readers:
                heapq.heappush(crowd.due, (begin + reader.number / 2000, reader.number))
            if not crowd.until(lambda: crowd.is_whole, options.readers / 2000 + 60):
                faults.append(f"only {sum(reader.is_open for reader in crowd.readers)} of {options.readers} readers came in")
                break
            print(f"{options.readers} readers came in within {time.monotonic() - begin:.1f} s", flush=True)
            crowd.until(lambda: False, 2)
            edge, load = max(dice.sample(cluster.edges, 3), key=readers_of), machine.Load()
            began, crowd.lost = time.monotonic(), 0
            edge.kill()
            # The proxy lets go of its readers one after the other: some are gone, then all are there, and still are a second later.
            crowd.until(lambda: crowd.lost, 10)
            if not crowd.until(lambda: crowd.is_whole and crowd.lost == crowd.verdicts.total(), 60):
                faults.append(f"{sum(not reader.is_open for reader in crowd.readers)} readers are not back")
                break
            took = time.monotonic() - began
            crowd.until(lambda: False, 1)
            back = [reader for reader in crowd.readers if reader.verdict]
            late = sorted(reader.late for reader in back)
            print(f"{edge.name} was killed: {len(back)} readers were cut, {dict(crowd.verdicts)}; after their own retry they were back within p50 {statistics.median(late) * 1000:.0f} ms, "
                  f"p99 {late[int(len(late) * 0.99)] * 1000:.0f} ms, max {late[-1] * 1000:.0f} ms; all {took:.1f} s after the kill; "
                  f"{crowd.refusals} times turned away; others used {load.others():.0%} of the processors", flush=True)
            kills, refusals, latest = kills + 1, refusals + crowd.refusals, max(latest, late[-1])
            verdicts += crowd.verdicts
            median.append(statistics.median(late))
            if set(crowd.verdicts) != {"exact"}:
                faults.append(f"{dict(crowd.verdicts)}")
            if late[-1] > LATE:
                faults.append(f"a reader was back {late[-1]:.2f} s after its own retry (at most {LATE:g})")
            crowd.close()
            edge.start()
    finally:
        for each in proxies:
            each.kill()
            each.wait()
        cluster.stop()
    if kills:
        print(f"{kills} edges of three were killed under {options.readers} readers: {verdicts.total()} were cut, {dict(verdicts)}; after their own retry they were "
              f"back within p50 {statistics.median(median) * 1000:.0f} ms, max {latest * 1000:.0f} ms; {refusals} times turned away", flush=True)
    return verdict.tell(faults)
