"""Ingests, edges and servers of the log killed at random under readers that roam: nothing is lost in silence, told twice, out of order or wrong.

Four kills of ten hit the ingest that feeds the log, three an edge, three a server of the log, and of these one its leader. A part of the kills comes
while an earlier one is not over; a majority of the servers, one edge and one ingest always live. With `--control` readers say that they have what
another reader has, as if ids did not tell: that has to be found.

With `--polls N` every node is polled N times a second besides, and no live snapshot may be older than it says.
"""

import asyncio
import collections
import json
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import time

import engine as engines
import nodes
import roamer
import verdict


class Siege:
    """The kills, one after the other, on a thread of its own."""

    def __init__(self, options, cluster, readers, tally, dice):
        self.options, self.cluster, self.readers, self.tally, self.dice = options, cluster, readers, tally, dice
        self.kills, self.times = collections.Counter(), collections.defaultdict(list)
        self.absent = []
        """Nodes that have to be ready again before more is taken away."""

    def run(self):
        self.await_whole("at first", 0)
        while sum(self.kills.values()) < self.options.kills and not self.tally.faults and time.monotonic() < self.options.until:
            try:
                self.strike()
            except SystemExit as fault:
                self.tally.fault(str(fault))
            if sum(self.kills.values()) % 50 == 0:
                self.tell()
        self.await_whole("in the end", time.monotonic())

    def strike(self):
        way = self.dice.choices(("ingest", "edge", "leader", "follower"), (40, 30, 10, 20))[0]
        began = time.monotonic()
        if way == "ingest":
            self.await_ready(self.cluster.ingests)
            node = engines.wait("an ingest feeds the log", self.cluster.feeder, 30)
            node.kill()
            self.again(node)
        elif way == "edge":
            self.await_ready(self.cluster.edges)
            node = self.dice.choice(self.cluster.edges)
            node.kill()
            self.again(node)
        else:
            self.cluster.engine.await_health(60)
            leader = engines.wait("the log has a leader", self.cluster.engine.leader, 30)
            server = leader if way == "leader" else self.dice.choice([each for each in self.cluster.engine.servers if each is not leader])
            server.kill()
            self.pause(0.5)
            server.start()
        self.kills[way] += 1
        if way != "edge" and self.dice.random() < 0.8:
            self.await_whole(way, began)
            self.times[way].append(time.monotonic() - began)
        self.pause(0.3)
        self.tally.ask_venue()

    def again(self, node):
        self.pause(0.5)
        node.start()

    def pause(self, most):
        """Kills come at random moments; nothing is waited for here."""
        threading.Event().wait(self.dice.uniform(0, most))

    def await_ready(self, nodes):
        self.cluster.await_ready(nodes, 60)

    def await_whole(self, way, since):
        """Until readers who are connected have all streams, and events come again. Those who were cut come back when they have waited."""
        def whole():
            if self.tally.faults:
                return True
            opened = [reader for reader in self.readers if reader.is_open]
            return len(opened) >= len(self.readers) / 2 and self.cluster.feeder() and all(
                reader.is_whole and reader.data_at > since for reader in opened)
        try:
            engines.wait(f"readers have everything after the kill of {way}", whole, 90)
        except SystemExit as late:
            waits = [f"{reader.name} at {reader.edges[reader.place][1]}: {reader.lacks()}" for reader in self.readers if reader.is_open and reader.lacks()]
            self.tally.fault(f"{late}; fed by {self.cluster.feeder() and self.cluster.feeder().name}; {len(waits)} readers lack something: {waits[:3]}")

    def tell(self):
        print(f"{sum(self.kills.values())} kills {dict(self.kills)}, resumes {dict(self.tally.verdicts)}, {self.tally.events} events", flush=True)


