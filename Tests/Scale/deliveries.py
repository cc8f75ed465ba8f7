"""What a delivery costs an edge, and what it costs a gateway alone: the same readers of the same streams, and the processor time of the process.

An edge reads the log besides, so the time of the same edge without readers is taken off, as is that of the gateway alone.
"""

import selectors
import socket
import threading
import time

import engine  # Leads to what is shared with Tests/Soak.
import house
import machine
import nodes
import verdict

STREAMS = "btcusdt@depth@100ms,ethusdt@depth@100ms"
MARKET = ("--depth-interval", 20, "--book-updates", 50)
LEAST = 0.95
"""Of the deliveries of a gateway alone in the same processor time."""


def deliver(address, readers, seconds):
    """How many events come to so many readers."""
    selector, links, events = selectors.DefaultSelector(), [], 0
    for _ in range(readers):
        link = socket.create_connection(address)
        link.sendall(f"GET /events?streams={STREAMS} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
        selector.register(link, selectors.EVENT_READ, link)
        links.append(link)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for key, _ in selector.select(0.1):
            events += key.data.recv(1 << 18).count(b"\nevent: update")
    for link in links:
        link.close()
    return events


def measure(pid, address, options):
    """Microseconds of the process for a delivery."""
    deliver(address, 1, 3)
    idle, began = machine.processor_time(pid), time.monotonic()
    deliver(address, 1, options.seconds / 2)
    rest = (machine.processor_time(pid) - idle) / (time.monotonic() - began)
    used, began = machine.processor_time(pid), time.monotonic()
    events = deliver(address, options.readers, options.seconds)
    took = time.monotonic() - began
    return (machine.processor_time(pid) - used - rest * took) / events * 1e6, events / took


def main(options):
    found = {"alone": [], "edge": []}
    load = machine.Load()
    cluster = nodes.Cluster(options.executable, ingests=1, edges=1, venue=MARKET)
    try:
        cluster.start()
        single = house.Gateway(options.executable, cluster.venue)
        edge = cluster.edges[0]
        for _ in range(options.rounds):
            for name, pid, address in (("alone", single.process.pid, (single.host, single.port)), ("edge", edge.program.process.pid, edge.address)):
                cost, rate = measure(pid, address, options)
                found[name].append(cost)
                print(f"{name}: {rate:.0f} deliveries/s to {options.readers} readers, {cost:.2f} us of the process each", flush=True)
                threading.Event().wait(0.5)
        single.process.kill()
    finally:
        cluster.stop()
    ratio = min(found["alone"]) / min(found["edge"])
    print(f"in the same processor time an edge makes {ratio:.2f} of the deliveries of a single gateway; others used {load.others():.0%} of the processors")
    return verdict.tell([f"{ratio:.2f} (at least {LEAST})"] if ratio < LEAST else [])
