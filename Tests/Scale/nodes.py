"""A cluster on this machine: the engine, the simulated exchange, ingests and edges, each a process of its own that may be killed and started again."""

import http.client
import pathlib
import re
import shutil
import signal
import tempfile
import urllib.request

import engine as engines
import house


class Node:
    """A gateway with a role. It keeps its port over its deaths."""

    def __init__(self, cluster, name, settings):
        self.cluster, self.name, self.settings = cluster, name, settings
        self.role = name.split("-")[0]
        self.port, = engines.free_ports(1)
        self.lives, self.program = 0, None

    def start(self):
        cluster = self.cluster
        security = cluster.engine.security
        credentials = security.of(self.role) if hasattr(security, "of") else ()
        self.lives += 1
        with open(self.path, "w") as log:
            self.program = house.Gateway(
                cluster.executable, cluster.venue, "--cluster-role", self.role, "--cluster-servers", cluster.reach(self),
                "--cluster-replicas", cluster.replicas, *credentials, *security.gateway, *self.settings, port=self.port, log=log, wrap=cluster.wrap(self))

    @property
    def is_running(self):
        return self.program is not None and self.program.process.poll() is None

    def kill(self):
        self.program.process.kill()
        self.program.process.wait()
        self.program.process.stdout.close()

    def freeze(self):
        self.program.process.send_signal(signal.SIGSTOP)

    def wake(self):
        self.program.process.send_signal(signal.SIGCONT)

    @property
    def address(self):
        return "127.0.0.1", self.port

    @property
    def path(self):
        return self.cluster.folder / f"{self.name}.{self.lives}.log"

    def log(self):
        """What its present life has logged."""
        return self.path.read_text(errors="replace") if self.lives else ""

    def feeds(self):
        """Whether it feeds the log, by its own word."""
        told = re.findall("this node (no longer )?feeds the log", self.log())
        return self.is_running and bool(told) and not told[-1]

    def is_ready(self):
        """Whether it would be given readers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2) as answer:
                return answer.status == 200
        except (OSError, http.client.HTTPException):
            return False


class Cluster:
    """`reach` gives the addresses by which a node reaches the engine, by default all of its servers; `wrap` the command that runs a node.

    `spread` is how many milliseconds longer than the one before each ingest waits until it takes over.
    """

    def __init__(self, executable, ingests=2, edges=2, servers=3, engine=None, venue=(), settings=(), edge_settings=(), ingest_settings=(), reach=None,
                 spread=300, wrap=lambda node: ()):
        Cluster.running.append(self)
        self.wrap = wrap
        self.executable = executable
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cluster-"))
        self.engine = (engine or engines.Engine)(self.folder, count=servers)
        self.replicas = servers
        self.venue = house.Exchange(executable, "--weight-limit", 100_000_000, *venue)
        self.reach = reach or (lambda node: self.engine.addresses)
        self.ingests = [
            Node(self, f"ingest-{number + 1}", (*settings, *ingest_settings, "--cluster-standby-delay", 1000 + spread * number)) for number in range(ingests)
        ]
        self.edges = [Node(self, f"edge-{number + 1}", (*settings, *edge_settings)) for number in range(edges)]
        self.nodes = self.ingests + self.edges

    running = []

    def start(self):
        for node in self.nodes:
            node.start()
        self.await_ready(self.nodes)
        return self

    def await_ready(self, nodes, seconds=60):
        for node in nodes:
            engines.wait(f"{node.name} is ready", node.is_ready, seconds)

    def feeder(self):
        """The ingest that feeds the log; None while none does."""
        return next((node for node in self.ingests if node.feeds()), None)

    def stop(self):
        Cluster.running.remove(self)
        for node in self.nodes:
            if node.is_running:
                node.wake()
                node.kill()
        self.venue.process.kill()
        self.engine.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

