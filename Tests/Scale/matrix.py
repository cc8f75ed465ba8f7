"""The faults that a cluster has to survive, one after the other, each with the reports that readers get.

Every case starts a cluster of its own: three servers, two ingests and two edges. Readers sit at both edges, others roam; all of them check what
`roamer.py` checks. A case says what has to hold besides, and prints one line.
"""

import asyncio
import collections
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import time

import engine as engines
import limits
import nodes
import reader
import roamer
import verdict
import wire


class Stage:
    """A cluster with readers: `watchers` of each edge stay where they are, five others roam."""

    def __init__(self, options, seconds=None, **cluster):
        self.faults, self.dice = [], random.Random(options.seed)
        self.cluster = nodes.Cluster(options.executable, venue=("--book-updates", 20), **cluster)
        try:
            self.cluster.start()
        except BaseException:
            self.cluster.stop()
            raise
        self.tally = roamer.Tally(self.cluster.venue.true_book)
        edges = [edge.address for edge in self.cluster.edges]
        still = (10_000, 10_000)
        self.watchers = [[roamer.Roamer(number * 10 + each, [edge], self.dice, self.tally, stays=still) for each in range(2)] for number, edge in enumerate(edges)]
        self.others = [roamer.Roamer(100 + each, edges, random.Random(options.seed + each), self.tally, stays=(1, 5)) for each in range(5)]
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.reading = [asyncio.run_coroutine_threadsafe(reader.run(), self.loop) for reader in self.readers]
        self.await_whole()
        self.marks = {}
        self.mark()

    @property
    def readers(self):
        return [reader for edge in self.watchers for reader in edge] + self.others

    def mark(self):
        """Reports before this do not count in `told`."""
        self.began = time.monotonic()
        self.marks = {reader: len(reader.notices) for edge in self.watchers for reader in edge}

    def told(self, edge):
        """The notices of outages that the first watcher of an edge got, for each stream: as `disconnect, recover continuous`."""
        reader, told = self.watchers[edge][0], collections.defaultdict(list)
        for stream, words in reader.notices[self.marks[reader]:]:
            told[stream].append(words)
        return {stream: ", ".join(told[stream]) for stream in roamer.STREAMS}

    def expect(self, edge, *allowed):
        """Adds a fault if the notices of an edge's stream are not one of these. Returns the notices in words."""
        told = self.told(edge)
        for stream, words in told.items():
            if words not in allowed:
                self.faults.append(f"edge {edge + 1}, {stream} got: {words or 'no notice'}; expected: {' or '.join(each or 'nothing' for each in allowed)}")
        return "; ".join(f"{count} × {words or 'nothing'}" for words, count in collections.Counter(told.values()).items())

    def await_whole(self, seconds=60, readers=None):
        """Until readers have every stream, and data of now."""
        since = time.monotonic()
        engines.wait("readers have everything", lambda: self.tally.faults or all(
            reader.is_whole and reader.data_at > since for reader in readers or self.readers), seconds)
        return time.monotonic() - since

    def await_settled(self, seconds=60):
        """As `await_whole`, and a second more for late notices."""
        took = self.await_whole(seconds)
        self.listen(1)
        self.await_whole(seconds)
        return took

    def listen(self, seconds):
        """Lets time pass, because it is what the case is about."""
        threading.Event().wait(seconds)

    def resets(self):
        return self.tally.verdicts["reset"]

    def end(self):
        self.tally.ask_venue()
        for reading in self.reading:
            reading.cancel()
        # What was cancelled ends in the next turn of the loop.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.1), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.cluster.stop()
        return [*self.tally.faults[:3], *self.faults]


TAKEN_OVER = "disconnect, recover backfill", "disconnect, recover snapshot", "disconnect, recover continuous"
STALLED = "disconnect, recover continuous", ""


