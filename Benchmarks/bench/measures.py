"""The rows of the table. Each measures, and returns its lines."""

import dataclasses
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import programs
import scaling as scaled
from programs import HERE, ROOT, house, paced
from results import Figure, Skipped, beside

COMPARISON = ROOT / "../shared/bench/fanout.sh"
"""The kernel's limit and peers, which are not of this repository."""


def ingest(products, rounds):
    """The whole way of a frame beside simdjson's parse alone."""
    if not os.path.exists("/usr/include/simdjson.h"):
        return [Skipped("libsimdjson-dev is not installed")]
    lines = []
    for text in programs.text_of([HERE.parent / "simdjson/compare", products.ingest, "json"], env={**os.environ, "ROUNDS": str(rounds)}).splitlines():
        told = json.loads(text)
        pairs = list(zip(told["own"], told["peer"]))
        lines.append(beside(f"{told['kind']}, {told['bytes']} bytes, decode to append", pairs, "ns", "simdjson's parse", most=5))
        if told["allocations"]:
            lines.append(Figure(f"{told['kind']}, allocations", float(told["allocations"]), "", most=2))
        if told["kind"] == "mix":
            rate = 1e9 / statistics.median(told["own"])
            lines.append(Figure("mix of 60 % tickers, 30 % depths, 10 % mark prices, one core", rate, "frames/s", least=1e6))
    return lines


def instructions(products, rounds):
    """What `make instructions` compares."""
    if programs.lacking("valgrind"):
        return [Skipped("valgrind is not installed")]
    known = dict(entry.split() for entry in (HERE.parent / "instructions.txt").read_text().splitlines()[1:])
    counted = [entry.split() for entry in programs.text_of([HERE.parent / "instructions", products.ingest, "whole", *known]).splitlines()]
    return [Figure(f"{kind}, the whole way", float(count), "instructions", "instructions.txt", float(known[kind]), float(count) / float(known[kind]),
                   most=1.05, bounds_ratio=True) for kind, count, _ in counted]


def hops(products, rounds):
    """From the venue's packet to the send to one reader, 1,000 frames a second."""
    if programs.lacking("gcc"):
        return [Skipped("gcc is not installed")]
    told = json.loads(programs.text_of([HERE.parent / "hops/hops", products.gateway, "--rounds", rounds, "--seconds", 2, "--json"]))
    own, limit = told["gateway"], told["limit, one thread"]
    lines = []
    for name, words in (("sending", "packet to the send"), ("at the reader", "packet to the reader"), ("received", "packet to `received`")):
        for index, quantile, goal in ((1, "p50", 25), (2, "p99", 90)):
            ours, theirs = own["whole way to: " + name][index], limit.get("whole way to: " + name, [None] * 3)[index]
            lines.append(Figure(f"{words}, {quantile}", ours, "µs", "kernel alone, one thread", theirs, ours / theirs if theirs else None,
                                most=goal if name == "sending" else 50 if name == "received" and index == 1 else None))
    return lines + [Figure(f"hop to: {name}", values[1], "µs", "p99", values[2]) for name, values in own.items()
                    if isinstance(values, list) and not name.startswith("whole way") and values[0] >= 0.5]


FANNED = {}
"""What crowds were sent, by readers, events a second and threads."""


def fanned(products, readers, rate, threads, are_away=False):
    with programs.served(products, paced.Venue(rate), "--fan-out-threads", threads, "--max-readers", 20_000) as gateway:
        told = programs.crowd(products, gateway, readers, 4, are_away=are_away)
        text = gateway.ask("GET", "/metrics")[1]
    counted = [float(re.search(rf"^futures_gateway_event_{what}_total (\S+)", text, re.M)[1]) for what in ("deliveries", "writes")]
    told["eventsInAWrite"] = counted[0] / counted[1]
    if not are_away:
        FANNED.setdefault((readers, rate, threads), []).append(told)
    return told


