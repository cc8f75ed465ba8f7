"""Lists, probes and made-up queries: what they cost events, and what they leave behind."""

import bisect
import multiprocessing
import re
import socket
import threading
import time

import house
import sse

BOOK = "btcusdt@depth@100ms"
CONNECTIONS = 8
TICKING, ROUNDS = 80, 4
"""A p99 of few events, or of one span of a busy machine, tells more about the machine than about the load."""
EVENT = re.compile(rb'"stream":"[^"@]+@(\w+)[^\n]*?"eventTime":(\d+)')
BURST = 500
"""Milliseconds after a mark price whose events are not counted: the venue sends all mark prices at one moment, and later events wait for them."""


def delays(host, port, streams, marks, stop):
    """Notes each event's time from the venue to here, ms, and when it came."""
    connection, seen, bursts, rest = sse.Connection(host, port, streams), [], [], b""
    connection.socket.settimeout(0.2)
    while not stop.is_set():
        try:
            text = connection.socket.recv(1 << 16)
        except TimeoutError:
            continue
        now = time.time() * 1000
        lines, _, rest = (rest + text).rpartition(b"\n")
        for kind, at in EVENT.findall(lines):
            if kind == b"markPrice":
                bursts.append(int(at))
            else:
                seen.append((now, now - int(at)))
        if not text:
            break
    marks.put([(now, delay) for now, delay in seen if not in_burst(now - delay, bursts)])


def in_burst(at, bursts):
    place = bisect.bisect_right(bursts, at)
    return place > 0 and at - bursts[place - 1] < BURST


def asked(host, port, path, rate, until, answered):
    """One kept connection that asks so many times a second; counts what was answered with 200."""
    reader = socket.create_connection((host, port))
    request, buffer, due, count = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), bytearray(1 << 20), time.monotonic(), 0
    while time.monotonic() < until:
        time.sleep(max(0, due - time.monotonic()))
        due = max(due + 1 / rate, time.monotonic() - 1)
        reader.sendall(request)
        head = b""
        while b"\r\n\r\n" not in head:
            head += reader.recv(1 << 16)
        head, _, body = head.partition(b"\r\n\r\n")
        left = int(re.search(rb"content-length: (\d+)", head, re.I)[1]) - len(body)
        while left > 0:
            left -= reader.recv_into(buffer, min(left, len(buffer)))
        count += head.startswith(b"HTTP/1.1 200")
    answered.append(count)


def load(host, port, path, rate, seconds, counts):
    answered, until = [], time.monotonic() + seconds
    threads = [threading.Thread(target=asked, args=(host, port, path, rate / CONNECTIONS, until, answered)) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts.put(sum(answered) / seconds)


def p99(seen, *spans):
    """Of the delays in these spans of time, and how many there are."""
    found = sorted(delay for at, delay in seen if any(begin <= at <= end for begin, end in spans))
    return (found[len(found) * 99 // 100], len(found)) if len(found) >= 100 else (float("inf"), len(found))


def resident(pid):
    """Megabytes."""
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1024


def spelled(name, number):
    """One of many spellings of a name in an address: letters as they are or by their bytes."""
    return "".join(f"%{ord(letter):02x}" if number >> place & 1 else letter for place, letter in enumerate(name))


def crowded(options, gateway, beside, ticking, faults):
    """Compares the delay of events during requests to their gateway with the delay during the same requests to a second gateway. Both loads use
    processor time, but only the first one can delay the threads that send the events."""
    marks, counts, stop = multiprocessing.Queue(), multiprocessing.Queue(), multiprocessing.Event()
    reader = multiprocessing.Process(target=delays, args=(gateway.host, gateway.port, ticking, marks, stop), daemon=True)
    reader.start()
    time.sleep(3)
    phases = []
    for path in ("/streams", "/readyz"):
        spans, rates = ([], []), []
        for place in range(2 * ROUNDS):
            begin, is_busy = time.time() * 1000, place % 2
            chosen = gateway if is_busy else beside
            asker = multiprocessing.Process(
                target=load, args=(chosen.host, chosen.port, path, options.requests, options.seconds / ROUNDS, counts), daemon=True)
            asker.start()
            rates.append(counts.get(timeout=options.seconds + 60))
            asker.join()
            spans[is_busy].append((begin, time.time() * 1000))
        phases.append((path, spans, min(rates)))
    stop.set()
    seen = marks.get(timeout=10)
    reader.join(timeout=5)
    for path, (before, during), rate in phases:
        (calm, few), (busy, many) = p99(seen, *before), p99(seen, *during)
        print(f"{options.streams} streams, {path} at {rate:.0f}/s: p99 of events {busy:.1f} ms ({many}), {calm:.1f} ms during the same requests to another gateway ({few})", flush=True)
        if rate < 0.8 * options.requests:
            faults.append(f"{path}: {rate:.0f} of {options.requests} requests a second were answered")
        if busy - calm >= options.growth or min(few, many) < 100:
            faults.append(f"{path} delays events: p99 {calm:.1f} -> {busy:.1f} ms")


def varied(options, gateway, faults):
    """What as many spellings of one snapshot's address leave behind."""
    def ask(path):
        status, _ = gateway.ask("GET", path)
        if status not in (200, 400):
            raise SystemExit(f"{path}: {status}")

    for number in range(1000):
        ask(f"/streams/{BOOK}" + ("?depth=1000" if number % 2 else ""))
    time.sleep(12)
    before = resident(gateway.process.pid)
    for number in range(options.queries):
        ask(f"/streams/{spelled(BOOK, number)}" if number % 2 else f"/streams/{BOOK}?x={number}")
    after = resident(gateway.process.pid)
    print(f"{options.queries} different queries: RSS {before:.1f} -> {after:.1f} MB", flush=True)
    if after - before > options.megabytes:
        faults.append(f"{options.queries} different queries left {after - before:.1f} MB behind")


def await_live(gateway, count):
    until = time.monotonic() + 120
    while True:
        _, listed = gateway.ask("GET", "/streams")
        live = sum(stream["state"] == "live" for stream in listed["active"])
        if live >= 0.95 * count:
            return
        if time.monotonic() > until:
            raise SystemExit(f"only {live} of {count} streams are live")
        time.sleep(0.5)


def main(options):
    faults = []
    exchange = house.Exchange(
        options.executable, "--symbols", max(20, min(2000, options.streams + 20)), "--weight-limit", 100_000_000, "--book-updates", options.rate,
        "--depth-interval", options.interval)
    symbols = [symbol.lower() for symbol in exchange.symbols(options.streams)]
    names = [f"{symbol}@markPrice" for symbol in symbols]
    pinned = "--pinned", ",".join([*names, BOOK])
    gateway = house.Gateway(options.executable, exchange, *pinned, "--replay-seconds", 10, log=options.log)
    beside = house.Gateway(options.executable, exchange, *pinned)
    for one in (gateway, beside):
        await_live(one, len(names))
    crowded(options, gateway, beside, [names[0], *(f"{symbol}@bookTicker" for symbol in symbols[:TICKING])], faults)
    varied(options, gateway, faults)
    if any(ends := (gateway.end(), beside.end(), exchange.end())):
        faults.append(f"the gateways and the exchange ended with {ends}")
    for fault in faults:
        print("FAULT", fault)
    print("passed" if not faults else f"FAILED with {len(faults)} faults", flush=True)
    return not faults