def freeze_ingest(options):
    """the active ingest is frozen for 6 s | the other ingest takes over; readers get one `disconnect` and one `recover` per stream; the frozen ingest steps down"""
    stage = Stage(options)
    first = stage.cluster.feeder()
    first.freeze()
    second = engines.wait("another ingest feeds the log", lambda: next((node for node in stage.cluster.ingests if node is not first and node.feeds()), None), 20)
    took = time.monotonic() - stage.began
    stage.await_settled()
    stage.listen(max(0, 6 - (time.monotonic() - stage.began)))
    first.wake()
    engines.wait("the frozen ingest steps down", lambda: not first.feeds(), 20)
    stage.await_settled()
    words = stage.expect(0, *TAKEN_OVER), stage.expect(1, *TAKEN_OVER)
    if not second.feeds():
        stage.faults.append("the one that took over no longer feeds the log")
    return stage, f"taken over after {took:.1f} s; reported: {words[0]}; the frozen ingest stepped down; {stage.resets()} resets"


def kill_standby(options):
    """the standby is killed | readers get no notice"""
    stage = Stage(options)
    standby = next(node for node in stage.cluster.ingests if not node.feeds())
    standby.kill()
    stage.listen(4)
    return stage, f"reported: {stage.expect(0, '')}; {stage.resets()} resets"


def kill_follower(options):
    """a server that does not lead the log is killed and restarted | readers get no notice, or one stall"""
    stage = Stage(options)
    leader = stage.cluster.engine.leader()
    server = next(each for each in stage.cluster.engine.servers if each is not leader)
    server.kill()
    stage.listen(3)
    server.start()
    stage.cluster.engine.await_health(60)
    stage.await_settled()
    return stage, f"reported: {stage.expect(0, *STALLED)}; {stage.resets()} resets"


def kill_leader(options):
    """the server that leads the log is killed and restarted | a stall of 4 to 9 s, reported after 2 s; then every event, `continuous`"""
    stage = Stage(options)
    leader = stage.cluster.engine.leader()
    leader.kill()
    stage.listen(0.5)
    took = stage.await_whole()
    leader.start()
    stage.cluster.engine.await_health(60)
    stage.await_settled()
    return stage, f"data again after {0.5 + took:.1f} s; reported: {stage.expect(0, *STALLED)}; {stage.resets()} resets"


def kill_all(options):
    """all three servers are killed and restarted with their disks | readers get a stall and then every event (`continuous`), or resets"""
    stage = Stage(options)
    for server in stage.cluster.engine.servers:
        server.kill()
    stage.listen(3)
    for server in stage.cluster.engine.servers:
        server.start()
    stage.cluster.engine.await_health(60)
    took = stage.await_settled()
    if stage.resets():
        return stage, f"data again {took:.1f} s after the servers; {stage.resets()} resets"
    return stage, f"data again {took:.1f} s after the servers; reported: {stage.expect(0, *STALLED, *TAKEN_OVER)}"


def freeze_followers(options):
    """both followers are frozen for 6 s | nothing is committed, so nothing new is shown; then every event, `continuous`"""
    stage = Stage(options)
    leader = stage.cluster.engine.leader()
    others = [server for server in stage.cluster.engine.servers if server is not leader]
    for server in others:
        server.freeze()
    stage.listen(1)
    before = stage.tally.events
    stage.listen(4)
    shown = max(reader.data_at for reader in stage.readers) - stage.began
    for server in others:
        server.wake()
    if shown > 1.5:
        stage.faults.append(f"data came {shown:.1f} s after both followers were frozen")
    took = stage.await_settled()
    return stage, f"the last data came {shown:.1f} s after the freeze; data again {took:.1f} s after its end; reported: {stage.expect(0, *STALLED, *TAKEN_OVER)}; {stage.resets()} resets"


