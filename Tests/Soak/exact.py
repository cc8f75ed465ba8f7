"""Readers that pause, pace, subscribe and unsubscribe, are cut wherever they are, and come back with the same streams, others, more or fewer.

`exact` has to be exact: trades follow by their ids and books by their update ids, a stream begins with its full value, what came again is above the
id that was gone on from, and of every stream the newest event up to that id has been had, by what a reader saw that is never cut. With `--control`
readers say of their ids that they hold for the streams of the next connection, as if an id did not tell: that has to be found.

`--pairs` starts gateways by twos and compares their epochs.
"""

import asyncio
import bisect
import collections
import concurrent.futures
import json
import random
import signal
import zlib

import house

STREAMS = ["btcusdt@aggTrade", "ethusdt@aggTrade", "btcusdt@depth@100ms", "ethusdt@depth@100ms", "btcusdt@bookTicker", "!miniTicker@arr", "btcusdt@kline_1m"]
FORMATS = {"SSE": ("text/event-stream", ""), "event=stream": ("text/event-stream", "&event=stream"), "NDJSON": ("application/x-ndjson", "")}
PATIENCE = 60
LOST = (ConnectionError, TimeoutError)


def place(identity):
    """The sequence in an id."""
    return int(identity.split(".")[1], 36)


class Position:
    """What a reader has of one stream."""

    def __init__(self):
        self.event = None
        """The sequence of its newest event."""
        self.number = None
        """The venue's own number of the newest data."""
        self.may_jump = False


class Connection:
    """One connection in one format; `next` gives (event, id, data)."""

    def __init__(self, gateway, form, gzip):
        self.gateway, (self.accept, self.more), self.is_lines = gateway, FORMATS[form], form == "NDJSON"
        self.inflate = zlib.decompressobj(31) if gzip else None
        self.buffer, self.output = b"", None

    async def open(self, streams, last, options):
        self.input, self.output = await asyncio.open_connection(self.gateway.host, self.gateway.port, limit=1 << 22)
        headers = f"Accept: {self.accept}\r\n" + (f"Last-Event-ID: {last}\r\n" if last else "") + ("Accept-Encoding: gzip\r\nUser-Agent: Mozilla/5.0\r\n" if self.inflate else "")
        self.output.write(f"GET /events?streams={','.join(streams)}{self.more}{options} HTTP/1.1\r\nHost: {self.gateway.host}\r\n{headers}\r\n".encode())
        head = await self.input.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200") or (b"Content-Encoding: gzip" in head) != bool(self.inflate):
            raise ConnectionError(head.decode("latin1"))
        event, self.identity, self.session = await self.next()
        if event != "session":
            raise ConnectionError(f"{event} before the session")

    async def next(self):
        while True:
            end, size = (self.buffer.find(b"\n"), 1) if self.is_lines else (self.buffer.find(b"\n\n"), 2)
            if end < 0:
                data = await self.input.read(1 << 16)
                if not data:
                    raise ConnectionError("the connection ended")
                self.buffer += self.inflate.decompress(data) if self.inflate else data
                continue
            block, self.buffer = self.buffer[:end], self.buffer[end + size :]
            found = self.read(block)
            if found:
                return found

    def read(self, block):
        if self.is_lines:
            data = json.loads(block) if block.strip() else {}
            return data and (data["event"], data.get("lastEventId"), data)
        event = identity = data = None
        for line in block.split(b"\n"):
            if line.startswith(b"event: "):
                event = line[7:].decode()
            elif line.startswith(b"id:"):
                identity = line[3:].decode().strip()
            elif line.startswith(b"data: "):
                data = json.loads(line[6:])
        return data is not None and (data.get("event", event), identity, data)

    def cut(self):
        if self.output:
            self.output.transport.abort()


class Witness:
    """A reader of everything that is never cut: the sequences of each stream's events with data."""

    def __init__(self, gateway):
        self.gateway, self.events, self.reached = gateway, {stream: [] for stream in STREAMS}, 0

    async def run(self):
        connection = Connection(self.gateway, "SSE", False)
        await connection.open(STREAMS, None, "")
        while True:
            _, identity, data = await connection.next()
            if "kind" in data:
                self.events[data["stream"]].append(place(data["id"]))
            if identity:
                self.reached = max(self.reached, place(identity))

    async def reaches(self, number):
        while self.reached < number:
            await asyncio.sleep(0.01)

    def newest(self, stream, number):
        """The newest of a stream's events up to a number."""
        known = self.events[stream]
        found = bisect.bisect_right(known, number)
        return known[found - 1] if found else None


