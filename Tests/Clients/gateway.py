"""A gateway of one stream of trades, that cuts its readers wherever it likes, and says what it asks for."""

import json
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
    allow_reuse_address, daemon_threads = True, True

    def __init__(self, seed=0, piece=None, key=None, forgets=0.2):
        super().__init__(("127.0.0.1", 0), Handler)
        self.dice, self.piece, self.key, self.forgets = random.Random(seed), piece, key, forgets
        self.sessions, self.asked = [], []
        self.furthest = 10
        threading.Thread(target=self.serve_forever, args=[0.01], daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


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
                self.answer(200, "application/json", json.dumps({"catalogue": CATALOGUE, "active": []}))
            elif line[1].startswith("/streams/"):
                book = {"stream": "btcusdt@depth", "id": "a.1", "kind": "full", "state": "stale", "ageMs": 90, "unverifiedMs": 80, "content": BOOK}
                self.answer(200, "application/json", json.dumps(book))
            elif line[1].startswith("/events?"):
                self.stream(headers.get("last-event-id"))
            else:
                self.answer(404, "application/problem+json", json.dumps({"detail": "There is nothing here."}))
        except OSError:
            pass

    def answer(self, status, kind, body):
        self.wfile.write(f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())

    def stream(self, last):
        server = self.server
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n")
        room = server.dice.randint(1, server.piece) if server.piece else 1000
        resume = "none" if not last else "reset" if server.dice.random() < server.forgets else "exact"
        next_number = int(last.split(".")[1], 36) + 1 if resume == "exact" else None
        # A first connection that fails is an error, and no cut.
        room += 0 if server.sessions else 1000
        server.sessions.append(resume)
        parts = ["retry: 1\n" + event("session", {"client": "c", "streams": [STREAM], "resume": resume, "replayed": 0, "heartbeat": 15})]
        if next_number is None:
            server.furthest += server.dice.randint(5, 20)
            rows = [{"id": number} for number in range(max(1, server.furthest - 499), server.furthest + 1)]
            parts.append(trade(server.furthest, "full", rows[-20:]))
            next_number = server.furthest + 1
        while room > 0:
            text = "".join(parts).encode()[:room]
            self.wfile.write(text)
            room -= len(text)
            parts = [trade(next_number)]
            server.furthest = max(server.furthest, next_number)
            next_number += 1