def freeze_each(options):
    """each server that does not lead the log is frozen for 10 s, one after the other | no reader waits longer than 10 s for data"""
    stage = Stage(options)
    longest = []
    for server in list(stage.cluster.engine.servers):
        if server is stage.cluster.engine.leader():
            continue
        for reader in stage.readers:
            reader.longest = 0.0
        server.freeze()
        stage.listen(10)
        longest.append(max(max(reader.longest, time.monotonic() - reader.data_at) for edge in stage.watchers for reader in edge))
        server.wake()
        stage.cluster.engine.await_health(60)
        stage.await_settled()
    if max(longest) > 10:
        stage.faults.append(f"a reader heard nothing for {max(longest):.1f} s")
    silences = ", ".join(f"{silence:.1f} s" for silence in longest)
    return stage, f"the longest silence of a reader was {silences}; reported: {stage.told(0)['btcusdt@depth@100ms'] or 'nothing'}; {stage.resets()} resets"


def freeze_leader(options):
    """the server that leads the log is frozen for 12 s | another server leads, and the log ignores messages that only the frozen server accepted"""
    stage = Stage(options)
    leader = stage.cluster.engine.leader()
    leader.freeze()
    stage.listen(12)
    leader.wake()
    stage.cluster.engine.await_health(60)
    stage.await_settled()
    return stage, f"reported: {stage.expect(0, *STALLED, *TAKEN_OVER)}; {stage.resets()} resets"


def cut_ingest(options):
    """the active ingest loses all servers for 6 s | the other ingest takes over; the old one steps down"""
    wires = {}
    def reach(node):
        if node.role == "edge":
            return node.cluster.engine.addresses
        if node not in wires:
            wires[node] = [wire.Wire(engines.free_ports(1)[0], server.port) for server in node.cluster.engine.servers]
        return ",".join(f"nats://127.0.0.1:{each.port}" for each in wires[node])
    stage = Stage(options, reach=reach)
    first = stage.cluster.feeder()
    for each in wires[first]:
        each.hold()
    engines.wait("another ingest feeds the log", lambda: any(node is not first and node.feeds() for node in stage.cluster.ingests), 20)
    took = time.monotonic() - stage.began
    stage.await_settled()
    stage.listen(max(0, 6 - (time.monotonic() - stage.began)))
    for each in wires[first]:
        each.release()
    engines.wait("the old ingest steps down", lambda: not first.feeds(), 20)
    stage.await_settled()
    return stage, f"taken over after {took:.1f} s; reported: {stage.expect(0, *TAKEN_OVER)}; the old ingest stepped down; {stage.resets()} resets"


def cut_edge(options):
    """an edge loses all servers for 6 s | its readers get a notice, and then every event, `continuous`; readers of the other edge get no notice"""
    wires = []
    def reach(node):
        if node.name != "edge-1":
            return node.cluster.engine.addresses
        if not wires:
            wires.extend(wire.Wire(engines.free_ports(1)[0], server.port) for server in node.cluster.engine.servers)
        return ",".join(f"nats://127.0.0.1:{each.port}" for each in wires)
    stage = Stage(options, reach=reach)
    for each in wires:
        each.hold()
    stage.listen(6)
    is_ready = stage.cluster.edges[0].is_ready()
    # A reader that returns to that edge now, and has all that the edge has, must get the notice too.
    again = reader.Reader(stage.cluster.edges[0].address, roamer.STREAMS, stage.watchers[0][0].last)
    session = engines.wait("a reader is back at the edge", lambda: again.events[:1])[0]
    engines.wait("it gets the notice of the outage", lambda: all(again.of(stream, "disconnect") for stream in roamer.STREAMS), 5)
    for each in wires:
        each.release()
    engines.wait("it gets the notice of the outage's end", lambda: all(again.of(stream, "recover") for stream in roamer.STREAMS), 10)
    again.close()
    took = stage.await_settled()
    return stage, (f"reported: {stage.expect(0, STALLED[0])} at that edge; a reader that returned to it got {session[1].get('resume')} and the same, {stage.expect(1, '')} at the other; data again {took:.1f} s after the end; "
                   f"/readyz of the edge meanwhile: {'200' if is_ready else '503'}; {stage.resets()} resets")


