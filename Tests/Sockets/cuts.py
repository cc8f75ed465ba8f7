"""Strict book clients while the gateway's connection to the exchange is cut again and again."""

import json
import threading
import time

import peer
import strict

KINDS = ("reset", "reset", "reset", "close", "within a frame", "shutdown", "gap", "stall", "truncated")
PATIENCE = 45
"""Seconds within which every client has a book again that was compared with the exchange's."""
AGAIN = 0.25
"""Seconds before a client fetches the book again that it could not join."""
SPEEDS = ("@100ms", "@0ms", "")


class Client(threading.Thread):
    """Follows one book, and starts again after each break and each end of its socket."""

    def __init__(self, stage, number):
        super().__init__(daemon=True)
        self.stage, self.number, self.dice = stage, number, stage.fork()
        self.symbol = stage.symbols[number % 3]
        self.name = f"{self.symbol.lower()}@depth{SPEEDS[number // 3 % len(SPEEDS)]}"
        self.rest, self.truth, self.line = strict.REST(stage.gateway), strict.REST(stage.venue), strict.REST(stage.venue)
        self.breaks, self.ends, self.joins, self.compared, self.deep, self.overlaps, self.faults = 0, 0, 0, 0, 0, [], []
        self.compared_at, self.stopped = 0, False
        self.heard = time.monotonic()
        self.said = "nothing yet"
        """`compared_at` is the update id of the book that was compared last."""

    @property
    def visible(self):
        return self.breaks + self.ends

    def state(self, newest):
        age = time.monotonic() - self.heard
        return (f"{'joined' if self.is_joined else 'not joined'} at {self.book.position}, compared at {self.compared_at}, the exchange was at "
                f"{newest[self.symbol]}; its last event came {age:.1f} s ago; {self.said}")

    def run(self):
        while not self.stopped:
            try:
                self.session()
            except (peer.Refused, OSError) as error:
                self.said = f"the socket does not open: {error}"
                time.sleep(0.2)
            except Exception as error:
                self.faults.append(f"{self.name}: {type(error).__name__}: {error}")
                time.sleep(1)

    def session(self):
        socket = peer.Socket(self.stage.gateway.host, self.stage.gateway.port, "/ws")
        socket.ask("SUBSCRIBE", [self.name], id=self.number)
        self.begin()
        while not self.stopped and socket.is_open:
            for one in socket.wait(0.05):
                if one.opcode == peer.TEXT:
                    self.take(json.loads(one.payload))
            if self.answer is not None:
                self.answered()
            self.compare()
        if not self.stopped:
            self.ends += 1
            self.said = f"closed {self.socket_end(socket)}"
        socket.close()

    @staticmethod
    def socket_end(socket):
        return socket.closed or socket.ended

    def begin(self):
        self.book, self.answer, self.fetching, self.is_joined = strict.Book(), None, False, False
        self.next_look, self.next_deep, self.wanted = 0.0, time.monotonic() + self.dice.uniform(0, 1), None

    def fetch(self, pause=0.0):
        self.fetching, book = True, self.book

        def ask():
            time.sleep(pause)
            try:
                answer = self.rest.depth(self.symbol)
            except OSError as error:
                answer = (0, {"error": str(error)})
            if book is self.book:
                self.answer = answer
        threading.Thread(target=ask, daemon=True).start()

    def answered(self):
        (status, body), self.answer, self.fetching = self.answer, None, False
        if status != 200:
            self.said = f"REST answers {status} {body}"
            return self.fetch(AGAIN)
        self.joining(lambda: self.book.start(body))

    def joining(self, act):
        try:
            act()
        except strict.Overlap as error:
            self.overlaps.append(f"{self.name}: {error}")
            events = self.book.buffer
            self.begin()
            self.book.buffer = events
            self.fetch(AGAIN)

    def take(self, message):
        self.heard = time.monotonic()
        if "event" in message:
            # The notice that the socket is about to be closed.
            return
        if "result" in message or "error" in message or "code" in message:
            if message.get("result", 0) is not None:
                self.faults.append(f"{self.name}: SUBSCRIBE is answered {message}")
            # Before this answer the subscription may not be in effect, as at the venue, and a book could be too old for its first message.
            elif not self.fetching:
                self.fetch()
            return
        if self.book.position is None:
            self.joining(lambda: self.book.receive(message))
        elif not self.book.receive(message):
            self.breaks += 1
            self.said = f"pu {message['pu']} after u {self.book.position}"
            self.begin()
            self.book.receive(message)
            self.fetch()
            return
        if self.book.position is not None:
            if not self.is_joined:
                self.is_joined = True
                self.joins += 1
            self.book.keep()

    def compare(self):
        try:
            self.compare_now()
        except OSError:
            # An outage also cuts the connection to the exchange on which the client is judged.
            self.next_look = self.next_deep = time.monotonic() + 0.3

    def compare_now(self):
        now = time.monotonic()
        if not self.is_joined:
            return
        if now > self.next_look:
            self.next_look = now + self.dice.uniform(0.2, 0.5)
            at, ours = self.book.position, self.book.top()
            true = self.truth.truth(self.symbol, at)
            if true is not None:
                self.compared += 1
                self.compared_at = at
                if wrong := strict.difference(ours, true):
                    self.faults.append(f"{self.name}: the book at {at} is not the exchange's: {wrong}")
        if self.wanted is None and now > self.next_deep:
            self.next_deep = now + self.dice.uniform(0.8, 2)
            status, self.wanted = self.line.depth(self.symbol)
            self.wanted = self.wanted if status == 200 else None
        if self.wanted is not None and self.book.position >= self.wanted["lastUpdateId"]:
            wrong = strict.deep_difference(self.book, self.wanted)
            self.deep += wrong is not False
            if wrong:
                self.faults.append(f"{self.name}: the complete book at {self.wanted['lastUpdateId']} is not the exchange's: {wrong}")
            self.wanted = None


