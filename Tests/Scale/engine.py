"""NATS servers as processes of their own: one, or three that keep the log together, with the rights and the encryption that are asked for."""

import atexit
import base64
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
# Whoever imports this finds what is shared with the proofs of a single gateway.
sys.path.append(str(TESTS / "Soak"))

SERVERS = pathlib.Path(os.environ.get("NATS_SERVERS") or TESTS.parent / ".build/nats")
VERSIONS = ("2.14.6", "2.12.8", "2.11.11")
STREAM = "FG_gateway"


def find(version=None):
    """The path of a server: of that version, or of the best that is there. None if there is none."""
    found = [str(SERVERS / each / "nats-server") for each in ([version] if version else VERSIONS)]
    return next((path for path in found if os.access(path, os.X_OK)), None) or (None if version else shutil.which("nats-server"))


def free_ports(count):
    """Ports that are free, and that nobody is given by chance: those that outgoing connections take lie above 32768."""
    found = []
    while len(found) < count:
        port = free_ports.next = 20000 + (free_ports.next - 19999) % 12000
        try:
            with socket.create_server(("127.0.0.1", port)):
                found.append(port)
        except OSError:
            pass
    return found


free_ports.next = 20000 + os.getpid() * 37 % 12000


def wait(what, condition, seconds=30):
    """Asks until the condition holds, and ends the program if it never does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if value := condition():
                return value
        except (OSError, ValueError):
            pass
        time.sleep(0.02)
    raise SystemExit(f"{what}: not within {seconds:g} s")


class Server:
    """One nats-server. It keeps its ports and its store over its deaths."""

    def __init__(self, engine, name):
        self.engine, self.name, self.process = engine, name, None
        self.port, self.route, self.monitor = free_ports(3)
        self.folder = engine.folder / name
        self.folder.mkdir()
        self.store = engine.stores / name if engine.stores else self.folder / "store"

    def configure(self):
        routes = ", ".join(f'"nats://127.0.0.1:{self.engine.reach(self, other)}"' for other in self.engine.servers if other is not self)
        cluster = f'cluster {{ name: "log", listen: "127.0.0.1:{self.route}", no_advertise: true, {self.engine.advertise}routes: [{routes}] }}\n' if routes else ""
        (self.folder / "nats.conf").write_text(
            f'server_name: "{self.name}"\nlisten: "127.0.0.1:{self.port}"\nhttp: "127.0.0.1:{self.monitor}"\n'
            f'jetstream {{ store_dir: "{self.store}", {self.engine.limits} }}\n{cluster}{self.engine.security.settings}{self.engine.more(self.name)}')

    def request(self, subject, body=""):
        """Asks as a client does; the answer as a value."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as link:
            text = json.dumps(body) if body else ""
            link.sendall(f'CONNECT {{"verbose":false}}\r\nSUB answer 1\r\nPUB {subject} answer {len(text)}\r\n{text}\r\nPING\r\n'.encode())
            lines = link.makefile("rb")
            for line in lines:
                if line.startswith(b"MSG answer"):
                    return json.loads(lines.readline())
        return None

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([self.engine.binary, "-c", str(self.folder / "nats.conf")], stdout=log, stderr=log)
        atexit.register(self.process.kill)

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def wake(self):
        self.process.send_signal(signal.SIGCONT)

    def ask(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor}/{path}", timeout=1) as answer:
            return json.load(answer)

    def is_healthy(self):
        return self.ask("healthz")["status"] == "ok"

    def log(self):
        """(name of the leader, first and last sequence) of the log as this server sees it; None if it has none."""
        for account in self.ask("jsz?accounts=true&streams=true").get("account_details", []):
            for stream in account.get("stream_detail") or []:
                if stream["name"] == STREAM:
                    state = stream["state"]
                    return (stream.get("cluster") or {}).get("leader", self.name), state["first_seq"], state["last_seq"]
        return None


class Open:
    """Everybody may do everything, in the clear."""

    scheme, settings = "nats", ""
    gateway = ()
    """What gateways are started with."""


