"""A proxy between the gateway and the venue that cuts the connections through it at chosen bytes, and remembers when."""

import collections
import dataclasses
import functools
import itertools
import re
import selectors
import socket
import struct
import threading
import time

RESET = struct.pack("ii", 1, 0)
STREAM = re.compile(rb'\{"stream":"([^"]+)"')
ASKED = re.compile(rb"GET /fapi/v1/([\w/]+)\?(?:[^ ]*&)?symbol=(\w+)")
NAME = 120
"""Bytes of a frame's text within which its stream is named."""


@dataclasses.dataclass
class Strike:
    """What ends connections: where, how, and which: all, `only` those for `rest` or the `web` sockets, or the one WebSocket it strikes in `alone`.

    `how` is `reset`, `fin`, or `vanish`: the venue's side is gone, and the gateway is told nothing, whatever it sends.
    `at` is `now`, inside the next `frame` of data, inside the `nth` `snapshot` asked for from now on, or around the next `subscribe` message.
    `share` is how much of the frame, reply or message still passes, 0 to 1; a `subscribe` of 1 passes, and the cut comes before the answer.
    """

    at: str = "now"
    how: str = "reset"
    share: float = 0.5
    nth: int = 1
    only: str = ""
    alone: bool = False


class Frames:
    """Finds the frames in the bytes of a WebSocket server (RFC 6455 §5.2; never masked)."""

    def __init__(self):
        self.head = b""
        self.left = 0

    def feed(self, data):
        """(opcode, place of the payload in `data`, length) of each frame that begins in `data`."""
        found, place = [], 0
        while place < len(data):
            if self.left:
                step = min(self.left, len(data) - place)
                self.left -= step
                place += step
                continue
            self.head += data[place:place + 1]
            place += 1
            size = {126: 4, 127: 10}.get(self.head[1] & 127, 2) if len(self.head) > 1 else 2
            if len(self.head) == size:
                self.left = int.from_bytes(self.head[2:], "big") if size > 2 else self.head[1] & 127
                found.append((self.head[0] & 15, place, self.left))
                self.head = b""
        return found


class Pipe:
    """One connection of the gateway and the one to the venue behind it."""

    def __init__(self, number, client, server):
        self.number, self.client, self.server = number, client, server
        self.is_web_socket = False
        self.begun = None
        """The beginning of a frame's payload that does not yet say of which stream it is."""
        self.frames = None
        self.seen = set()
        """Streams of which it brought a frame."""
        self.reply_share = None
        self.found = []
        """(opcode, place) of the frames that begin in what came last."""
        self.limit = None
        """How many more bytes of the venue pass before the cut."""


