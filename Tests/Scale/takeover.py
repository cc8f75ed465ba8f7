"""How long a takeover takes: the ingest that feeds the log is killed, again and again.

From its last sign of life in the log to the claim of the other one, and to the first live value of a stream and of all streams at an edge. The standby
is warm: it has the values, and connects to the venue only then.
"""

import random
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
CLAIM, VALUE = 1.2, 3.0
"""What is asked, in seconds."""


def main(options):
    print(f"seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    cluster = nodes.Cluster(options.executable, venue=("--book-updates", 20), spread=0)
    claims, firsts, alls = [], [], []
    try:
        cluster.start()
        heard = listener.Listener(cluster.engine.servers[0])
        watcher = reader.Reader(cluster.edges[0].address, STREAMS)
        engines.wait("data come", lambda: all(len(watcher.of(stream, "update")) > 2 for stream in STREAMS))
        load = machine.Load()
        for _ in range(options.takeovers):
            cluster.await_ready(cluster.ingests)
            node = engines.wait("an ingest feeds the log", cluster.feeder)
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
                return len(values) == len(STREAMS)

            engines.wait("all streams are live", live)
            claims.append(claim.at - last)
            firsts.append(min(values.values()) - last)
            alls.append(max(values.values()) - last)
            node.start()
        busy = load.others()
    finally:
        cluster.stop()
    for words, times in (("to the claim", claims), ("to the first live value", firsts), ("to live values of all streams", alls)):
        ordered = sorted(times)
        print(f"from the last sign of life {words}: p50 {statistics.median(ordered):.2f} s, p90 {ordered[int(len(ordered) * 0.9)]:.2f} s, max {ordered[-1]:.2f} s of {len(ordered)}")
    print(f"others used {busy:.0%} of the processors meanwhile")
    faults = [f"claimed after {max(claims):.2f} s (at most {CLAIM})"] if max(claims) > CLAIM else []
    if max(firsts) > VALUE:
        faults.append(f"the first live value came after {max(firsts):.2f} s (at most {VALUE})")
    return verdict.tell(faults)