def threads(products, rounds):
    """Fan-out threads beside one, on all processors, which the readers use, too."""
    lines = []
    for readers, rate, count, goal, are_away in (
            (10_000, 10, 2, 0.65, True), (10_000, 10, 2, 0.65, False), (10_000, 10, 4, None, False), (1_000, 10, 2, None, False),
            (1_000, 100, 2, None, False)):
        if are_away and programs.lacking("chrt"):
            continue
        both = [[fanned(products, readers, rate, number, are_away) for number in (count, 1)] for _ in range(rounds if are_away else min(rounds, 3))]
        for name, unit, most in (("p50Ms", "ms", None), ("p99Ms", "ms", goal), ("cpuSecondsPerMillion", "core seconds a million", None)):
            pairs = [[told[name] for told in pair] for pair in both]
            what = name.removesuffix("Ms").removesuffix("SecondsPerMillion")
            lines.append(beside(f"{readers:,} readers{' as if elsewhere' * are_away}, {rate} events/s, {count} threads, {what}", pairs, unit, "one thread", most=most))
        if goal and not are_away and os.cpu_count() == 2:
            own, theirs = (statistics.median(pair[1][name] for pair in both) for name in ("cpuSecondsPerMillion", "readersCpuSecondsPerMillion"))
            lines.append(Figure("the least p99 of 2 threads, of one's, if the readers' work is on the same two processors",
                                (own + theirs) / 2 / max(own, theirs), "×"))
    return lines


def scaling(products, rounds):
    """What more threads would do on more processors, by the model of `scaling.py`."""
    if programs.lacking("gcc"):
        return [Skipped("gcc is not installed")]
    for case in ((scaled.READERS, 10, 1), (scaled.READERS, 10, 2), (1_000, 1_000, 1)):
        if case not in FANNED:
            fanned(products, *case)
    middle = lambda case, name: statistics.median(told[name] for told in FANNED[case])
    told = json.loads(programs.text_of([HERE.parent / "hops/hops", products.gateway, "--rounds", 1, "--seconds", 2, "--json"]))
    own, two = told["gateway"], told["limit, two threads"]
    one, both = ((scaled.READERS, 10, number) for number in (1, 2))
    send, batch = middle(one, "cpuSecondsPerMillion"), (1_000, 1_000, 1)
    # What an event costs in a call with others, less its share of the call.
    more = max(0.02, middle(batch, "cpuSecondsPerMillion") - send / middle(batch, "eventsInAWrite"))
    free = scaled.Costs(send=send, more=more, signal=two["call that signals"][1],
                        wake=two["sender awake"][1], frame=own["decoded"][1] + own["encoded"][1])
    rubbing = dataclasses.replace(free, friction=scaled.friction(middle(both, "cpuSecondsPerMillion") / send))
    lines = [Figure(f"cost of {name}, put in", value, "" if name == "friction" else "µs") for name, value in dataclasses.asdict(rubbing).items()]
    kib = {case: middle(case, "kibPerReader") * scaled.READERS for case in (one, both)}
    for count in (1, 2, 4, 8, 16):
        measured = f"measured {middle((scaled.READERS, 10, count), 'p99Ms'):.0f}" if (scaled.READERS, 10, count) in FANNED else ""
        late, ideal = (scaled.quantile(scaled.delays(costs, count, 10)[0], 0.99) for costs in (rubbing, free))
        lines.append(Figure(f"{count} threads, {scaled.READERS:,} readers at 10 events/s, p99", late, "ms", "without friction", ideal, note=measured))
    for count in (1, 2, 4, 8, 16):
        (calls, feed), (ideal, _) = (scaled.most(costs, count) for costs in (rubbing, free))
        bound = "limited by the feed's thread" if feed < calls else "limited by the calls that send"
        lines.append(Figure(f"{count} threads, 1,000 readers, 32 events a call, the most", min(calls, feed) / 1e6, "M deliveries/s", "without friction",
                            min(ideal, feed) / 1e6, note=bound))
    for count in (1, 2, 4, 8, 16):
        lines.append(Figure(f"{count} threads, {scaled.READERS:,} readers, memory of the process",
                            (kib[one] + (count - 1) * max(0.0, kib[both] - kib[one])) / 1024, "MiB"))
    return lines


def saturated(products, rounds):
    """One fan-out thread on one core beside the kernel's limit."""
    if not COMPARISON.exists():
        return [Skipped("the comparison with the kernel's limit is not beside the checkout")]
    if missing := programs.lacking("gcc", "taskset"):
        return [Skipped(f"{missing[0]} is not installed")]
    lines, variables = [], {**os.environ, "GATEWAY": products.gateway, "FUTURES_GATEWAY_FAN_OUT_THREADS": "1"}

    def measured(*options):
        # One subject at a time, so that the rounds alternate.
        told = {}
        for subject in ("limit", "gateway"):
            out = programs.text_of([COMPARISON, *options, subject], env=variables)
            told[subject] = json.loads(out.splitlines()[-1])
        return told["gateway"], told["limit"]

    alternating = [measured("--conns", 1000, "--rates", "10,100", "--duration", 3) for _ in range(rounds)]
    for place, rate in enumerate((10, 100)):
        pairs = [[one["phases"][place]["p99_ms"] for one in both] for both in alternating]
        lines.append(beside(f"1,000 readers, {rate} events/s, p99", pairs, "ms", "limit", most=1.3))
        pairs = [[one["phases"][place]["core_s_per_M"] for one in both] for both in alternating]
        lines.append(beside(f"1,000 readers, {rate} events/s, a million deliveries", pairs, "core seconds", "limit"))
    searched = [measured("--conns", 1000, "--search", "2000,14000", "--duration", 2)]
    pairs = [[one["best"]["ev_per_s"] for one in both] for both in searched]
    lines.append(beside("1,000 readers, the most with p99 below 250 ms", pairs, "deliveries/s", "limit", least=0.95))
    return lines


