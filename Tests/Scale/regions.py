"""A far region: a leaf server with a mirror of the log, 80 ms away. Its edges read the mirror, and their readers see the same ids and bytes.

The distance is a proxy between the leaf and the three servers that holds every byte back for so long, so it needs nothing of the kernel. The link is cut
for a while then, and the ingest is killed.
"""

import statistics
import threading
import time

import engine as engines
import nodes
import reader
import verdict
import wire

DELAY = 0.08
"""Seconds, one way."""
STREAMS = ["btcusdt@aggTrade", "btcusdt@depth@100ms", "btcusdt@bookTicker"]
ROOM = "max_mem: 1GB, max_file: 8GB"


class Region:
    """The hub's three servers, and a leaf behind a wire."""

    def __init__(self, folder, count):
        ports = dict(zip(("n1", "n2", "n3"), engines.free_ports(3)))
        self.hub = engines.Engine(folder, count, limits=ROOM + ', domain: "hub"', more=lambda name: f'leafnodes {{ listen: "127.0.0.1:{ports[name]}" }}\n')
        self.link = wire.Wire(engines.free_ports(1)[0], ports["n1"], DELAY)
        far = folder / "far"
        far.mkdir()
        self.leaf = engines.Engine(far, 1, limits=ROOM + ', domain: "far"', names="far", more=lambda name: (
            f'leafnodes {{ remotes: [ {{ url: "nats://127.0.0.1:{self.link.port}" }} ] }}\n'))
        self.security, self.servers, self.addresses, self.leader = self.hub.security, self.hub.servers, self.hub.addresses, self.hub.leader

    def mirror(self):
        """Has the leaf keep what the hub's log has, with the same sequences."""
        answer = self.leaf.servers[0].request(f"$JS.API.STREAM.CREATE.{engines.STREAM}", {
            "name": engines.STREAM, "storage": "file", "num_replicas": 1, "retention": "limits", "discard": "old", "max_age": 120_000_000_000, "max_bytes": 4 << 30,
            "mirror": {"name": engines.STREAM, "external": {"api": "$JS.hub.API"}}})
        if "error" in answer:
            raise SystemExit(f"the leaf keeps no mirror: {answer['error']}")

    def stop(self):
        self.leaf.stop()
        self.hub.stop()


def main(options):
    print(f"seed {options.seed}", flush=True)
    faults = []
    cluster = nodes.Cluster(options.executable, engine=Region, venue=("--book-updates", 20),
                            reach=lambda node: node.cluster.engine.leaf.addresses if node.name == "edge-2" else node.cluster.engine.addresses)
    try:
        for node in [*cluster.ingests, cluster.edges[0]]:
            node.start()
        engines.wait("an ingest feeds the log", cluster.feeder)
        engines.wait("the leaf takes the mirror", lambda: mirrored(cluster))
        cluster.edges[1].start()
        cluster.await_ready(cluster.nodes)
        near, far = (reader.Reader(edge.address, STREAMS) for edge in cluster.edges)
        for one in (near, far):
            engines.wait("data come", lambda: all(len(one.of(stream, "update")) > 5 for stream in STREAMS))
        threading.Event().wait(5)
        later = delays(near, far)
        print(f"the far edge's readers have events p50 {statistics.median(later):.0f} ms, max {max(later):.0f} ms after the near one's, of {len(later)}, with the same ids and bytes", flush=True)
        if statistics.median(later) < DELAY * 900:
            faults.append("the distance was not there")
        resume(near, cluster.edges[1], faults, "from the near edge to the far one")
        resume(far, cluster.edges[0], faults, "from the far edge to the near one")
        behind = len(far.events)
        cluster.engine.link.hold()
        threading.Event().wait(6)
        cluster.engine.link.release()
        engines.wait("the far readers are told that streams are back", lambda: all(far.of(stream, "recover", behind=behind) for stream in STREAMS), 40)
        methods = {data["method"] for stream in STREAMS for data in far.of(stream, "recover", behind=behind)}
        print(f"the link was cut for 6 s: reported {', '.join(sorted(methods))}", flush=True)
        behind = len(far.events)
        cluster.feeder().kill()
        engines.wait("the far readers are told of the takeover", lambda: all(far.of(stream, "recover", behind=behind) for stream in STREAMS), 40)
        trades, holes = far.holes("btcusdt@aggTrade")
        print(f"the ingest was killed: {trades} trades at the far edge, {holes} holes", flush=True)
        if holes:
            faults.append("trades are missing or came twice at the far edge")
    finally:
        cluster.stop()
    return verdict.tell(faults)


def mirrored(cluster):
    """Whether the mirror is there; the leaf knows the hub once the link stands."""
    try:
        cluster.engine.mirror()
    except SystemExit:
        return False
    return True


def delays(near, far):
    """Milliseconds between the two readers' sight of an event. Its data have to be the same."""
    seen = {data["id"]: (at, data) for at, (_, data, identity) in zip(list(near.times), list(near.events)) if identity and data.get("kind") == "delta"}
    found = []
    for at, (_, data, identity) in zip(list(far.times), list(far.events)):
        if identity and data.get("kind") == "delta" and data["id"] in seen:
            if seen[data["id"]][1] != data:
                raise SystemExit(f"{data['id']} is another event at the far edge")
            found.append((at - seen[data["id"]][0]) * 1000)
    return found


def resume(one, edge, faults, words):
    began = time.monotonic()
    again = reader.Reader(edge.address, STREAMS, one.last)
    told = engines.wait("a reader is back", lambda: again.events[:1])[0]
    again.close()
    words = f"a reader that goes {words}: {told[1].get('resume') or told[1].get('code')} after {time.monotonic() - began:.2f} s"
    print(words, flush=True)
    if told[1].get("resume") != "exact" and told[1].get("code") != "behind":
        faults.append(words)
