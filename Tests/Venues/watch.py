"""A process that reads streams of one venue from the gateway and from the venue itself, and notes when each message arrived at which of the two.

The times are those at which the kernel received the bytes, so a busy reader neither adds to them nor hides them.
"""

import json
import multiprocessing
import re
import selectors
import socket
import struct
import time

import peer
import sse

NOTICES = {"disconnect", "connect", "recover", "status", "fail", "gap", "bye"}
"""Events that a reader of a healthy venue never receives after the start."""
STAMPS = 35
"""SO_TIMESTAMPNS of Linux, for which Python has no name."""


class Futures:
    """How a message of a futures venue is recognized: the stream, and the number that the venue gave it."""

    frame = re.compile(rb'"stream":"([^"]+)".*?(?:"[ua]":|"r":"[^"]*","T":)(\d+)')
    event = re.compile(rb'"stream":"(?:binance:)?([^"]+)".*?"(?:updateId|lastUpdateId|id|nextFundingTime)":(\d+)')

    def __init__(self, streams):
        self.path, self.requests = "/stream?streams=" + "/".join(stream for stream in streams if "openInterest" not in stream), []


class Hyperliquid:
    """The same of Hyperliquid: the coin, the kind, and the time of the block."""

    frame = re.compile(rb'"(?:l2B|b)(ook|bo)","data":\{"coin":"(\w+)","time":(\d+)')
    event = re.compile(rb'"stream":"hyperliquid:\w+@b(ook|bo)".*?"coin":"(\w+)","time":(\d+)')
    types = {"book": "l2Book", "bbo": "bbo"}

    def __init__(self, streams):
        parts = [stream.split("@") for stream in streams]
        self.path = "/ws"
        self.requests = [{"method": "subscribe", "subscription": {"type": self.types[kind], "coin": coin}} for coin, kind in parts]


class Watch:
    """`venue` is the venue that is measured; without one, only the notices are noted."""

    def __init__(self, gateway, prefix, streams, language, venue=None):
        self.ours, theirs = multiprocessing.Pipe()
        place, names = venue and (venue.host, venue.port), [prefix + stream for stream in streams]
        settings = ((gateway.host, gateway.port), names, language(streams), place, theirs)
        self.process = multiprocessing.Process(target=_watch, args=settings, daemon=True)
        self.process.start()
        theirs.close()

    def end(self):
        """(messages as (arrival at the reader, seconds since the arrival of the venue's own message), notices as (arrival, event, data))"""
        self.ours.send(None)
        came, read, notices = self.ours.recv()
        self.process.join()
        return [(at, at - came[key]) for key, at in read.items() if key in came], notices


def _stamped(link):
    """Bytes of a socket, and when the kernel received the last of them."""
    data, extra, _, _ = link.recvmsg(1 << 18, 64)
    for _, kind, value in extra:
        if kind == STAMPS:
            seconds, rest = struct.unpack("qq", value)
            return data, seconds + rest / 1e9
    return data, time.time()


class Direct(peer.Socket):
    """A WebSocket of the venue. `at` is when the last bytes arrived."""

    def __init__(self, *place):
        super().__init__(*place)
        self.tcp.setsockopt(socket.SOL_SOCKET, STAMPS, 1)

    def read(self):
        try:
            data, self.at = _stamped(self.tcp)
        except OSError:
            data = b""
        self.ended = None if data else "the server ended the connection"
        self.buffer += data
        return self.parsed()


class Reader(sse.Connection):
    """A reader of the gateway. `at` is when the last bytes arrived."""

    def __init__(self, *place):
        super().__init__(*place)
        self.socket.setsockopt(socket.SOL_SOCKET, STAMPS, 1)

    def _some(self):
        data, self.at = _stamped(self.socket)
        if not data:
            raise ConnectionError("the connection ended")
        return data


def _watch(gateway, streams, language, venue, pipe):
    came, read, notices = {}, {}, []
    poll = selectors.DefaultSelector()
    reader = Reader(*gateway, streams)
    poll.register(reader, selectors.EVENT_READ)
    poll.register(pipe, selectors.EVENT_READ)
    if venue:
        direct = Direct(*venue, language.path)
        for request in language.requests:
            direct.send(peer.TEXT, json.dumps(request).encode())
        poll.register(direct, selectors.EVENT_READ)
    while True:
        ready = [key.fileobj for key, _ in poll.select()]
        if venue and direct in ready:
            for frame in direct.read():
                if found := language.frame.search(frame.payload):
                    came.setdefault(found.groups(), direct.at)
            if not direct.is_open:
                poll.unregister(direct)
        if reader in ready:
            try:
                blocks = reader.read()
            except OSError as error:
                notices.append((time.time(), "the connection ended", str(error)))
                poll.unregister(reader)
                continue
            for block in blocks:
                if block.startswith(b"event: update"):
                    if venue and (found := language.event.search(block)):
                        read.setdefault(found.groups(), reader.at)
                elif (name := block[7:block.find(b"\n")].decode()) in NOTICES:
                    notices.append((reader.at, name, sse.Event(block).data))
        if pipe in ready:
            return pipe.send((came, read, notices))