def tls(products, rounds):
    """Readers over TLS beside readers in the clear: a few at a set rate, many at one that leaves no pause, and what an idle one takes."""
    if missing := programs.lacking("openssl"):
        return [Skipped(f"{missing[0]} is not installed")]
    lines = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        certificate = programs.certificate(folder)
        for readers, rate in ((300, 100), (1_000, SATURATING)):
            with programs.served(products, paced.Venue(rate)) as clear, programs.also_served(products, clear, *certificate) as encrypted:
                looking = () if rate < SATURATING else ("--check", 10)
                rated = [[programs.crowd(products, gateway, readers, 4, more=[*programs.STAMPED, *looking, *more])
                          for gateway, more in ((encrypted, ["--tls", "NORMAL"]), (clear, []))] for _ in range(rounds)]
            pairs = [[told["cpuSecondsPerMillion"] for told in pair] for pair in rated]
            what = f"{readers:,} readers, {rate:,} events/s"
            if rate < SATURATING:
                lines.append(beside(f"{what}, processor time", pairs, "core seconds a million", "in the clear", most=1.25))
                continue
            came = statistics.median(pair[0]["perSecond"] for pair in rated)
            most, most_clear = (statistics.median(1 / pair[side] for pair in pairs) for side in (0, 1))
            lines.append(Figure(f"{what}, deliveries", most, "M a core second", "in the clear", most_clear, most / most_clear, least=3,
                                note=f"{came / 1e6:.2f} M/s came"))
        with programs.served(products, paced.Venue(1)) as clear, programs.also_served(products, clear, *certificate) as encrypted:
            own, other = (programs.idle(products, gateway, 4_000, more) for gateway, more in ((encrypted, ["--tls", "NORMAL"]), (clear, [])))
            lines.append(Figure("an idle reader's memory", own, "KiB", "in the clear", other, most=12))
    return lines


SATURATING = 3_500
"""Events a second that leave a thread with a thousand readers no pause."""


SOCKET = ("--socket", 1, "--sequence", "T", "--stamp", "i")
"""The options of readers of the venue's sockets, whose messages have the venue's own fields."""


def sockets(products, rounds):
    """The venue's sockets beside event streams of the same gateway: at a set rate, at one that leaves no pause, alone, and idle."""
    lines = []
    for readers, rate, bounds in ((1_000, SATURATING, {"perSecond": {"least": 0.9}, "cpuSecondsPerMillion": {"most": 1 / 0.9}}),
                                  (10_000, 10, {"p99Ms": {"most": 1.1}})):
        with programs.served(products, paced.Venue(rate), "--fan-out-threads", 1, "--max-readers", 20_000) as gateway:
            # Saturated readers only drop the bytes, so that the processors are left to the gateway.
            looking = ("--check", 10) if rate == SATURATING else ()
            both = [[programs.crowd(products, gateway, readers, 4, more=[*programs.STAMPED, *looking, *more]) for more in (SOCKET, ())]
                    for _ in range(rounds)]
        what = f"{readers:,} readers, {rate:,} messages/s"
        for name, bound in bounds.items():
            label, unit = {"perSecond": ("deliveries", "a second"), "cpuSecondsPerMillion": ("cpu", "core seconds a million")}.get(name, (name[:3], "ms"))
            lines.append(beside(f"{what}, {label}", [[told[name] for told in pair] for pair in both], unit, "event streams", **bound))
    venue = paced.Venue(1_000)
    with programs.served(products, venue, "--fan-out-threads", 1) as gateway:
        told = [[programs.crowd(products, place, 1, 4, more=[*programs.STAMPED, *SOCKET], pid=gateway.process.pid) for place in (gateway, venue)]
                for _ in range(rounds)]
    for name in ("p50", "p99"):
        pairs = [[each[f"{name}Ms"] for each in pair] for pair in told]
        added = statistics.median(ours - theirs for ours, theirs in pairs)
        lines.append(dataclasses.replace(beside(f"1 reader, 1,000 messages/s, {name}", pairs, "ms", "straight from the venue"), bounds_ratio=False))
        lines.append(Figure(f"1 reader, 1,000 messages/s, {name} added", added, "ms", most=0.1 if name == "p99" else None))
    own, other = [], []
    for found, more in ((own, SOCKET), (other, ())):
        with programs.served(products, paced.Venue(1), "--fan-out-threads", 1, "--max-readers", 20_000) as gateway:
            found.append(programs.idle(products, gateway, 10_000, more))
    lines.append(Figure("an idle socket, of 10,000 of one stream", own[0], "KiB", "an event stream", other[0], own[0] / other[0], most=0.7))
    return lines


