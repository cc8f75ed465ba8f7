"""A server-sent events reader over a plain socket (WHATWG HTML 9.2), without any help."""

import json
import socket

PIECE = 1 << 16
"""Bytes read at a time, few enough that the readers of a process stay together and can share what they parse."""


class Connection:
    """GET /events of some streams. `read` gives the blocks of whole events."""

    def __init__(self, host, port, streams, extra=""):
        self.socket = socket.create_connection((host, port), timeout=10)
        self.socket.sendall(f"GET /events?streams={','.join(streams)}{extra} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n\r\n".encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self._some()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(head.decode("latin1") + self.buffer.decode("utf8", "replace"))
        self.socket.setblocking(False)

    def _some(self):
        chunk = self.socket.recv(PIECE)
        if not chunk:
            raise ConnectionError("the connection ended")
        return chunk

    def fileno(self):
        return self.socket.fileno()

    def read(self):
        """Everything that has arrived."""
        try:
            self.buffer += self._some()
        except BlockingIOError:
            return []
        *whole, self.buffer = self.buffer.split(b"\n\n")
        return whole

    def close(self):
        self.socket.close()


class Event:
    """One event: its name, its id as (epoch, number), its data as a value, and the bytes of the levels in it, if any."""

    __slots__ = ("name", "identity", "data", "levels")

    def __init__(self, block):
        self.name = self.identity = self.data = self.levels = None
        for line in block.split(b"\n"):
            if line.startswith(b"event: "):
                self.name = line[7:].decode()
            elif line.startswith(b"id: ") and len(line) > 4:
                self.identity = tuple(int(part, 36) for part in line[4:].split(b"."))
            elif line.startswith(b"data: "):
                self.data = json.loads(line[6:])
                self.levels = line[line.find(b'"bids"'):] if b'"bids"' in line else None


class Parser:
    """Readers of one process get the same bytes, so each block is parsed once. Nobody changes what comes out."""

    def __init__(self):
        self.parsed = {}

    def __call__(self, block):
        event = self.parsed.get(block)
        if event is None:
            if len(self.parsed) > 2_000:
                self.parsed.clear()
            event = self.parsed[block] = Event(block)
        return event
