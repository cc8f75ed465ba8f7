"""Unmodified clients before one gateway for each venue, while its upstream connection is cut."""

import glob
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import places
import stand

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = {"binanceusdm": ("binance", "ccxt"), "aster": ("aster", "ccxt"), "sdk": ("binance", "sdk"), "python-binance": ("binance", "ccxt"),
           "unicorn": ("binance", "unicorn"), "nautilus": ("binance", "nautilus"), "cryptofeed": ("binance tls", "cryptofeed")}
"""The gateway's venue, `tls` if the client demands wss, and the environment that has the client."""
NEWER = {"nautilus": (3, 12)}
"""The least Python of environments that this program's own Python may be too old for."""
SPACING = 20
"""Seconds between two cuts, so that the slowest client has recovered."""
REST = 25
"""Seconds without a cut at the end."""
HEAD = ("client", "version", "events", "reconnects", "books compared", "trades", "errors")


def python(options, name):
    """The Python that has a client; None if it cannot be had. `--python` is PATH or CLIENT=PATH."""
    for given in options.python or []:
        if given.startswith(f"{name}="):
            return given.partition("=")[2]
    general = [given for given in options.python or [] if "=" not in given]
    if general:
        return general[-1]
    place = CLIENTS[name][1]
    if sys.version_info[:2] < NEWER.get(place, (0, 0)):
        newer(place)
    return places.python(place)


def newer(place):
    """Makes the environment with a newer Python of this machine, if there is one."""
    home = stand.ROOT / ".build/bots" / place
    if (home / "bin/python").exists():
        return
    major, least = NEWER[place]
    for minor in (least, least + 1):
        found = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{major}.{minor}.*/bin/python")) + [shutil.which(f"python{major}.{minor}") or ""]
        for candidate in filter(None, found):
            if subprocess.run([candidate, "-m", "venv", home], capture_output=True).returncode == 0:
                return


class Run:
    """One client in a process of its own. `path` is that of the venue at the gateway."""

    def __init__(self, name, program, gateway, venue, seconds, environment, path=""):
        self.name, self.seconds = name, seconds
        self.errors = tempfile.TemporaryFile("w+")
        self.output = tempfile.TemporaryFile("w+")
        command = [program, "-B", HERE / "driver.py", name, f"{gateway.host}:{gateway.port}{path}", f"{venue.host}:{venue.port}", "--seconds",
                   f"{seconds:.0f}"]
        self.process = subprocess.Popen(list(map(str, command)), stdout=self.output, stderr=self.errors, text=True,
                                        env=os.environ | environment)

    def verdict(self):
        try:
            self.process.wait(90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.seek(0)
        lines = [line for line in self.output.read().splitlines() if line.startswith("{")]
        if lines:
            return json.loads(lines[-1])
        self.errors.seek(0)
        said = self.errors.read().strip().splitlines()
        return {"client": self.name, "version": "?", "events": {}, "reconnects": 0, "books": 0, "trades": 0, "notes": {},
                "errors": {f"the process ended with {self.process.returncode} and no verdict: {said[-1] if said else 'it said nothing'}": 1}}


def certificate():
    """The paths of a certificate for loopback and its key; None without openssl."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sockets-"))
    paths = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
               "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout", paths[1]]
    return paths if shutil.which("openssl") and subprocess.run(command, capture_output=True).returncode == 0 else None


def make(options, kind):
    """An exchange, a gateway before it, and the variables with which a client trusts its certificate."""
    name, _, secure = kind.partition(" ")
    listing = ["--perpetuals-only"] if name == "aster" else []
    venue = stand.Venue(options.executable, 24, 100_000_000, "--seed", options.seed % 100_000 + 1, *listing)
    if options.direct:
        return venue, venue, {}
    more, environment = [], {}
    if secure:
        paths = certificate()
        if paths is None:
            venue.end()
            return None
        more = ["--tls-certificate", paths[0], "--tls-key", paths[1]]
        environment = {"SSL_CERT_FILE": str(paths[0]), "REQUESTS_CA_BUNDLE": str(paths[0])}
    gateway = stand.Mirror(options.executable, venue, "--venue", name, "--lines", options.lines, *more,
                           log=options.log and f"{options.log}.{kind.replace(' ', '-')}")
    return venue, gateway, environment


def cut(venue, dice, number):
    """One cut of all upstream connections; its description."""
    kind = ("reset", "close", "within a frame", "shutdown", "refused")[number % 5]
    if kind == "close":
        venue.fault("drop", code=1001)
    elif kind == "within a frame":
        venue.fault("drop", afterBytes=dice.randrange(1, 3000))
    elif kind == "shutdown":
        venue.fault("serverShutdown", closeAfterMs=500)
    else:
        if kind == "refused":
            venue.fault("refuse", forMs=1500)
        venue.fault("drop")
    return kind


def main(options):
    dice, seconds = random.Random(options.seed), options.minutes * 60
    pythons = {}
    for name in options.only:
        if name not in CLIENTS:
            raise SystemExit(f"there is no client {name}; the clients are {', '.join(CLIENTS)}")
        program = python(options, name)
        if program is None:
            print(f"{name} {places.skipped(CLIENTS[name][1])}", flush=True)
        else:
            pythons[name] = program
    stands, runs = {}, []
    for name, program in pythons.items():
        kind = CLIENTS[name][0]
        if kind not in stands:
            stands[kind] = make(options, kind)
        if stands[kind] is None:
            print(f"{name} skipped: openssl cannot make a certificate", flush=True)
            continue
        venue, gateway, environment = stands[kind]
        runs.append(Run(name, program, gateway, venue, seconds, environment))
    stands = {kind: made for kind, made in stands.items() if made}
    begun, cuts = time.monotonic(), []
    least = min(20, seconds / 2)
    while runs and (at := least + SPACING * len(cuts)) < max(seconds - REST, least + 0.1):
        time.sleep(max(0, begun + at - time.monotonic()))
        for venue, _, _ in stands.values():
            kind = cut(venue, dice, len(cuts))
        cuts.append(kind)
    faults, rows = [], []
    for run in runs:
        verdict = run.verdict()
        total = sum(verdict["events"].values())
        rows.append((verdict["client"], verdict["version"], total, verdict["reconnects"], verdict["books"], verdict["trades"],
                     sum(verdict["errors"].values())))
        first = verdict.get("first", {})
        faults += [f"{run.name}: {words}" + (f" ({times} times, first after {first.get(words)} s)") for words, times in verdict["errors"].items()]
        print(f"{run.name}: {verdict['events']}; notes {verdict['notes']}", flush=True)
    for kind, (venue, gateway, _) in stands.items():
        if gateway.process.poll() is not None:
            faults.append(f"the gateway of {kind} ended by itself with {gateway.process.returncode}")
        for server in {gateway, venue}:
            server.end()
    widths = [max(len(str(row[place])) for row in [HEAD, *rows]) for place in range(len(HEAD))]
    for row in [HEAD, *rows]:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip(), flush=True)
    print(f"{len(cuts)} cuts of the upstream connection: {', '.join(cuts)}", flush=True)
    return stand.tell(faults)