async def fray(options, cluster):
    dice = random.Random(options.seed)
    tally = roamer.Tally(cluster.venue.true_book)
    readers = []
    def lie(reader):
        """The newest id that anybody has."""
        return max((other.last for other in readers if other.last), key=lambda last: int(last.split(".")[1], 36), default=reader.last) if reader.last else None
    edges = [edge.address for edge in cluster.edges]
    readers += [
        roamer.Roamer(number, edges, random.Random(options.seed * 1000 + number), tally, stays=(options.stay / 3, options.stay * 5 / 3),
                      lie=lie if options.control else None) for number in range(options.readers)]
    siege = Siege(options, cluster, readers, tally, dice)
    looking = asyncio.create_task(tally.look())
    tasks = [asyncio.create_task(reader.run()) for reader in readers]
    thread = threading.Thread(target=siege.run, daemon=True)
    thread.start()
    while thread.is_alive():
        await asyncio.sleep(0.2)
        for task in tasks:
            if task.done() and not tally.faults:
                task.result()
                tally.fault("a reader ended")
    # Those who still wait come back.
    end = time.monotonic() + 20
    while not tally.faults and time.monotonic() < end and not all(reader.is_whole for reader in readers):
        await asyncio.sleep(0.1)
    for reader in readers:
        if not tally.faults and not reader.is_whole:
            tally.fault(f"{reader.name} is not back: {reader.lacks() or 'it is not connected'}")
    for task in [looking, *tasks]:
        task.cancel()
    return siege, tally


def main(options):
    print(f"seed {options.seed}: {options.kills} kills, {options.readers} readers of {', '.join(roamer.STREAMS)} at {options.edges} edges", flush=True)
    began = time.monotonic()
    options.until = began + options.minutes * 60
    cluster = nodes.Cluster(options.executable, edges=options.edges, venue=("--book-updates", 20))
    try:
        cluster.start()
        polls = poll(options, cluster) if options.polls else None
        siege, tally = asyncio.run(fray(options, cluster))
        if polls:
            polls.stdin.close()
            told = json.loads(polls.stdout.read() or "{}")
            polls.wait()
    finally:
        cluster.stop()
    tell(options, siege, tally, time.monotonic() - began)
    if polls:
        judge(told, tally)
    resumed = sum(tally.verdicts.values())
    if resumed and tally.verdicts["exact"] / resumed < 0.99 and not tally.faults:
        tally.fault(f"only {tally.verdicts['exact']} of {resumed} resumes were exact")
    return verdict.tell(tally.faults)


def poll(options, cluster):
    """The process that polls every node until its input is closed."""
    program = pathlib.Path(__file__).with_name("polls.py")
    ports = [cluster.venue.port] + [node.port for node in cluster.nodes]
    return subprocess.Popen([sys.executable, program, str(options.polls), *map(str, ports)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def judge(told, tally):
    polls = told.get("polls", {})
    print(f"{sum(polls.values())} polls {polls}; at most {told.get('oldest')} ms unverified while live; {told.get('wrong')} were older than reported")
    if not polls.get("live"):
        tally.fault("no poll found a live value")
    for sample in told.get("samples", []):
        tally.fault(sample)


def tell(options, siege, tally, seconds):
    resumed = sum(tally.verdicts.values())
    killed = ", ".join(f"{siege.kills[way]} of {name}" for way, name in (
        ("ingest", "the ingest that fed"), ("edge", "an edge"), ("leader", "the log's leader"), ("follower", "a follower")))
    print(f"{sum(siege.kills.values())} kills ({killed}) in {seconds / 60:.0f} minutes under {options.readers} readers, {tally.events} events read")
    share = f"{100 * tally.verdicts['exact'] / resumed:.2f} % exact" if resumed else "none"
    print(f"{resumed} resumes at another edge: {share}, {tally.verdicts['reset']} reset; {tally.gaps} gaps and {tally.recoveries} recoveries reported; readers that were disconnected: {dict(tally.byes)}")
    print(f"{tally.equal} books equal to the venue's best 20 levels ({tally.forgotten} forgotten there), {len(tally.bytes)} newest changes with the same bytes at every edge")
    if tally.receipts:
        print(f"{len(tally.receipts)} receipts of outages of books: downMs was {min(tally.receipts) * 1000:+.0f} to {max(tally.receipts) * 1000:+.0f} ms of the reader's own silence")
    for way, times in sorted(siege.times.items()):
        print(f"from the kill of {way} to all readers having all streams: p50 {statistics.median(times):.2f} s, max {max(times):.2f} s of {len(times)}")
