"""A WebSocket client (RFC 6455) that shows each frame as it arrived and can send frames that no well-behaved client sends."""

import base64
import collections
import hashlib
import json
import os
import select
import socket
import struct
import time

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

Frame = collections.namedtuple("Frame", "opcode payload head")
"""`head` is the bytes before the payload."""


class Refused(Exception):
    """The server answered the handshake with this status instead of 101."""

    def __init__(self, status, text):
        super().__init__(f"the handshake is answered {status}: {text[:200]!r}")
        self.status, self.text = status, text


class Broken(Exception):
    """The server sent a frame that RFC 6455 forbids."""


class Socket:
    """One connection. `closed` becomes the code and reason of the server's close frame, and `ended` the cause of the end of the TCP connection."""

    def __init__(self, host, port, path, headers=(), buffer=None, timeout=10):
        self.path = path
        self.closed, self.ended = None, None
        self.pings = 0
        self.buffer = bytearray()
        self.tcp = socket.socket(socket.AF_INET)
        if buffer:
            self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.tcp.settimeout(timeout)
        self.tcp.connect((host, port))
        self.tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16))
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key.decode()}",
                 "Sec-WebSocket-Version: 13", *headers, "", ""]
        self.tcp.sendall("\r\n".join(lines).encode())
        self._shake(key)

    def _shake(self, key):
        while b"\r\n\r\n" not in self.buffer:
            data = self.tcp.recv(65536)
            if not data:
                self.tcp.close()
                raise Refused(0, bytes(self.buffer).decode("latin-1") or "the connection ended")
            self.buffer += data
        head, _, rest = bytes(self.buffer).partition(b"\r\n\r\n")
        self.buffer = bytearray(rest)
        status, *fields = head.decode("latin-1").split("\r\n")
        number = int(status.split()[1])
        if number != 101:
            self.tcp.close()
            raise Refused(number, rest.decode("latin-1"))
        fields = {name.strip().lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        if fields.get("sec-websocket-accept") != base64.b64encode(hashlib.sha1(key + MAGIC).digest()).decode():
            raise Broken(f"Sec-WebSocket-Accept is wrong: {fields}")

    @property
    def is_open(self):
        return self.closed is None and self.ended is None

    def fileno(self):
        return self.tcp.fileno()

    def send(self, opcode, payload=b"", fin=True, masked=True):
        self.send_bytes(frame(opcode, payload, fin, masked))

    def send_bytes(self, data):
        try:
            self.tcp.sendall(data)
        except OSError as error:
            self.ended = self.ended or f"{error}"

    def ask(self, method, params=None, **members):
        """Sends a request. `members` can hold `id`."""
        body = {"method": method} | ({} if params is None else {"params": params}) | members
        self.send(TEXT, json.dumps(body, ensure_ascii=False).encode())

    def read(self):
        """Reads the bytes that are there, without waiting for more, and returns the complete frames among them. Answers pings."""
        if self.ended is None:
            try:
                data = self.tcp.recv(1 << 18)
                if not data:
                    self.ended = "the server ended the connection"
                self.buffer += data
            except OSError as error:
                self.ended = f"{error}"
        return self.parsed()

    def parsed(self):
        found = []
        while (one := self._frame()) is not None:
            if one.opcode == PING:
                self.pings += 1
                self.send(PONG, one.payload)
            elif one.opcode == CLOSE:
                self.closed = (int.from_bytes(one.payload[:2], "big") if one.payload else None, one.payload[2:].decode())
            found.append(one)
        return found

    def _frame(self):
        if len(self.buffer) < 2:
            return None
        first, second = self.buffer[0], self.buffer[1]
        size = {126: 4, 127: 10}.get(second & 127, 2)
        if len(self.buffer) < size:
            return None
        length = int.from_bytes(self.buffer[2:size], "big") if size > 2 else second & 127
        if len(self.buffer) < size + length:
            return None
        head, payload = bytes(self.buffer[:size]), bytes(self.buffer[size:size + length])
        del self.buffer[:size + length]
        if second & 128 or first & 112:
            raise Broken(f"the server's frame begins {head.hex()}: a mask or a reserved bit")
        if size != 2 + (0 if length < 126 else 2 if length < 65536 else 8):
            raise Broken(f"the server's frame begins {head.hex()}: the length is not in its shortest form")
        if first & 15 not in (TEXT, CLOSE, PING, PONG) or not first & 128:
            raise Broken(f"the server's frame begins {head.hex()}: fragments or an unknown opcode")
        return Frame(first & 15, payload, head)

    def wait(self, seconds):
        """The frames that arrive, as soon as there is one; an empty list after `seconds` or at the end."""
        until = time.monotonic() + seconds
        found = self.parsed()
        while not found and self.ended is None and (left := until - time.monotonic()) > 0:
            if select.select([self.tcp], [], [], left)[0]:
                found = self.read()
        return found

    def until_end(self, seconds):
        """Reads until the connection ends; whether it did. `closed` and `ended` say how."""
        until = time.monotonic() + seconds
        while self.ended is None and time.monotonic() < until:
            self.wait(until - time.monotonic())
        return self.ended is not None

    def close(self):
        self.tcp.close()
        self.ended = self.ended or "we closed it"

    def reset(self):
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


def frame(opcode, payload=b"", fin=True, masked=True, length=None):
    """The bytes of a frame. `length` is another length than the payload's."""
    count = len(payload) if length is None else length
    head = bytes([fin << 7 | opcode])
    mark = 128 if masked else 0
    if count < 126:
        head += bytes([mark | count])
    elif count < 65536:
        head += bytes([mark | 126]) + struct.pack(">H", count)
    else:
        head += bytes([mark | 127]) + struct.pack(">Q", count)
    if not masked:
        return head + payload
    mask = os.urandom(4)
    pad = (mask * (len(payload) // 4 + 1))[:len(payload)]
    return head + mask + (int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")).to_bytes(len(payload), "big")
