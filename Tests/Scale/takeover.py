"""How long a takeover takes: the ingest that feeds the log is killed, again and again.

From its last sign of life in the log to the claim of the other one, and to the first live value of a stream and of all streams at an edge. A warm standby
has the values, and connects to the venue only then. A hot one (--hot) holds the streams itself: there are more books than a minute's weight (--weight)
gives snapshots for twice. What readers are told of the outage counts from the last sign of life, too, not from the claim. With --control the standby is warm, and what is asked of a hot one fails.
"""

import random
import re
import statistics
import threading
import time

import engine as engines
import listener
import machine
import nodes
import reader
import verdict

STREAMS = ["btcusdt@aggTrade", "ethusdt@bookTicker", "btcusdt@depth@100ms", "ethusdt@depth@100ms", "btcusdt@markPrice@1s"]
BOOKS = 18
CLAIM, VALUE, HOT = 1.2, 3.0, 1.5
"""What is asked, in seconds."""
SLACK = 0.1
"""How long the last word may take to a node, in seconds."""


def shadowed(node):
    """How many streams a hot standby holds whole."""
    told = re.search(r"^futures_gateway_cluster_shadow_streams (\d+)$", node.program.ask("GET", "/metrics")[1], re.M) if node.is_running else None
    return int(told[1]) if told else 0


def main(options):
    print(f"seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    weight = ("--weight-limit", options.weight) if options.weight else ()
    cluster = nodes.Cluster(
        options.executable, venue=("--book-updates", 20, *weight), spread=0, ingest_settings=("--cluster-hot-standby",) if options.hot and not options.control else ())
    streams, claims, firsts, alls, untold = list(STREAMS), [], [], [], []
    try:
        cluster.start()
        heard = listener.Listener(cluster.engine.servers[0])
        if options.weight:
            streams += [f"{symbol.lower()}@depth" for symbol in cluster.venue.symbols(BOOKS)]
        watcher = reader.Reader(cluster.edges[0].address, streams)
        engines.wait("data come", lambda: all(len(watcher.of(stream, "update")) > 2 for stream in streams), 200)
        load = machine.Load()
        for _ in range(options.takeovers):
            cluster.await_ready(cluster.ingests)
            node = engines.wait("an ingest feeds the log", cluster.feeder)
            if options.hot and not options.control:
                engines.wait("the standby is hot", lambda: max(map(shadowed, cluster.ingests)) == len(streams), 200)
            # At any moment between two signs of life.
            threading.Event().wait(dice.uniform(1, 2))
            known, behind = {message.epoch for message in heard.messages}, len(watcher.events)
            node.kill()
            claim = engines.wait("the log is claimed", lambda: next(
                (message for message in heard.messages if message.is_claim and message.epoch not in known), None))
            last = max(message.at for message in heard.messages if message.epoch in known)
            values = {}

            def live():
                for at, (name, data, _) in list(zip(watcher.times, watcher.events))[behind:]:
                    if name in ("update", "fetch") and at > claim.at:
                        values.setdefault(data["stream"], at)
                return len(values) == len(streams)

            engines.wait("all streams are live", live, 200)
            claims.append(claim.at - last)
            firsts.append(min(values.values()) - last)
            alls.append(max(values.values()) - last)
            told = engines.wait("the outage is over", lambda: [
                data["downMs"] for name, data, _ in list(watcher.events)[behind:] if name == "recover"], 20)
            untold.append(claim.at - last - min(told) / 1000)
            node.start()
        busy = load.others()
    finally:
        cluster.stop()
    for words, times in (("to the claim", claims), ("to the first live value", firsts), ("to live values of all streams", alls)):
        ordered = sorted(times)
        print(f"from the last sign of life {words}: p50 {statistics.median(ordered):.2f} s, p90 {ordered[int(len(ordered) * 0.9)]:.2f} s, max {ordered[-1]:.2f} s of {len(ordered)}")
    print(f"others used {busy:.0%} of the processors meanwhile")
    faults = [f"claimed after {max(claims):.2f} s (at most {CLAIM})"] if max(claims) > CLAIM else []
    if max(untold) > SLACK:
        faults.append(f"an outage was told as {max(untold):.2f} s shorter than the log's silence was")
    if options.hot and max(alls) > HOT:
        faults.append(f"values of all streams came after {max(alls):.2f} s (at most {HOT})")
    if max(firsts) > VALUE:
        faults.append(f"the first live value came after {max(firsts):.2f} s (at most {VALUE})")
    return verdict.tell(faults)
