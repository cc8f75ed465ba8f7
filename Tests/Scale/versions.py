"""Which servers are taken: every version that `Tests/Scale/servers` has fetched, with one server each.

Those that are too old have to be named, with what is required, and the gateway does not serve. With the others a reader resumes exactly at another edge,
and the ingest is killed.
"""

import os
import re

import engine as engines
import nodes
import reader
import verdict

REQUIRED = (2, 11, 5)
STREAMS = ["btcusdt@markPrice@1s", "btcusdt@aggTrade", "btcusdt@depth"]


def main(options):
    faults = []
    found = sorted((path.parent.name for path in engines.SERVERS.glob("*/nats-server") if os.access(path, os.X_OK)), key=number)
    for version in options.version or found:
        print(f"nats-server {version}: ", end="", flush=True)
        cluster = nodes.Cluster(options.executable, servers=1, engine=lambda folder, count: engines.Engine(folder, count, engines.find(version)))
        try:
            words = taken(cluster) if number(version) >= REQUIRED else refused(cluster, version)
        except SystemExit as fault:
            words = None
            faults.append(f"{version}: {fault}")
        finally:
            cluster.stop()
        print(words or "FAILED", flush=True)
    return verdict.tell(faults)


def number(version):
    return tuple(int(part) for part in re.findall(r"\d+", version))


def refused(cluster, version):
    """The gateway says why, and is not ready."""
    edge = cluster.edges[0]
    edge.start()
    told = engines.wait("the gateway refuses the server", lambda: re.search(rf"[^\"]*runs nats-server {re.escape(version)}[^\"]*", edge.log()), 15)[0]
    if edge.is_ready():
        raise SystemExit("an edge is ready")
    return "refused: " + re.sub(r"127\.0\.0\.1:\d+", "the server", told)


def taken(cluster):
    cluster.start()
    first, other = (reader.Reader(edge.address, STREAMS) for edge in cluster.edges)
    for one in (first, other):
        engines.wait("data come", lambda: all(len(one.of(stream, "update", "fetch")) > 2 for stream in STREAMS))
    first.close()
    again = reader.Reader(cluster.edges[1].address, STREAMS, first.last)
    verdict = engines.wait("the reader is back", lambda: again.events[:1])[0][1]["resume"]
    if verdict != "exact":
        raise SystemExit(f"a reader at another edge was told {verdict}")
    behind = len(other.events)
    cluster.feeder().kill()
    engines.wait("streams recover", lambda: all(other.of(stream, "recover", behind=behind) for stream in STREAMS))
    trades, holes = other.holes("btcusdt@aggTrade")
    if holes:
        raise SystemExit(f"{holes} times trades are missing or came twice")
    return f"taken; a resume at another edge: exact; the ingest killed: {trades} trades, 0 holes"
