"""A server-sent events reader over a plain socket (WHATWG HTML 9.2), without any help."""

import json
import socket


class Connection:
    """GET /events of some streams. `read` gives whole events as (event, id, data, bytes)."""

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
        chunk = self.socket.recv(1 << 20)
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
        return [parsed for parsed in map(parse, whole) if parsed]

    def close(self):
        self.socket.close()


def parse(block):
    """One event; None for a comment or a bare retry."""
    event = identity = data = None
    for line in block.split(b"\n"):
        if line.startswith(b"event: "):
            event = line[7:].decode()
        elif line.startswith(b"id: "):
            identity = line[4:].decode()
        elif line.startswith(b"data: "):
            data = json.loads(line[6:])
    return (event, identity, data) if event else None
