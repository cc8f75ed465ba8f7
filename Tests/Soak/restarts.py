"""A gateway killed and started again under readers that come back as a browser does: all do, and none mixes two runs."""

import asyncio
import importlib.util
import json
import random
import signal
import time

import house

STREAMS = ["btcusdt@bookTicker", "btcusdt@aggTrade", "btcusdt@depth@100ms", "!assetIndex@arr"]


class Faults(list):
    def note(self, words):
        if len(self) < 20:
            print("FAULT " + words, flush=True)
        self.append(words)


class Browser:
    """One EventSource: reconnects after `retry` with the last id, without any knowledge of the gateway's state."""

    def __init__(self, number, port, faults):
        self.number, self.port, self.faults = number, port, faults
        self.last, self.retry, self.sessions, self.epoch = None, 2.0, [], None
        self.known, self.events = set(), 0

    async def run(self):
        while True:
            try:
                await self.connection()
            except (OSError, EOFError, asyncio.IncompleteReadError, ConnectionError):
                pass
            await asyncio.sleep(self.retry)

    async def connection(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 23)
        try:
            header = f"Last-Event-ID: {self.last}\r\n" if self.last else ""
            writer.write(f"GET /events?streams={','.join(STREAMS)} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{header}\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise ConnectionError(head.decode("latin1"))
            while True:
                self.take(await reader.readuntil(b"\n\n"))
        finally:
            writer.transport.abort()

    def take(self, block):
        event = identity = data = None
        for line in block.decode().split("\n"):
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("id: "):
                identity = line[4:] or None
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif line.startswith("retry: "):
                self.retry = int(line[7:]) / 1000
        if event == "session":
            self.session(data)
        elif event in ("update", "fetch"):
            self.events += 1
            epoch = data["id"].split(".")[0]
            if self.epoch is None:
                self.epoch = epoch
            if epoch != self.epoch:
                self.faults.note(f"reader {self.number}: {data['stream']} of run {epoch} in one of {self.epoch}")
            if data["kind"] == "full":
                self.known.add(data["stream"])
            elif data["stream"] not in self.known:
                self.faults.note(f"reader {self.number}: an update of {data['stream']} came before its snapshot")
        if identity:
            if self.epoch and identity.split(".")[0] != self.epoch:
                self.faults.note(f"reader {self.number}: id {identity} in run {self.epoch}")
            self.last = identity

    def session(self, data):
        self.sessions.append(data["resume"])
        if data["resume"] != "exact":
            self.epoch, self.known = None, set()


def sequence(identity):
    return int(identity.split(".")[1], 36)


async def siege(options):
    venue = house.Exchange(options.executable)
    arguments = ["--linger", "60"]
    gateway = house.Gateway(options.executable, venue, *arguments)
    port = gateway.port
    faults, dice = Faults(), options.dice
    browsers = [Browser(number, port, faults) for number in range(options.readers)]
    tasks = [asyncio.create_task(browser.run()) for browser in browsers]
    slowest = 0

    async def all_whole(since):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not all(len(b.sessions) > s and b.known == set(STREAMS) for b, s in zip(browsers, since)):
            await asyncio.sleep(0.02)
        for browser, sessions in zip(browsers, since):
            if len(browser.sessions) <= sessions or browser.known != set(STREAMS):
                faults.note(f"reader {browser.number} is not back: {browser.sessions[sessions:]}, {sorted(browser.known)}")

    async def come_late(old):
        """Resumes with an id of the killed gateway when the new gateway has reached its sequence. With the same epoch, the new gateway would accept it."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not any(b.epoch and b.last and sequence(b.last) > sequence(old) for b in browsers):
            await asyncio.sleep(0.02)
        late = Browser(len(browsers), port, faults)
        late.last = old
        task = asyncio.create_task(late.run())
        while time.monotonic() < deadline and not late.sessions:
            await asyncio.sleep(0.02)
        task.cancel()
        if late.sessions[:1] != ["reset"]:
            faults.note(f"reader {late.number} received the resume result {late.sessions} from a gateway without earlier events")

    await all_whole([0] * len(browsers))
    for kill in range(options.restarts):
        if faults:
            break
        await asyncio.sleep(dice.uniform(0.1, 1.0))
        since = [len(browser.sessions) for browser in browsers]
        old = max((browser.last for browser in browsers if browser.last), key=sequence)
        gateway.signal(signal.SIGKILL)
        gateway.process.wait()
        began = time.monotonic()
        for _ in range(20):
            try:
                gateway = house.Gateway(options.executable, venue, *arguments, port=port)
                break
            except SystemExit:
                await asyncio.sleep(0.1)
        await all_whole(since)
        slowest = max(slowest, time.monotonic() - began)
        if kill % 10 == 0:
            await come_late(old)
        for browser, sessions in zip(browsers, since):
            answers = browser.sessions[sessions:]
            if "exact" in answers or answers[:1] == ["none"]:
                faults.note(f"reader {browser.number} received the resume result {answers} from a gateway without earlier events")
        if kill % 10 == 9:
            print(f"{kill + 1} restarts, all of {len(browsers)} back within {slowest:.1f} s", flush=True)
    for task in tasks:
        task.cancel()
    gateway.end()
    venue.end()
    print(
        f"{options.restarts} restarts under {len(browsers)} readers, {sum(b.events for b in browsers)} events: {len(faults)} faults, "
        f"after the slowest restart, all readers were connected again within {slowest:.1f} s"
    )
    return faults


def carry_out(options, siege, needs=None):
    """Runs a siege with dice of the seed, and says how it ended; whether it found no fault. Without the module it needs it is skipped."""
    if needs and not importlib.util.find_spec(needs):
        print(f"skipped: {needs} is not installed (pip install {needs})")
        return True
    options.dice = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    faults = asyncio.run(siege(options))
    print("passed" if not faults else f"FAILED with {len(faults)} faults")
    return not faults


def main(options):
    return carry_out(options, siege)