class Engine:
    """`count` servers. `stores` is a folder for what they keep; `reach` gives the port by which one server reaches another.

    `more` gives further lines of a server's configuration. With `advertise` servers tell each other that address in place of their own, so that none goes another way than that of `reach`.
    """

    def __init__(self, folder, count=3, binary=None, security=None, stores=None, limits="max_mem: 1GB, max_file: 8GB", more=lambda name: "", reach=None,
                 advertise=None, names="n"):
        self.folder, self.binary, self.stores, self.limits, self.more = folder, binary or find(), stores, limits, more
        self.security = security or Open()
        self.advertise = f'advertise: "{advertise}", ' if advertise else ""
        self.reach = reach or (lambda _, other: other.route)
        self.servers = []
        for number in range(count):
            self.servers.append(Server(self, f"{names}{number + 1}"))
        for server in self.servers:
            server.configure()
            server.start()
        self.await_health()

    def await_health(self, seconds=30):
        wait("the engine is well", lambda: all(server.is_healthy() for server in self.servers), seconds)

    @property
    def addresses(self):
        return ",".join(f"{self.security.scheme}://127.0.0.1:{server.port}" for server in self.servers)

    def leader(self):
        """The server that leads the log, as the others see it; None while nobody does."""
        for server in self.servers:
            try:
                found = server.is_running and server.log()
            except (OSError, ValueError):
                continue
            leader = next((each for each in self.servers if found and each.name == found[0] and each.is_running), None)
            if leader:
                return leader
        return None

    def stop(self):
        for server in self.servers:
            if server.is_running:
                server.kill()


def key_pair():
    """(seed, public key) of a user as NATS writes them: base32 of a prefix, the key's 32 bytes and a CRC-16."""
    secret = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-outform", "DER"], capture_output=True, check=True).stdout
    public = subprocess.run(["openssl", "pkey", "-inform", "DER", "-pubout", "-outform", "DER"], input=secret, capture_output=True, check=True).stdout
    user, seed = 20 << 3, 18 << 3
    return written(bytes([seed | user >> 5, (user & 31) << 3]) + secret[-32:]), written(bytes([user]) + public[-32:])


def written(raw):
    checksum = 0
    for byte in raw:
        checksum ^= byte << 8
        for _ in range(8):
            checksum = (checksum << 1 ^ 0x1021 if checksum & 0x8000 else checksum << 1) & 0xFFFF
    return base64.b32encode(raw + checksum.to_bytes(2, "little")).decode().rstrip("=")


class Users(Open):
    """An ingest and an edge each have a password, or with `keys` an NKEY, and the rights that ops/cluster/nats.conf gives them."""

    def __init__(self, folder, keys=False):
        asked, node = "fg.gateway.ingest", "fg.gateway.node.*"
        rights = [f"$JS.API.{word}.{STREAM}" for word in ("STREAM.INFO", "CONSUMER.CREATE")] + ["$JS.FC.>"]
        more = [f"$JS.API.{word}.{STREAM}" for word in ("STREAM.CREATE", "STREAM.MSG.GET")]
        users = []
        for role, may, hears in (("ingest", ["fg.gateway.>", *rights, *more], [asked, node]), ("edge", [asked, node, *rights], [node])):
            seed, public = key_pair() if keys else (f"{role}:secret-of-{role}", "")
            path = folder / f"{role}.credentials"
            path.write_text(seed + "\n")
            who = f'nkey: "{public}"' if keys else f'user: "{role}", password: "secret-of-{role}"'
            users.append(f"{{ {who}, permissions: {{ publish: {json.dumps(may)}, subscribe: {json.dumps(['_INBOX.>', *hears])}, "
                         "allow_responses: true } }")
        self.settings = "authorization { users: [ " + ", ".join(users) + " ] }\n"
        self.folder = folder

    def of(self, role):
        return ("--cluster-credentials", self.folder / f"{role}.credentials")


class Encrypted(Open):
    """TLS with a certificate of an authority of our own."""

    scheme = "tls"

    def __init__(self, folder, extra=""):
        run = lambda *words: subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, cwd=folder)
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        run("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", 2, "-subj", "/CN=Authority of the test")
        run("req", *curve, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=log")
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        run("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem", "-days", 2, "-extfile", "names")
        self.settings = f'tls {{ cert_file: "{folder}/server.pem", key_file: "{folder}/server.key" }}\n{extra}'
        self.gateway = ("--cluster-trust", folder / "ca.pem")
