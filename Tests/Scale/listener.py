"""Hears what is published to the log, and when, as a plain NATS client. What it hears need not be committed yet."""

import socket
import threading
import time
from typing import NamedTuple


class Message(NamedTuple):
    at: float
    epoch: str
    is_claim: bool
    events: int


class Listener:
    def __init__(self, server, subject="fg.gateway.log"):
        self.messages = []
        self.link = socket.create_connection(("127.0.0.1", server.port))
        self.link.sendall(f'CONNECT {{"verbose":false,"headers":true}}\r\nSUB {subject} 1\r\nPING\r\n'.encode())
        self.lines = self.link.makefile("rb")
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for line in self.lines:
                words = line.split()
                if words[:1] == [b"PING"]:
                    self.link.sendall(b"PONG\r\n")
                if words[:1] not in ([b"HMSG"], [b"MSG"]):
                    continue
                headers = int(words[-2]) if words[0] == b"HMSG" else 0
                body = self.lines.read(int(words[-1]) + 2)[headers:]
                head, _, records = body.partition(b"\n")
                self.messages.append(Message(time.monotonic(), head.split()[1].decode(), records.startswith(b"e "), sum(
                    record[:1] not in (b"k", b"e", b"\r", b"") for record in records.split(b"\n"))))
        except OSError:
            pass

    def close(self):
        self.link.close()