def snapshots(products, rounds):
    """Snapshots of streams, and answers that they have not changed."""
    return beside_files(products, rounds, ("streams/btcusdt@markPrice", "streams/!markPrice@arr"), (200, 304))


def mirror(products, rounds):
    """Answers of the venue's own paths."""
    paths = ("klines?symbol=BTCUSDT&interval=1m&limit=499", "exchangeInfo", "depth?symbol=BTCUSDT&limit=100")
    return beside_files(products, rounds, [f"fapi/v1/{path}" for path in paths], (200,))


def beside_files(products, rounds, targets, statuses):
    """Requests a second on one core beside nginx with the same bytes from a file."""
    if missing := programs.lacking("h2load", "nginx", "taskset"):
        return [Skipped(f"{', '.join(missing)}: not installed (nghttp2-client, nginx)")]
    import bench as beside_nginx

    lines = []
    exchange = house.Exchange(products.gateway, "--symbols", 400)
    gateway = house.Gateway(products.gateway, exchange, wrap=beside_nginx.pinned(0))
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder, port = pathlib.Path(name), beside_nginx.free()
        server = beside_nginx.nginx(folder, port)
        try:
            for target in targets:
                ours, file = f"http://{gateway.host}:{gateway.port}/{target}", folder / target.partition("?")[0].rpartition("/")[2].strip("!")
                for _ in range(2):
                    file.write_text(programs.text_of(["curl", "-s", ours]))
                    time.sleep(1)
                theirs = f"http://127.0.0.1:{port}/{file.name}"
                for status in statuses:
                    pairs = [[requests(beside_nginx, url, status) for url in (ours, theirs)] for _ in range(rounds)]
                    lines.append(beside(f"{file.name}, {file.stat().st_size:,} bytes, {status}", pairs, "requests/s", "nginx", least=1))
        finally:
            server.terminate()
            server.wait(10)
            gateway.end()
            exchange.end()
    return lines


def requests(beside_nginx, url, status):
    """Requests a second that are answered with this status."""
    # Whatever the tag is, so that a new value is as unchanged as the one before.
    also = ["-H", "If-None-Match: *"] if status == 304 else []
    text = beside_nginx.h2load(url, "-D", 2, "--warm-up-time", 1, *also)
    answered = [int(count) for count in re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text).groups()]
    if answered[status // 100 - 2] < 0.99 * sum(answered):
        raise RuntimeError(f"{url} was not answered {status}: {answered}")
    return float(re.search(r"finished in .*?, ([\d.]+) req/s", text)[1])


def memory(products, rounds):
    """What a reader takes of the gateway's memory: an idle one of one stream, and one of 200 of 400 streams."""
    count, found = 10_000, []
    for _ in range(min(rounds, 3)):
        with programs.served(products, paced.Venue(1), "--fan-out-threads", 1, "--max-readers", 20_000) as gateway:
            found.append(programs.idle(products, gateway, count))
    lines = [Figure(f"an idle reader, of {count:,} of one stream", statistics.median(found), "KiB", most=0.6)]
    exchange = house.Exchange(products.gateway, "--symbols", 400)
    with programs.served(products, exchange, "--fan-out-threads", 1, "--max-readers", 20_000) as gateway:
        streams = [f"{symbol.lower()}@markPrice" for symbol in programs.symbols(exchange)[:400]]
        lines.append(Figure("a reader of 200 of 400 streams, of 3,000", programs.idle(products, gateway, 3_000, ["--each", 200], streams), "KiB", most=16))
    return lines


ROWS = {row.__name__: row for row in (ingest, instructions, hops, threads, scaling, saturated, sockets, tls, snapshots, mirror, memory)}
