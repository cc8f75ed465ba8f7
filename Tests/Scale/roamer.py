"""Readers that roam among edges: cut at any moment, back at another edge with the id that they have, and strict about what they are told.

They judge by the venue's own numbers: the trades of a symbol are numbered without a hole, and each update of a book names the one before it. Books are
rebuilt from events alone and compared with the venue's. An event of one id has the same bytes at every edge.
"""

import asyncio
import collections
import time
import zlib

import engine  # Leads to what is shared with Tests/Soak.

import book
import court
import sse

STREAMS = ["btcusdt@aggTrade", "ethusdt@aggTrade", "btcusdt@depth@100ms", "ethusdt@depth@100ms", "btcusdt@bookTicker"]
SAMPLE = 40
"""One update of a book in so many is compared with the venue's, by its id, so that all readers take the same."""


HEARING = 0.25
"""Seconds by which a reader on a busy machine may hear one event later than another."""

OWN = "No data from the cluster log.", "The log has lost events."
"""Outages that an edge tells by itself end with the connection: another edge knows nothing of them."""


class Silent(Exception):
    """Something that a reader was not told, or was told wrongly."""


class Told(book.Book):
    """A book rebuilt; what breaks the contract is a `Silent`."""

    def broken(self, words):
        raise Silent(f"{self.stream}: {words}")


class Position:
    """What a reader has of one stream."""

    def __init__(self, stream, rebuilds):
        self.stream, self.number, self.event, self.may_jump, self.is_down = stream, None, None, False, False
        self.is_book, self.is_own = "@depth" in stream, False
        self.book = Told(stream) if self.is_book and rebuilds else None
        self.data_at = self.silence = None
        """[when this connection received the last data before an outage, when it received the first data after it, the venue's time of the first missed
        change in ms or None], None without an outage."""


class Tally:
    """What all readers of a process have met."""

    def __init__(self, truth):
        self.verdicts, self.faults, self.byes = collections.Counter(), [], collections.Counter()
        self.events = self.gaps = self.recoveries = self.equal = self.forgotten = 0
        self.receipts = []
        """Seconds by which `downMs` was more than the reader's own silence, of every outage that a reader of a book lived through."""
        self.idle_at, self.idle_before = 0.0, 0.0
        """The last two moments at which this process could look for data. Data that it reads now may have arrived at any time since the earlier one."""
        self.returns = []
        """(seconds from the loss to the first event after it, seconds of them that the reader waited by itself), of those who came back."""
        self.bytes = {}
        self.parse = sse.Parser()
        self.books = {}
        """What readers say of (stream, update id), until the venue is asked."""
        self.truth = truth

    def fault(self, words):
        self.faults.append(words)

    async def look(self):
        """Records the moments at which this process can look for data, until it is cancelled."""
        while True:
            self.idle_before, self.idle_at = self.idle_at, time.monotonic()
            await asyncio.sleep(0.005)

    def agree(self, stream, identity, checksum):
        """An event has the same bytes for everybody."""
        if len(self.bytes) > 200_000:
            self.bytes = dict(list(self.bytes.items())[100_000:])
        if self.bytes.setdefault((stream, identity), checksum) != checksum:
            raise Silent(f"{stream}: {identity} has other bytes at another edge")

    def compare(self, name, stream, update, top):
        known = self.books.setdefault((stream, update), (top, name))
        if known[0] != top:
            raise Silent(f"{stream} at {update} is another book than {known[1]}'s: {court.difference(top, known[0])}")

    def ask_venue(self):
        """Compares the books that were told since the last call with the venue's; it forgets them after a while. Blocks."""
        books, self.books = self.books, {}
        for (stream, update), (top, name) in books.items():
            truth = self.truth(court.symbol(stream), update)
            if truth is None:
                self.forgotten += 1
            elif truth != top:
                self.fault(f"{name}: {stream} is wrong at {update}: {court.difference(top, truth)}")
            else:
                self.equal += 1


