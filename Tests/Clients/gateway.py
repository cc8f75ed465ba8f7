"""Gateways for tests: one cuts its readers wherever it likes, another sends what it is told. Both keep what they were asked for in `asked`."""

import json
import queue
import random
import socketserver
import threading

STREAM = "btcusdt@aggTrade"
CATALOGUE = [{"pattern": "{symbol}@aggTrade", "merge": "append", "keep": 500}, {"pattern": "{symbol}@depth[@100ms|@500ms]", "merge": "book", "keep": 1000}]
BOOK = {"lastUpdateId": 7, "bids": [["10.0", "1"], ["9.5", "2"]], "asks": [["10.5", "1"]]}


def digits(number):
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + text
    return text or "0"


def event(name, data, identity=None):
    return f"event: {name}\ndata: {json.dumps(data)}\n{f'id: {identity}' + chr(10) if identity else ''}\n"


def trade(number, kind="delta", rows=None):
    """An event of the stream; each trade has the number of its event. Every third one tells a point to resume from."""
    identity = f"a.{digits(number)}"
    data = {"stream": STREAM, "id": identity, "type": "aggregateTrades", "kind": kind, "state": "live", "content": rows or [{"id": number}]}
    return event("update", data, f"{identity}.x" if number % 3 == 0 or kind == "full" else None)


class Gateway(socketserver.ThreadingTCPServer):
    """Reads the dice for where it cuts a reader, if `piece` is not None: the most bytes it sends; and for whether it `forgets`."""

    allow_reuse_address, daemon_threads = True, True

    def __init__(self, seed=0, piece=None, key=None, forgets=0.2):
        super().__init__(("127.0.0.1", 0), Handler)
        self.dice, self.piece, self.key, self.forgets = random.Random(seed), piece, key, forgets
        self.sessions, self.asked = [], []
        self.catalogue, self.active, self.status = CATALOGUE, [], 200
        self.furthest = 10
        threading.Thread(target=self.serve_forever, args=[0.01], daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def play(self, file, last):
        room = self.dice.randint(1, self.piece) if self.piece else 1000
        resume = "none" if not last else "reset" if self.dice.random() < self.forgets else "exact"
        next_number = int(last.split(".")[1], 36) + 1 if resume == "exact" else None
        # A first connection that fails is an error, and no cut.
        room += 0 if self.sessions else 1000
        self.sessions.append(resume)
        parts = ["retry: 1\n" + event("session", {"client": "c", "streams": [STREAM], "resume": resume, "replayed": 0, "heartbeat": 15})]
        if next_number is None:
            self.furthest += self.dice.randint(5, 20)
            rows = [{"id": number} for number in range(max(1, self.furthest - 499), self.furthest + 1)]
            parts.append(trade(self.furthest, "full", rows[-20:]))
            next_number = self.furthest + 1
        while room > 0:
            text = "".join(parts).encode()[:room]
            file.write(text)
            room -= len(text)
            parts = [trade(next_number)]
            self.furthest = max(self.furthest, next_number)
            next_number += 1


class Script(Gateway):
    """Sends what it is told, and answers a new reader with `status`."""

    def __init__(self, catalogue):
        super().__init__()
        self.catalogue, self.outbox = catalogue, queue.SimpleQueue()

    def send(self, step):
        if "half" in step:
            self.outbox.put(step["half"])
        if step["event"] == "resume":
            return
        if step["event"] not in ("cut", "suspend"):
            self.outbox.put("retry: 1\n" + event(step["event"], step["data"], step.get("id")))
        if step["event"] in ("cut", "suspend", "bye"):
            self.outbox.put(None)

    def play(self, file, last):
        while text := self.outbox.get():
            file.write(text.encode())

    def __exit__(self, *_):
        self.outbox.put(None)
        super().__exit__()


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().decode().split()
        if len(line) < 2:
            return
        headers = {}
        while (text := self.rfile.readline().decode().strip()):
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        self.server.asked.append((line[0], line[1], headers))
        try:
            if self.server.key and headers.get("authorization") != f"Bearer {self.server.key}":
                self.answer(401, "application/problem+json", json.dumps({"detail": "A key is needed."}))
            elif line[1] == "/streams":
                self.answer(200, "application/json", json.dumps({"catalogue": self.server.catalogue, "active": self.server.active}))
            elif line[0] == "POST":
                self.answer(200, "application/json", json.dumps({"client": "c", "streams": [], "paused": []}))
            elif line[1].startswith("/streams/") and self.server.status == 204:
                self.wfile.write(b"HTTP/1.1 204 X\r\nX-Feed-State: connecting\r\nConnection: close\r\n\r\n")
            elif line[1].startswith("/streams/"):
                book = {"stream": "btcusdt@depth", "id": "a.1", "kind": "full", "state": "stale", "ageMs": 90, "unverifiedMs": 80, "content": BOOK}
                self.answer(200, "application/json", json.dumps(book))
            elif line[1].startswith("/events?"):
                self.events(headers.get("last-event-id"))
            else:
                self.answer(404, "application/problem+json", json.dumps({"detail": "There is nothing here."}))
        except OSError:
            pass

    def answer(self, status, kind, body):
        self.wfile.write(f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())

    def events(self, last):
        if self.server.status == 204:
            return self.wfile.write(b"HTTP/1.1 204 X\r\nConnection: close\r\n\r\n")
        if self.server.status != 200:
            return self.answer(self.server.status, "application/problem+json", json.dumps({"detail": "It is refused."}))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n")
        self.server.play(self.wfile, last)