class Tally:
    def __init__(self):
        self.verdicts, self.faults, self.kinds, self.repeats, self.learned = collections.Counter(), [], collections.Counter(), 0, {}
        self.lost = 0
        """Connections that ended by themselves, and control requests that were not answered: of those a reader knows no more than of a cut."""
        self.checks = []
        """(id gone on from, stream, the newest event had of it, words)."""

    def fault(self, kind, words):
        self.kinds[kind] += 1
        self.faults.append(f"{kind}: {words}")

    def judge(self, witness):
        for number, stream, had, words in self.checks:
            newest = witness.newest(stream, number)
            if newest is not None and (had is None or had < newest):
                self.fault("silent loss", f"{words}: of {stream} {had} was had, and there was {newest} before {number}")


class Reader:
    """Comes and goes with one id, in one format."""

    def __init__(self, number, gateway, dice, tally, control):
        self.gateway, self.dice, self.tally, self.control = gateway, dice, tally, control
        self.form, self.gzip = list(FORMATS)[number % 3], number % 2 == 0
        self.name = f"reader {number} ({self.form}{', gzip' if self.gzip else ''})"
        self.last, self.had, self.deed, self.current, self.changes = None, {}, "nothing", set(), False
        self.streams = dice.sample(STREAMS, dice.randint(1, 5))

    async def round(self):
        """A connection, something done to it, and the cut."""
        dice = self.dice
        deed = dice.choice(["nothing", "pause", "pause and resume", "pace", "subscribe", "unsubscribe", "unsubscribe and back"])
        connection = Connection(self.gateway, self.form, self.gzip)
        self.again, self.seen = self.last, {}
        if self.control and self.last and frozenset(self.streams) in self.tally.learned:
            self.again = ".".join(self.last.split(".")[:2] + [self.tally.learned[frozenset(self.streams)]])
        pace = f"&maxRate={dice.choice([3, 10, 30])}" if deed == "pace" else ""
        try:
            await asyncio.wait_for(connection.open(self.streams, self.again, pace), PATIENCE)
        except LOST:
            self.tally.lost += 1
            return connection.cut()
        self.open(connection.session)
        if connection.identity == "":
            self.last = None
        # Once a request has been sent, it is not known to which streams an id belongs.
        self.current, self.changes = set(self.streams), False
        reading = asyncio.create_task(self.follow(connection))
        try:
            if dice.random() < 0.9:
                await asyncio.sleep(dice.uniform(0, 0.3))
                await self.do(deed, connection.session["client"])
                await asyncio.sleep(dice.uniform(0, 0.4))
            else:
                # Cut among its first events.
                await asyncio.sleep(dice.uniform(0, 0.02))
        except LOST:
            self.tally.lost += 1
        finally:
            connection.cut()
            reading.cancel()
            result = (await asyncio.gather(reading, return_exceptions=True))[0]
        self.tally.lost += isinstance(result, LOST)
        if not isinstance(result, (asyncio.CancelledError, *LOST)):
            raise result
        self.deed = deed

    async def do(self, deed, client):
        some = lambda names: self.dice.sample(sorted(names), self.dice.randint(1, len(names)))
        if deed == "pause" or deed == "pause and resume":
            await self.control_request("pause", client, some(self.current))
            if deed == "pause and resume":
                await asyncio.sleep(self.dice.uniform(0, 0.3))
                await self.control_request("resume", client, self.current)
        elif deed == "subscribe" and len(self.current) < len(STREAMS):
            await self.control_request("subscribe", client, some(set(STREAMS) - self.current))
        elif deed.startswith("unsubscribe") and len(self.current) > 1:
            gone = self.dice.sample(sorted(self.current), self.dice.randint(1, len(self.current) - 1))
            await self.control_request("unsubscribe", client, gone)
            if deed.endswith("back"):
                await asyncio.sleep(self.dice.uniform(0, 0.3))
                await self.control_request("subscribe", client, gone)

    async def control_request(self, what, client, names):
        self.changes = True
        input, output = await asyncio.open_connection(self.gateway.host, self.gateway.port)
        try:
            output.write(f"POST /events/{client}/{what}?streams={','.join(names)} HTTP/1.1\r\nHost: {self.gateway.host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            head, _, body = (await asyncio.wait_for(input.read(), PATIENCE)).partition(b"\r\n\r\n")
        finally:
            output.transport.abort()
        if not head.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(f"{what}: {head.decode('latin1')} {body.decode()}")
        self.current = set(json.loads(body)["streams"])

    def come_back(self):
        """Which streams are asked for next time."""
        if not self.current:
            return
        way = self.dice.choice(["old address", "old address", "what was read", "more", "fewer", "another order"])
        if way == "what was read":
            self.streams = sorted(self.current)
        elif way == "more" and len(self.streams) < len(STREAMS):
            self.streams = self.streams + [self.dice.choice(sorted(set(STREAMS) - set(self.streams)))]
        elif way == "fewer" and len(self.streams) > 1:
            self.streams = self.dice.sample(self.streams, len(self.streams) - 1)
        elif way == "another order":
            self.dice.shuffle(self.streams)
        self.deed += f", {way}"

    def open(self, session):
        verdict = session["resume"]
        if self.last is None:
            if verdict != "none":
                self.tally.fault("wrong verdict", f"{self.name}: {verdict} without an id")
            self.had = {}
            return
        self.tally.verdicts[verdict] += 1
        if verdict != "exact":
            self.had = {}
            return
        for stream in self.streams:
            had = self.had.get(stream)
            self.tally.checks.append((place(self.last), stream, had and had.event, f"{self.name} after {self.deed}"))

    async def follow(self, connection):
        while True:
            event, identity, data = await connection.next()
            words = f"{self.name} after {self.deed}"
            if event == "gap":
                self.had.setdefault(data["stream"], Position()).may_jump = True
            elif "kind" in data:
                self.take(data, words)
            elif event == "bye":
                raise ConnectionError(str(data))
            if identity:
                if self.last and self.seen and "" in self.seen and place(identity) <= self.seen[""]:
                    self.tally.fault("ids went back", f"{words}: {identity} after {self.seen['']}")
                self.seen[""], self.last = place(identity), identity
                if not self.changes and identity.count(".") == 2:
                    self.tally.learned.setdefault(frozenset(self.current), identity.split(".")[2])
                self.claim(identity, words)

    def claim(self, identity, words):
        """An id says that everything up to it has been had of the streams that it names."""
        if identity.split(".")[2:] == [self.tally.learned.get(frozenset(self.current))]:
            for stream in self.current:
                had = self.had.get(stream)
                if not (had and had.may_jump):
                    self.tally.checks.append((place(identity), stream, had and had.event, words))

    def take(self, data, words):
        stream, number, is_full = data["stream"], place(data["id"]), data["kind"] == "full"
        had = self.had.setdefault(stream, Position())
        before = self.seen.get(stream)
        if before is not None and (number < before or number == before and not is_full):
            return self.tally.fault("repeat", f"{words}: {number} of {stream} after {before} on one connection")
        if self.again and number <= place(self.again) and had.event is not None and not is_full:
            return self.tally.fault("repeat", f"{words}: {number} of {stream}, and {self.again} was gone on from")
        self.seen[stream] = number
        if had.event is not None and (number < had.event or number == had.event and not is_full):
            self.tally.repeats += 1
            return
        if had.event is None and not is_full:
            self.tally.fault("no full value", f"{words}: {stream} begins with a change")
        check = self.tape if "Trade" in stream else self.book if "depth" in stream else None
        if check and data["content"]:
            check(had, data["content"], is_full, f"{words}: {stream}")
        had.event, had.may_jump = number, False

    def tape(self, had, rows, is_full, words):
        ids = [row["id"] for row in rows]
        if ids != list(range(ids[0], ids[-1] + 1)):
            self.tally.fault("silent loss", f"{words}: a hole within {ids[0]} to {ids[-1]}")
        elif had.number is not None and not had.may_jump and (ids[0] > had.number + 1 if is_full else ids[0] != had.number + 1):
            self.tally.fault("silent loss", f"{words}: trade {ids[0]} came after {had.number}")
        had.number = ids[-1]

    def book(self, had, book, is_full, words):
        if not is_full and had.number is not None and book["previousUpdateId"] != had.number:
            self.tally.fault("silent loss", f"{words}: an update that follows {book['previousUpdateId']} came after {had.number}")
        had.number = book["lastUpdateId"]


async def fray(options, gateway, tally):
    witness = Witness(gateway)
    watching = asyncio.create_task(witness.run())
    await witness.reaches(1)

    async def one(number):
        reader = Reader(number, gateway, random.Random(options.seed * 1000 + number), tally, options.control)
        while tally.verdicts.total() < options.resumes:
            await reader.round()
            reader.come_back()
            await asyncio.sleep(reader.dice.uniform(0, 0.3))

    readers = asyncio.gather(*(one(number) for number in range(options.readers)))
    await asyncio.wait({watching, readers}, return_when=asyncio.FIRST_COMPLETED)
    if watching.done():
        watching.result()
    await readers
    await asyncio.wait_for(witness.reaches(max(number for number, *_ in tally.checks)), PATIENCE)
    watching.cancel()
    tally.judge(witness)
    return sum(map(len, witness.events.values()))


def epoch(executable, exchange):
    """A gateway's epoch, and the gateway."""
    gateway = house.Gateway(executable, exchange)
    status, snapshot = gateway.ask("GET", "/streams/btcusdt@markPrice")
    if status != 200:
        raise SystemExit(f"no snapshot: {status} {snapshot}")
    return snapshot["id"].split(".")[0], gateway


def equal_epochs(options, exchange):
    """How many pairs of gateways started together have one epoch."""
    equal = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in range(options.pairs):
            pair = list(pool.map(lambda _: epoch(options.executable, exchange), range(2)))
            equal += pair[0][0] == pair[1][0]
            for _, gateway in pair:
                gateway.signal(signal.SIGKILL)
                gateway.process.wait()
                gateway.process.stdout.close()
    return equal


def main(options):
    print(f"seed {options.seed}: {options.resumes} resumes by {options.readers} readers of {', '.join(STREAMS)}", flush=True)
    exchange = house.Exchange(options.executable, "--book-updates", options.rate, "--depth-interval", options.interval, "--weight-limit", 100_000_000)
    gateway = house.Gateway(options.executable, exchange, "--replay-seconds", 600, log=options.log)
    tally = Tally()
    events = asyncio.run(fray(options, gateway, tally))
    status = gateway.end()
    for verdict in ("exact", "reset"):
        if not tally.verdicts[verdict]:
            tally.fault("wrong verdict", f"nobody was told {verdict}")
    if tally.verdicts["none"]:
        tally.fault("wrong verdict", "none with an id")
    if tally.lost > options.resumes / 50 + 5:
        tally.fault("connections", f"{tally.lost} were lost")
    if status:
        tally.fault("end", f"the gateway ended with {status}")
    for fault in tally.faults[:20]:
        print("FAULT", fault)
    told = ", ".join(f"{tally.verdicts[verdict]} {verdict}" for verdict in ("exact", "reset"))
    print(f"{sum(tally.verdicts.values())} resumes over {events} events: {told}; {tally.kinds['silent loss']} silent losses, "
          f"{tally.kinds['no full value']} streams without a full value, {tally.kinds['repeat']} repeats against the contract, {tally.repeats} within it; {tally.lost} connections lost", flush=True)
    pairs = 0 if options.control else options.pairs
    if pairs:
        equal = equal_epochs(options, exchange)
        if equal:
            tally.fault("equal epochs", f"of {equal} pairs")
            print("FAULT", tally.faults[-1])
        print(f"{pairs} pairs of gateways started together: {equal} equal epochs", flush=True)
    exchange.end()
    print("passed" if not tally.faults else f"FAILED with {len(tally.faults)} faults", flush=True)
    return not tally.faults