def isolate_leader(options):
    """the server that leads the log and the active ingest are cut off together for 15 s | nothing is committed there; the other servers elect a leader, and the other ingest takes over"""
    wires = {}
    def make(folder, count):
        def reach(one, other):
            if (one.name, other.name) not in wires:
                wires[one.name, other.name] = wire.Wire(engines.free_ports(1)[0], other.route)
            return wires[one.name, other.name].port
        return engines.Engine(folder, count, reach=reach, advertise="127.0.0.1:1")
    stage = Stage(options, engine=make, reach=lambda node: f"nats://127.0.0.1:{node.cluster.engine.servers[int(node.name[-1]) - 1].port}")
    first, leader = stage.cluster.feeder(), stage.cluster.engine.leader()
    # Each ingest knows one server alone; that of the one that feeds has to lead.
    own = stage.cluster.engine.servers[int(first.name[-1]) - 1]
    if leader is not own:
        leader.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{engines.STREAM}", {"placement": {"preferred": own.name}})
        leader = engines.wait("the ingest's server leads the log", lambda: stage.cluster.engine.leader() is own and own, 20)
        stage.await_settled()
    stage.mark()
    island = [each for pair, each in wires.items() if leader.name in pair]
    for each in island:
        each.hold()
    second = engines.wait("another ingest feeds the log", lambda: next((node for node in stage.cluster.ingests if node is not first and node.feeds()), None), 40)
    took = time.monotonic() - stage.began
    stage.listen(max(0, 15 - took))
    for each in island:
        each.release()
    engines.wait("the old ingest steps down", lambda: not first.feeds(), 40)
    stage.cluster.engine.await_health(60)
    stage.await_settled()
    return stage, f"taken over after {took:.1f} s; the old ingest stepped down; reported: {stage.expect(int(second.name[-1]) - 1, *TAKEN_OVER, *TWICE)}; {stage.resets()} resets"


TWICE = tuple(f"disconnect, recover continuous, {words}" for words in TAKEN_OVER)
"""An edge may have reported the stall first and the takeover later."""


def old_store(options):
    """all servers come back with a store that is 3 s old | readers of the lost events get `reset`; the ingest steps down; no reader misses an event without a notice"""
    stage = Stage(options)
    servers = stage.cluster.engine.servers
    for server in servers:
        server.freeze()
    for server in servers:
        shutil.copytree(server.store, f"{server.store}.old")
    for server in servers:
        server.wake()
    stage.await_whole()
    stage.listen(3)
    stage.await_whole()
    before, last = stage.resets(), max(number for number in (server.log()[2] for server in servers if server.log()))
    for server in servers:
        server.kill()
    for server in servers:
        shutil.rmtree(server.store)
        shutil.move(f"{server.store}.old", server.store)
        server.start()
    stage.cluster.engine.await_health(60)
    stage.await_settled(90)
    if stage.resets() == before:
        stage.faults.append("no reader got `reset`")
    return stage, f"the log had ended with message {last}; {stage.resets() - before} of {len(stage.readers)} readers got `reset`, and the others nothing wrong"


def full_disk(options):
    """the disk of the leader is full | that server gives up and another one leads; then every event, `continuous`"""
    return on_small_disks(options, lambda servers, leader: [leader])


def full_disks(options):
    """the disks of all servers are full, and have room again after 8 s | the log stalls, and readers get a notice; after the restart of the servers every event, or resets"""
    return on_small_disks(options, lambda servers, leader: servers)


def on_small_disks(options, chosen):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stores-"))
    mounted = [folder / f"n{number}" for number in (1, 2, 3)]
    for disk in mounted:
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", disk], capture_output=True).returncode:
            return None, "skipped: no small disk can be mounted here"
    try:
        stage = Stage(options, engine=lambda place, count: engines.Engine(place, count, stores=folder))
        victims = chosen(stage.cluster.engine.servers, stage.cluster.engine.leader())
        for server in victims:
            with open(server.store / "filler", "wb") as filler:
                try:
                    while True:
                        filler.write(bytes(1 << 16))
                        filler.flush()
                except OSError:
                    pass
        stage.listen(8)
        for server in victims:
            (server.store / "filler").unlink()
            server.kill()
            server.start()
        stage.cluster.engine.await_health(60)
        stage.await_settled(90)
        words = stage.expect(0, *STALLED, *TAKEN_OVER, *TWICE) if not stage.resets() else "disconnects and resets"
        found = f"reported: {words}; {stage.resets()} resets"
        stage.end_now = stage.end()
        return stage, found
    finally:
        for disk in mounted:
            subprocess.run(["umount", "-l", disk])
        shutil.rmtree(folder, ignore_errors=True)


