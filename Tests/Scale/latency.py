"""What the log adds to an event's way, and what an event costs: the same load through a gateway alone, and through an ingest, three servers and an edge.

One process reads a book's updates from the venue's own WebSocket and from the gateway, and takes the time of both by the update's id. The rest of the load
is wanted by pinned streams, at the edge, and read by nobody.
"""

import os
import re
import selectors
import socket
import threading
import time
import urllib.request

import engine as engines
import house
import listener
import machine
import nodes
import verdict

PROBE = "btcusdt@depth@100ms"
INTERVAL = 5
"""Milliseconds between the updates of a book."""


class Source:
    """A socket, and the times at which the updates on it came."""

    def __init__(self, address, request, pattern):
        self.link = socket.create_connection(address)
        self.link.sendall(request)
        self.pattern, self.times, self.rest = re.compile(pattern), {}, b""

    def read(self):
        self.rest += self.link.recv(1 << 20)
        now, end = time.monotonic(), 0
        for found in self.pattern.finditer(self.rest):
            self.times.setdefault(int(found[1]), now)
            end = found.end()
        self.rest = self.rest[end:][-65536:]


def probe(venue, gateway, seconds):
    """Milliseconds from the venue's frame to the gateway's event, sorted."""
    straight = Source((venue.host, venue.port), (
        f"GET /ws/{PROBE} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        "Sec-WebSocket-Version: 13\r\n\r\n").encode(), rb'"u":(\d+)')
    served = Source(gateway, f"GET /events?streams={PROBE} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n".encode(), rb'"lastUpdateId":(\d+)')
    selector = selectors.DefaultSelector()
    for source in (straight, served):
        selector.register(source.link, selectors.EVENT_READ, source)
    begin, end = time.monotonic() + 2, time.monotonic() + 2 + seconds
    while time.monotonic() < end:
        for key, _ in selector.select(0.1):
            key.data.read()
    for source in (straight, served):
        source.link.close()
    return sorted((at - straight.times[update]) * 1000 for update, at in served.times.items() if straight.times.get(update, 0) > begin)


def quantiles(values):
    return tuple(values[min(len(values) - 1, int(len(values) * share))] for share in (0.5, 0.99)) if values else (0.0, 0.0)


def main(options):
    symbols = max(1, round(options.rate * INTERVAL / 1000))
    market = ("--symbols", max(24, symbols + 10), "--depth-interval", INTERVAL, "--book-updates", 1000 // INTERVAL)
    found = {}
    for shape in ("alone", "cluster"):
        if shape == "alone":
            cluster = None
            venue = house.Exchange(options.executable, "--weight-limit", 100_000_000, *market)
        else:
            cluster = nodes.Cluster(options.executable, ingests=1, edges=1, venue=market)
            venue = cluster.venue
        streams = [f"{symbol.lower()}@depth@100ms" for symbol in venue.symbols(symbols)]
        try:
            if cluster:
                cluster.edges[0].settings = ("--pinned", ",".join(streams))
                cluster.start()
                gateway, pids = cluster.edges[0].address, {
                    "ingest": cluster.ingests[0].program.process.pid, "edge": cluster.edges[0].program.process.pid,
                    **{f"server {server.name}": server.process.pid for server in cluster.engine.servers}}
                heard = listener.Listener(cluster.engine.servers[0])
            else:
                single = house.Gateway(options.executable, venue, "--pinned", ",".join(streams))
                gateway, pids = (single.host, single.port), {"gateway": single.process.pid}
            engines.wait("data flow", lambda: ready(gateway), 60)
            threading.Event().wait(options.warm)
            used, load, began = {name: machine.processor_time(pid) for name, pid in pids.items()}, machine.Load(), time.monotonic()
            count = len(heard.messages) if cluster else 0
            delays = probe(venue, gateway, options.seconds)
            took = time.monotonic() - began
            busy, events = load.others(), symbols * 1000 / INTERVAL * took
            if cluster:
                messages = heard.messages[count:]
                events = sum(message.events for message in messages)
                print(f"{len(messages) / took:.0f} messages of {events / max(1, len(messages)):.1f} events each a second to the log")
            cost = {name: (machine.processor_time(pid) - used[name]) / events * 1e6 for name, pid in pids.items()}
            found[shape] = quantiles(delays), events / took, cost
            print(f"{shape}: {events / took:.0f} events/s; from the venue's frame to the reader p50 {quantiles(delays)[0]:.2f} ms, p99 {quantiles(delays)[1]:.2f} ms of {len(delays)}; "
                  f"processor time of an event: {', '.join(f'{name} {each:.1f} us' for name, each in cost.items())}; others used {busy:.0%} of {os.cpu_count()} processors", flush=True)
        finally:
            if cluster:
                cluster.stop()
            else:
                single.process.kill()
                venue.process.kill()
    (alone, _, cost), (through, rate, costs) = found["alone"], found["cluster"]
    added = [after - before for before, after in zip(alone, through)]
    print(f"added by the log at {rate:.0f} events/s: p50 {added[0]:+.2f} ms, p99 {added[1]:+.2f} ms; an edge takes {costs['edge']:.1f} us an event, a single gateway {cost['gateway']:.1f} us")
    faults = []
    if rate < options.rate * 0.9:
        faults.append(f"only {rate:.0f} of {options.rate} events/s reached the log")
    for name, value, bound in (("p50", added[0], 1), ("p99", added[1], 5)):
        if value > bound:
            faults.append(f"the log adds {value:.2f} ms at {name} (at most {bound})")
    return verdict.tell(faults)


def ready(address):
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/readyz", timeout=2) as answer:
        return answer.status == 200
