"""The programs that rows run."""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path += [str(ROOT / "Tests/Soak"), str(ROOT / "Tests/Bots")]
import house  # noqa: E402
import paced  # noqa: E402

STREAM = "btcusdt@markPrice"
STAMPED = ["--sequence", "nextFundingTime", "--stamp", "indexPrice"]
"""What `paced` writes into each event."""


class Products:
    """The executables of the release build."""

    def __init__(self, folder):
        self.gateway, self.crowd, self.ingest = (os.path.join(folder, name) for name in ("futures-gateway", "crowd", "ingest"))


def lacking(*tools):
    return [tool for tool in tools if not shutil.which(tool)]


def text_of(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=1200, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))[:160]} failed: {(done.stderr or done.stdout)[-300:]}")
    return done.stdout


@contextlib.contextmanager
def served(products, venue, *options):
    gateway = house.Gateway(products.gateway, venue, *options)
    try:
        yield gateway
    finally:
        gateway.end()
        venue.end()


@contextlib.contextmanager
def also_served(products, other, *options):
    """A second gateway of the same venue."""
    gateway = house.Gateway(products.gateway, other.venue, *options)
    try:
        yield gateway
    finally:
        gateway.end()


def certificate(folder):
    """The options that serve TLS."""
    chain, key = os.path.join(folder, "chain.pem"), os.path.join(folder, "key.pem")
    text_of(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-out", chain, "-keyout", key])
    return "--tls-certificate", chain, "--tls-key", key


def symbols(exchange):
    return [symbol["symbol"] for symbol in exchange.ask("GET", "/fapi/v1/exchangeInfo")[1]["symbols"] if symbol["status"] == "TRADING"]


def idle(products, gateway, count, more=(), streams=(STREAM,)):
    """KiB of the gateway's memory for each of so many readers that are sent little, once they have come."""
    crowd(products, gateway, 20, 1, streams, more)
    before = settled(gateway.process)
    command = [products.crowd, gateway.port, *streams, "--readers", count, "--seconds", 12, *more]
    readers = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    time.sleep(12)
    after = resident(gateway.process)
    if readers.wait(60):
        raise RuntimeError("not all readers came")
    return (after - before) / count


AWAY = 42
"""Milliseconds that readers leave the processors to the gateway after an event has begun to come, if they stand for other machines."""


def crowd(products, gateway, readers, seconds, streams=(STREAM,), more=STAMPED, are_away=False, pid=None):
    """What a thousand readers and more were sent, as `Benchmarks/crowd` tells it. Readers that are `are_away` stand for other machines."""
    command = [*(("chrt", "--idle", 0) if are_away else ()), products.crowd, gateway.port, *streams, "--readers", readers, "--seconds", seconds, "--pid", pid or gateway.process.pid, *more, *(("--leave", AWAY) if are_away else ())]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(text_of(command))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # It reads for three seconds before it counts.
    told["readersCpuSecondsPerMillion"] = used / max(1, told["perSecond"] * (seconds + 3)) * 1e6
    wrong = {name: told[name] for name in ("missing", "repeated", "disordered", "ended") if told[name]}
    if wrong:
        raise RuntimeError(f"readers were not served right: {wrong}")
    return told


def resident(process):
    """KiB."""
    pages = int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def settled(process):
    """KiB, once it has stopped growing."""
    last = resident(process)
    for _ in range(20):
        time.sleep(0.5)
        now = resident(process)
        if now - last < 64:
            return now
        last = now
    return last