class Roamer:
    """One reader. `lie` gives the id that it says it has in place of the one that it has.

    `floor` is the number that was gone on from: what is not above it has come already.
    """

    def __init__(self, number, edges, dice, tally, streams=STREAMS, stays=(10, 60), lie=None):
        self.rebuilds = number % 5 == 0
        self.name, self.edges, self.dice, self.tally, self.streams = f"reader {number}", edges, dice, tally, streams
        self.stays, self.lie = stays, lie
        self.positions = {stream: Position(stream, self.rebuilds) for stream in streams}
        self.notices = []
        """(stream, what was told) of every outage."""
        self.trace = collections.deque(maxlen=40)
        """The newest events, for whoever has to find out what happened."""
        self.last, self.identity, self.retry, self.place = None, (0, 0), 2.0, dice.randrange(len(edges))
        self.lost_at, self.waited, self.is_open = None, 0.0, False
        self.refusals, self.own_cut, self.floor, self.data_at = 0, False, -1, 0.0
        self.longest = 0.0
        """The longest time in seconds between two events of data, since somebody set it to zero."""

    async def run(self):
        while not self.tally.faults:
            stay = self.dice.uniform(*self.stays)
            self.own_cut = False
            try:
                async with asyncio.timeout(stay):
                    await self.connection()
            except TimeoutError:
                self.own_cut = True
            except Silent as fault:
                if not self.tally.faults:
                    print(f"{self.name} before its fault: {'; '.join(self.trace)}")
                return self.tally.fault(f"{self.name}: {fault}")
            except (OSError, EOFError, ConnectionError):
                pass
            if self.is_open:
                self.is_open, self.lost_at = False, time.monotonic()
            # A reader that cuts itself comes back at once; one that was cut waits as long as it was told; one that was refused asks the next edge.
            wait = self.dice.uniform(0, 0.3) if self.own_cut else self.retry if self.lost_at and not self.refusals else 0.2
            self.waited += wait
            self.place = (self.place + self.dice.randrange(1, max(2, len(self.edges)))) % len(self.edges)
            await asyncio.sleep(wait)

    async def connection(self):
        host, port = self.edges[self.place]
        self.refusals += 1
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port, limit=1 << 23), 5)
        try:
            last = self.lie(self) if self.lie else self.last
            header = f"Last-Event-ID: {last}\r\n" if last else ""
            writer.write(
                f"GET /events?streams={','.join(self.streams)} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n{header}\r\n".encode())
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
            if not head.startswith(b"HTTP/1.1 200"):
                raise ConnectionError(head.decode("latin1"))
            parse, buffer = self.tally.parse, b""
            while chunk := await reader.read(1 << 18):
                *blocks, buffer = (buffer + chunk).split(b"\n\n")
                for block in blocks:
                    if block.startswith(b"retry: "):
                        self.retry = int(block[7:].split(b"\n")[0]) / 1000
                    self.take(parse(block), block)
        finally:
            writer.transport.abort()

    def take(self, event, block):
        name, data = event.name, event.data
        if name is None:
            return
        self.tally.events += 1
        self.trace.append(f"{name} {data.get('stream', data.get('resume', ''))} {data.get('kind', data.get('state', data.get('method', '')))} {data.get('id', '')} at {self.edges[self.place][1]}")
        if name == "session":
            return self.begin(data)
        if name == "bye":
            self.tally.byes[data["code"]] += 1
            raise ConnectionError(data["code"])
        position = self.positions.get(data.get("stream"))
        if not position:
            if name == "heartbeat":
                return
            raise Silent(f"not asked for: {name} {data}")
        if name in ("update", "fetch"):
            self.data(position, data, block)
        elif name == "gap":
            position.may_jump = True
            self.tally.gaps += 1
        elif name == "disconnect":
            position.is_down, position.is_own = True, data["reason"] in OWN
            position.silence = position.silence or [position.data_at, None, None]
            self.notices.append((position.stream, name))
        elif name == "recover":
            position.is_down = False
            self.receipt(position, data)
            self.notices.append((position.stream, f"recover {data['method']}" if data["result"] == "success" else "recover failure"))
            self.tally.recoveries += 1
            if data["result"] == "success" and data["method"] == "snapshot":
                position.may_jump = True
        if event.identity:
            if event.identity[1] < self.identity[1]:
                raise Silent(f"id {event.identity} after {self.identity}")
            self.identity = event.identity
            self.last = block[block.rindex(b"id: ") + 4 :].split(b"\n")[0].decode()

    def begin(self, session):
        verdict, was_away = session["resume"], self.lost_at is not None
        self.is_open, self.refusals = True, 0
        if was_away:
            now = time.monotonic()
            self.tally.returns.append((now - self.lost_at, self.waited, self.own_cut))
        self.lost_at, self.waited = None, 0.0
        for position in self.positions.values():
            position.data_at = position.silence = None
        if self.last is None:
            if verdict != "none":
                raise Silent(f"{verdict} without an id")
        else:
            self.tally.verdicts[verdict] += 1
            if verdict == "none":
                raise Silent("an id was not looked at")
        if verdict == "exact":
            self.floor = self.identity[1]
            for position in self.positions.values():
                position.is_down = position.is_down and not position.is_own
            return
        self.identity, self.floor = (0, 0), -1
        self.positions = {stream: Position(stream, self.rebuilds) for stream in self.streams}

    def data(self, position, data, block):
        number, is_full, content = int(data["id"].split(".")[1], 36), data["kind"] == "full", data["content"]
        if position.event is not None and (number < position.event or number == position.event and not is_full):
            raise Silent(f"{position.stream}: event {number} after {position.event}")
        if not is_full:
            if number <= self.floor:
                raise Silent(f"{position.stream}: event {number} came again after {self.floor} was gone on from")
            if position.number is None:
                raise Silent(f"{position.stream}: a change before complete data")
            self.tally.agree(position.stream, data["id"], zlib.crc32(block[: block.find(b"\nid: ")] if b"\nid: " in block else block))
        if "aggTrade" in position.stream:
            self.trades(position, content, is_full)
        elif position.is_book:
            self.book(position, content, is_full)
        else:
            position.number = content.get("updateId", 0)
        now = time.monotonic()
        if self.data_at:
            self.longest = max(self.longest, now - self.data_at)
        position.event, position.may_jump, self.data_at = number, False, now
        position.data_at = self.data_at
        if position.silence and position.silence[1] is None:
            came = max(position.silence[0] or 0.0, self.tally.idle_before or self.data_at)
            position.silence[1], position.silence[2] = came, None if is_full else data.get("eventTime")

    def receipt(self, position, data):
        """`downMs` may not be less than the reader's own silence. Books change ten times a second, so their silence is the outage.

        If the venue itself paused before the outage, the first missed change says when the outage began for this reader.
        """
        if position.silence and position.silence[0] and position.is_book and data["result"] == "success":
            since, until, missed = position.silence
            now = time.monotonic()
            silence = (until or max(since, self.tally.idle_before or now)) - since
            if missed:
                silence = min(silence, time.time() - missed / 1000 - (now - until))
            self.tally.receipts.append(data["downMs"] / 1000 - silence)
            if self.tally.receipts[-1] < -HEARING:
                raise Silent(f"{position.stream}: {data['method']}: downMs {data['downMs']} of a silence of {silence * 1000:.0f} ms")
        position.silence = None

    def trades(self, position, rows, is_full):
        if not rows:
            return
        ids = [row["id"] for row in rows]
        if ids[-1] - ids[0] != len(ids) - 1:
            raise Silent(f"{position.stream}: a hole within {ids[0]} to {ids[-1]}")
        had = position.number
        if had is not None and not position.may_jump and (ids[0] > had + 1 if is_full else ids[0] != had + 1):
            raise Silent(f"{position.stream}: {'silent loss' if ids[0] > had + 1 else 'twice'}: trade {ids[0]} came after {had}")
        if had is not None and ids[-1] < had:
            raise Silent(f"{position.stream}: trades went back from {had} to {ids[-1]}")
        position.number = ids[-1]

    def book(self, position, content, is_full):
        """One reader in five rebuilds the book, the others see that no update is missing."""
        book, had, number = position.book, position.number, content["lastUpdateId"]
        if is_full and had is not None and number < had:
            raise Silent(f"{position.stream}: complete data of {number} came after {had}")
        if not is_full and content["previousUpdateId"] != had:
            raise Silent(f"{position.stream}: {'twice' if number <= had else 'silent loss'}: update {number}, which follows {content['previousUpdateId']}, came after {had}")
        position.number = number
        if book:
            book.position = book.full(content) if is_full else book.delta(content)
            if number % SAMPLE == 0:
                self.tally.compare(self.name, position.stream, number, book.top())

    def lacks(self):
        """Which streams it has no value of, or knows to be in an outage."""
        return [position.stream for position in self.positions.values() if position.number is None or position.is_down]

    @property
    def is_whole(self):
        """Whether it is connected, and has every stream in an outage no more."""
        return self.is_open and not self.lacks()