class Cutter:
    """Listens on loopback and passes everything on to the venue. A thread of its own does the work."""

    def __init__(self, host, port):
        self.venue = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.host, self.port = self.listener.getsockname()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, self._accept)
        self.waker, waked = socket.socketpair()
        self.selector.register(waked, selectors.EVENT_READ, functools.partial(waked.recv, 64))
        self.pipes = set()
        self.armed = collections.deque()
        self.done = []
        """(strike, when) of all that struck."""
        self.accepted = []
        """When each WebSocket of the gateway was accepted."""
        self.most = 0
        """WebSockets that were open at a time."""
        self.frames = collections.defaultdict(lambda: collections.deque(maxlen=2000))
        """When the frames of each stream went on to the gateway, and by which pipe: (before, after, pipe's number)."""
        self.bytes = collections.defaultdict(lambda: collections.deque(maxlen=20_000))
        """The same of whatever a pipe's WebSocket said, by its number: (before, after)."""
        self.asked = collections.defaultdict(list)
        """When each path and symbol was asked for over REST."""
        self.numbers = itertools.count()
        threading.Thread(target=self._run, daemon=True).start()

    def strike(self, strike):
        """Asks for a strike; one waits for the other."""
        self.armed.append(strike)
        self.waker.send(b"!")

    def open_web_sockets(self):
        return sum(pipe.is_web_socket for pipe in list(self.pipes))

    def are_ready(self, lines, streams):
        """Whether so many WebSockets are open, and each has brought something of every stream."""
        webs = [pipe for pipe in list(self.pipes) if pipe.is_web_socket]
        return len(webs) == lines and all(pipe.seen >= streams for pipe in webs)

    def last_frame(self, stream, until):
        """Of the frames of a stream that came before `until`, the last: (before, after, pipe's number); None where there is none."""
        return next((frame for frame in reversed(self.frames[stream].copy()) if frame[0] < until), None)

    def last_byte(self, pipe, until):
        """The same of anything that a pipe said: (before, after)."""
        return next((heard for heard in reversed(self.bytes[pipe].copy()) if heard[0] < until), None)

    def _run(self):
        while True:
            for key, _ in self.selector.select(self._patience()):
                if key.fileobj.fileno() >= 0:
                    key.data()
                if self._armed("now"):
                    self._cut()
            self._turn()

    def _patience(self):
        """Seconds until something is due though nothing comes; None: nothing is."""

    def _turn(self):
        """Called after whatever came, and whenever something is due."""

    def _armed(self, place):
        return bool(self.armed) and self.armed[0].at == place

    def _accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.create_connection(self.venue, timeout=5)
        except OSError:
            return self._end(client, "reset")
        pipe = Pipe(next(self.numbers), client, server)
        self.pipes.add(pipe)
        for own, other, look in ((client, server, self._outgoing), (server, client, self._incoming)):
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            own.settimeout(10)
            self.selector.register(own, selectors.EVENT_READ, functools.partial(self._pass, pipe, own, other, look))

    def _pass(self, pipe, source, target, look):
        """Hands on what came; `look` says how much of it, and a cut follows where that is not all."""
        if pipe not in self.pipes:
            return
        try:
            data = source.recv(1 << 18)
            if not data:
                return self._close(pipe, "fin")
            size, cuts = look(pipe, data)
            before, streams = time.monotonic(), self._streams(pipe, data) if look == self._incoming else ()
            target.sendall(data[:size])
            after = time.monotonic()
            if pipe.frames and look == self._incoming:
                self.bytes[pipe.number].append((before, after))
            for stream in streams if not cuts else ():
                self.frames[stream].append((before, after, pipe.number))
                pipe.seen.add(stream)
        except OSError:
            return self._close(pipe, "reset")
        if cuts:
            self._cut(pipe)

    def _outgoing(self, pipe, data):
        """From the gateway: requests, and the control messages of a WebSocket."""
        if found := ASKED.match(data):
            self.asked[found[1].decode(), found[2].decode().lower()].append(time.monotonic())
        if data.startswith(b"GET /fapi/v1/depth"):
            if self._armed("snapshot"):
                self.armed[0].nth -= 1
                if self.armed[0].nth == 0:
                    pipe.reply_share = self.armed[0].share
        elif data.startswith(b"GET /stream"):
            pipe.is_web_socket = True
            self.accepted.append(time.monotonic())
            self.most = max(self.most, self.open_web_sockets())
        elif pipe.frames and data[0] & 15 == 1 and self._armed("subscribe"):
            return int(len(data) * self.armed[0].share), True
        return len(data), False

    def _incoming(self, pipe, data):
        """From the venue: replies, and the frames of a WebSocket."""
        if pipe.is_web_socket:
            pipe.found = []
            self._look_at_frames(pipe, data)
        elif pipe.reply_share is not None and (head := re.match(rb".*?content-length: (\d+).*?\r\n\r\n", data, re.S | re.I)):
            pipe.limit = int((head.end() + int(head[1])) * pipe.reply_share)
            pipe.reply_share = None
        if pipe.limit is None:
            return len(data), False
        if pipe.limit > len(data):
            pipe.limit -= len(data)
            return len(data), False
        return pipe.limit, True

    def _look_at_frames(self, pipe, data):
        begin = 0
        if not pipe.frames:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                return
            pipe.frames, begin = Frames(), end + 4
        found = pipe.frames.feed(data[begin:])
        pipe.found = [(opcode, begin + place) for opcode, place, _ in found]
        if self._armed("frame") and pipe.limit is None:
            for opcode, place, length in found:
                if opcode == 1:
                    pipe.limit = begin + place + int((length - 1) * self.armed[0].share)
                    return

    def _streams(self, pipe, data):
        """The streams whose frames begin in `data`."""
        beginnings = [pipe.begun + data[:NAME]] if pipe.begun is not None else []
        beginnings += [data[place:place + NAME] for opcode, place in pipe.found if opcode == 1]
        is_short = bool(beginnings) and len(beginnings[-1]) < NAME and not STREAM.match(beginnings[-1])
        pipe.begun = beginnings[-1] if is_short else None
        return [found[1].decode() for beginning in beginnings if (found := STREAM.match(beginning))]

    def _cut(self, struck=None):
        """The strike whose turn it is hits: if it is alone, the connection it struck in, or that WebSocket whose turn its share says."""
        if not self.armed:
            return
        strike = self.armed.popleft()
        at = time.monotonic()
        hit = [pipe for pipe in self.pipes if strike.only != ("rest" if pipe.is_web_socket else "web")]
        if strike.alone:
            webs = sorted((pipe for pipe in hit if pipe.is_web_socket), key=lambda pipe: pipe.number)
            hit = [struck] if struck else webs[int(strike.share * len(webs)):][:1]
        for pipe in hit:
            self._close(pipe, strike.how)
        self.done.append((strike, at))

    def _close(self, pipe, how):
        self.pipes.discard(pipe)
        for side in (pipe.client, pipe.server):
            if side.fileno() >= 0:
                self.selector.unregister(side)
        self._end(pipe.server, "reset")
        self._end(pipe.client, how)

    def _end(self, side, how):
        """With a TCP reset; or with a FIN or nothing, after which what still comes is read away, for else the kernel would send a reset."""
        if how == "reset":
            side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            return side.close()
        try:
            if how == "fin":
                side.shutdown(socket.SHUT_WR)
            self.selector.register(side, selectors.EVENT_READ, functools.partial(self._drain, side))
        except OSError:
            side.close()

    def _drain(self, side):
        try:
            if side.recv(1 << 16):
                return
        except OSError:
            pass
        self.selector.unregister(side)
        side.close()
