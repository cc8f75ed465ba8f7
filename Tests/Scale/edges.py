"""What each further edge costs: the processor time of the servers for a message of the log, and of an edge for an event, with one edge and with more.

All processes share this machine's processors, so an edge's time among many has what they take from each other's caches in it.
"""

import os
import threading
import time

import engine  # Leads to what is shared with Tests/Soak.
import listener
import machine
import nodes
import verdict

SYMBOLS = 10
MARKET = ("--depth-interval", 5, "--book-updates", 200)
COUNTS = (1, 2, 4, 8)
MOST_OF_SERVERS = 20
"""Microseconds of all servers for one edge and message."""
MOST_OF_EDGE = 1.05
"""Of what the only edge takes for an event."""


def measure(executable, count, seconds, warm):
    """Microseconds of all servers for a message, and of each edge for an event."""
    cluster = nodes.Cluster(executable, ingests=1, edges=count, venue=MARKET)
    try:
        streams = [f"{symbol.lower()}@depth@100ms" for symbol in cluster.venue.symbols(SYMBOLS)]
        for edge in cluster.edges:
            edge.settings = ("--pinned", ",".join(streams))
        cluster.start()
        heard = listener.Listener(cluster.engine.servers[0])
        threading.Event().wait(warm)
        servers = [server.process.pid for server in cluster.engine.servers]
        edges = [edge.program.process.pid for edge in cluster.edges]
        before, load, first, began = {pid: machine.processor_time(pid) for pid in servers + edges}, machine.Load(), len(heard.messages), time.monotonic()
        threading.Event().wait(seconds)
        used, messages = {pid: machine.processor_time(pid) - since for pid, since in before.items()}, heard.messages[first:]
        took, events = time.monotonic() - began, sum(message.events for message in messages)
        of_servers, of_edge = sum(used[pid] for pid in servers) / len(messages) * 1e6, sum(used[pid] for pid in edges) / count / events * 1e6
        print(f"{count} edges: {len(messages) / took:.0f} messages of {events / len(messages):.1f} events each a second; all servers {of_servers:.0f} us a message, "
              f"an edge {of_edge:.1f} us an event; others used {load.others():.0%} of {os.cpu_count()} processors", flush=True)
        return of_servers, of_edge
    finally:
        cluster.stop()


def main(options):
    found = {count: measure(options.executable, count, options.seconds, options.warm) for count in COUNTS}
    (alone, only), (all_servers, among) = found[COUNTS[0]], found[COUNTS[-1]]
    each, share = (all_servers - alone) / (COUNTS[-1] - COUNTS[0]), among / only
    print(f"a further edge costs all servers {each:.1f} us a message; an edge among {COUNTS[-1]} takes {share:.2f} of the time of a single edge for an event")
    faults = []
    if each > MOST_OF_SERVERS:
        faults.append(f"a further edge costs the servers {each:.1f} us a message (at most {MOST_OF_SERVERS})")
    if share > MOST_OF_EDGE:
        faults.append(f"an edge among {COUNTS[-1]} takes {share:.2f} of what the only one takes (at most {MOST_OF_EDGE})")
    return verdict.tell(faults)