def inflict(stage, kind, name):
    """Begins an outage; (words, its longest duration in ms, whether all clients must notice it; None if it can pass unnoticed)."""
    venue, dice = stage.venue, stage.dice
    away = dice.randrange(200, 700)
    if kind == "gap":
        count = dice.randrange(1, 4)
        venue.fault("gap", stream=name, count=count)
        return f"gap of {count} in {name}", 1500, False
    if kind == "truncated":
        venue.fault("garbage", stream=name)
        return f"half a message of {name}", 1000, False
    if kind == "stall":
        # Longer than twice the interval of the slowest stream, so that a message is certainly missing.
        away += 500
        venue.fault("stall", streams=[name], forMs=away)
        return f"{name} silent for {away} ms", away, False
    if kind == "shutdown":
        venue.fault("serverShutdown", closeAfterMs=away)
        return f"serverShutdown and 1001 after {away} ms", away, None
    venue.fault("refuse", forMs=away)
    if kind == "close":
        code = dice.choice((1001, 1008, 1011, 1012))
        venue.fault("drop", code=code)
        return f"closed with {code}, refused for {away} ms", away, True
    if kind == "within a frame":
        count = dice.randrange(1, 4000)
        venue.fault("drop", afterBytes=count)
        return f"cut after {count} bytes, refused for {away} ms", away + 1000, None
    venue.fault("drop")
    return f"reset, refused for {away} ms", away, True


def now_at(stage, symbol):
    """The update id of the exchange's book."""
    for _ in range(40):
        try:
            return stage.rest.depth(symbol)[1]["lastUpdateId"]
        except OSError:
            time.sleep(0.25)
    raise SystemExit("the exchange does not answer after an outage")


def outage(stage, clients, number, faults):
    kind, victim = stage.dice.choice(KINDS), stage.dice.choice(clients)
    before = {client: client.visible for client in clients}
    words, length, all_notice = inflict(stage, kind, victim.name)
    begun = time.monotonic()
    expected = clients if all_notice else [] if all_notice is None else [one for one in clients if one.name == victim.name]
    time.sleep(length / 1000 + 0.3)
    newest = {symbol: now_at(stage, symbol) for symbol in {client.symbol for client in clients}}

    def is_over(client):
        return (client not in expected or client.visible > before[client]) and client.is_joined and client.compared_at > newest[client.symbol]
    while time.monotonic() < begun + PATIENCE and not all(map(is_over, clients)):
        time.sleep(0.05)
    for client in clients:
        if client in expected and client.visible == before[client]:
            faults.append(f"outage {number} ({words}): the client of {client.name} saw neither a break of pu nor the end of its socket; "
                          f"{client.state(newest)}")
        elif not is_over(client):
            faults.append(f"outage {number} ({words}): the client of {client.name} has no new and compared book after {PATIENCE} s: "
                          f"{client.state(newest)}")
    return words, time.monotonic() - begun


def check(stage, outages, count=9):
    stage.rest = strict.REST(stage.venue)
    clients = [Client(stage, number) for number in range(count)]
    for client in clients:
        client.begin()
        client.start()
    faults, took = [], []
    until = time.monotonic() + 60
    while time.monotonic() < until and not all(client.compared_at for client in clients):
        time.sleep(0.05)
    if missing := [client for client in clients if not client.compared_at]:
        faults.append(f"no book before the first outage: {missing[0].name}: {missing[0].said}")
    for number in range(outages):
        words, seconds = outage(stage, clients, number, faults)
        took.append(seconds)
        if len(faults) > 20:
            break
        time.sleep(stage.dice.uniform(0, 1))
    for client in clients:
        client.stopped = True
    for client in clients:
        client.join(20)
        faults += client.faults
    overlaps = [words for client in clients for words in client.overlaps]
    def total(name):
        return sum(getattr(client, name) for client in clients)
    print(f"cuts: {len(took)} outages, {len(clients)} strict clients saw {total('ends')} ends and {total('breaks')} breaks of pu and joined "
          f"{total('joins')} books; {total('compared')} books compared, {total('deep')} complete ones; {len(overlaps)} overlap failures; "
          f"the longest outage took {max(took, default=0):.1f} s", flush=True)
    return faults + [f"overlap: {words}" for words in overlaps]