def jumping_clocks(options):
    """the wall clock of both ingests and of one edge jumps by an hour to and fro, ten times | readers get no notice"""
    if not shutil.which("gcc"):
        return None, "skipped: gcc is not installed"
    jump = limits.Jump()
    stage = Stage(options, wrap=lambda node: () if node.name == "edge-2" else jump.wrap)
    for number in range(10):
        jump.to(3600 * (-1) ** number if number % 3 else 0)
        stage.listen(1)
    stage.await_settled()
    return stage, f"reported: {stage.expect(0, '')} at the edge that jumps, {stage.expect(1, '')} at the other; {stage.resets()} resets"


def frozen_edge(options):
    """an edge is frozen for 8 s | readers of the other edge wait no longer than before; then the frozen edge sends every event"""
    stage = Stage(options)
    stage.cluster.edges[0].freeze()
    waits = []
    for _ in range(8):
        stage.listen(1)
        waits.append(time.monotonic() - max(reader.data_at for reader in stage.watchers[1]))
    stage.cluster.edges[0].wake()
    stage.await_settled()
    if max(waits) > 1:
        stage.faults.append(f"readers of the other edge waited for {max(waits):.1f} s")
    return stage, f"reported: {stage.expect(1, '')} at the other edge, {stage.expect(0, *STALLED)} at the frozen one; {stage.resets()} resets"


def long_gone(options):
    """an edge loses the log for 130 s, longer than the log keeps events | readers get new snapshots, and `reset` if they cannot continue"""
    wires = []
    def reach(node):
        if node.name != "edge-1":
            return node.cluster.engine.addresses
        if not wires:
            wires.extend(wire.Wire(engines.free_ports(1)[0], server.port) for server in node.cluster.engine.servers)
        return ",".join(f"nats://127.0.0.1:{each.port}" for each in wires)
    stage = Stage(options, reach=reach)
    for each in wires:
        each.hold()
    stage.listen(130)
    for each in wires:
        each.release()
    took = stage.await_settled(90)
    return stage, f"data again {took:.1f} s after the end; reported: {stage.told(0)['btcusdt@depth@100ms'] or 'a new beginning'}; {stage.resets()} resets"


CASES = {
    case.__name__.replace("_", "-"): case
    for case in (freeze_ingest, kill_standby, kill_follower, kill_leader, kill_all, freeze_followers, freeze_each, freeze_leader, cut_ingest, cut_edge, isolate_leader,
                 old_store, full_disk, full_disks, jumping_clocks, frozen_edge, long_gone)}


def main(options):
    print(f"seed {options.seed}", flush=True)
    found = []
    for name in options.case or CASES:
        what, _, due = CASES[name].__doc__.partition(" | ")
        stage = None
        try:
            stage, words = CASES[name](options)
            wrong = [] if stage is None else getattr(stage, "end_now", None) if hasattr(stage, "end_now") else stage.end()
        except SystemExit as fault:
            words, wrong = "it did not come to its end", [str(fault)]
            stop_all()
        print(f"{name}: {what}; expected: {due}; seen: {words}{'' if not wrong else '; WRONG'}", flush=True)
        found += [f"{name}: {fault}" for fault in wrong]
    return verdict.tell(found)


def stop_all():
    """Ends the cluster of a case that did not come to its end."""
    while nodes.Cluster.running:
        nodes.Cluster.running[-1].stop()
