"""A cutter that tells the lines to the venue apart by the addresses they come from, and does to the frames of one what a bad line does."""

import collections
import math
import re
import time

import cutter

STREAM = re.compile(rb'\{"stream":"([^"]+)"')
REQUEST = re.compile(rb"GET /fapi/v1/([\w/]+)\?([^ ]*)")


SLOW = 0.1
"""Seconds that are worth a word."""


class Frame:
    """A whole frame of the venue, and of which stream it is; the head of the HTTP answer counts as one of none."""

    __slots__ = ("bytes", "stream", "is_text")

    def __init__(self, data, payload=0):
        self.bytes = data
        self.is_text = bool(payload) and data[0] & 15 == 1
        found = self.is_text and STREAM.match(data, payload)
        self.stream = found[1].decode() if found else None


class Splitter:
    """Whole frames out of the bytes of a WebSocket server (RFC 6455 §5.2; never masked)."""

    def __init__(self):
        self.rest, self.is_open = b"", False

    def feed(self, data):
        self.rest += data
        frames, place = [], 0
        if not self.is_open:
            place = self.rest.find(b"\r\n\r\n") + 4
            if place < 4:
                return []
            self.is_open = True
            frames.append(Frame(self.rest[:place]))
        while len(self.rest) >= place + 2:
            short = self.rest[place + 1] & 127
            payload = place + {126: 4, 127: 10}.get(short, 2)
            if len(self.rest) < payload:
                break
            end = payload + (short if short < 126 else int.from_bytes(self.rest[place + 2:payload], "big"))
            if len(self.rest) < end:
                break
            frames.append(Frame(self.rest[place:end], payload - place))
            place = end
        self.rest = self.rest[place:]
        return frames


class Well:
    """A line on which nothing is wrong."""

    is_deaf = False
    """Whether nothing that the gateway says passes either."""
    is_down = False
    """Whether no connection is let in."""

    def __init__(self, dice=None):
        self.dice = dice
        self.touched = 0
        """Frames that it did something to."""

    def take(self, web, frame, now):
        """What goes on to the gateway for this frame: (when, frame)."""
        return [(now, frame)]

    def left(self, web):
        """What goes on once it is over."""
        return []

    def touch(self, *planned):
        self.touched += 1
        return list(planned)


class Stall(Well):
    """The venue says nothing more but answers to pings, and what it should have said is lost."""

    def take(self, web, frame, now):
        return self.touch() if frame.is_text else [(now, frame)]


class Hole(Well):
    """Nothing passes, either way, until it is over."""

    is_deaf = True

    def take(self, web, frame, now):
        return self.touch((math.inf, frame))


class Down(Well):
    """Whoever connects is cut."""

    is_down = True


class Some(Well):
    """Something happens to a share of the data."""

    def __init__(self, dice, share=None):
        super().__init__(dice)
        self.share = share or dice.choice((0.02, 0.2, 0.6))

    def take(self, web, frame, now):
        return self.hit(web, frame, now) if frame.stream and self.dice.random() < self.share else [(now, frame)]


class Drop(Some):
    def hit(self, web, frame, now):
        return self.touch()


class Duplicate(Some):
    def hit(self, web, frame, now):
        return self.touch((now, frame), (now, frame))


class Reorder(Some):
    """A frame changes places with the next one of its stream."""

    def __init__(self, dice, share=None):
        super().__init__(dice, share)
        self.kept = {}

    def take(self, web, frame, now):
        if kept := self.kept.pop((web, frame.stream), None):
            return [(now, frame), (now, kept)]
        return super().take(web, frame, now)

    def hit(self, web, frame, now):
        self.kept[web, frame.stream] = frame
        return self.touch()

    def left(self, web):
        return [frame for (other, _), frame in self.kept.items() if other is web]


class Delay(Well):
    def __init__(self, dice=None, seconds=0.2):
        super().__init__(dice)
        self.seconds = seconds

    def take(self, web, frame, now):
        return self.touch((now + self.seconds, frame))


class Jitter(Well):
    """Each frame is late by as much as comes, and none passes another."""

    def __init__(self, dice, seconds):
        super().__init__(dice)
        self.seconds = seconds

    def take(self, web, frame, now):
        return self.touch((now + self.dice.uniform(0, self.seconds), frame))


class Throttle(Well):
    """So many frames a second, or so many bytes, pass."""

    def __init__(self, dice, frames=math.inf, size=math.inf):
        super().__init__(dice)
        self.each, self.byte, self.free = 1 / frames, 1 / size, 0.0

    def take(self, web, frame, now):
        self.free = max(self.free, now) + self.each + len(frame.bytes) * self.byte
        return self.touch((self.free, frame))


class Line:
    def __init__(self, number):
        self.number = number
        self.fault = Well()
        self.opened = []
        """When each of its WebSockets was opened."""
        self.frames = self.bytes = 0


class Web:
    """A WebSocket of a line, and what is still to be handed on."""

    def __init__(self, pipe, line):
        self.pipe, self.line = pipe, line
        self.splitter, self.queue, self.outgoing = Splitter(), collections.deque(), []
        self.seen = set()
        """The streams of which data was handed on."""

    def take(self, frame, now):
        for due, planned in self.line.fault.take(self, frame, now):
            self.put(due, planned, now)

    def put(self, due, frame, came):
        """None passes another."""
        self.queue.append((max(due, self.queue[-1][0]) if self.queue else due, frame, came))


class Wires(cutter.Cutter):
    """`addresses` are those of the lines. `noted`, where it is given, is called with (line, frame, when it came, when it went on)."""

    def __init__(self, host, port, addresses, noted=None):
        self.lines = [Line(number) for number, _ in enumerate(addresses)]
        self.of_address = dict(zip(addresses, self.lines))
        self.webs, self.noted = {}, noted
        self.orders = collections.deque()
        self.story = collections.deque(maxlen=400)
        """What happened to the lines: (when, words)."""
        self.requests = []
        """When the gateway asked over REST for what: (when, path, query)."""
        self.strangers = []
        """Addresses of WebSockets that are of no line."""
        super().__init__(host, port)

    # What may be called from elsewhere.

    def begin(self, number, fault):
        """From now on the fault is that of the line."""
        self._order(lambda: self._begin(self.lines[number], fault))

    def heal(self, number):
        self._order(lambda: self._begin(self.lines[number], Well()))

    def cut(self, number, how):
        self._order(lambda: [self._end_web(web, how) for web in list(self.webs.values()) if web.line.number == number])

    def are_ready(self, streams):
        """Whether each line has one WebSocket that brought data of every stream, and owes nothing."""
        webs = list(self.webs.values())
        return sorted(web.line.number for web in webs) == list(range(len(self.lines))) and all(
            web.seen >= streams and len(web.queue) < 5 for web in webs)

    def _order(self, order):
        self.orders.append(order)
        self.waker.send(b"!")

    # In the thread of its own.

    def _begin(self, line, fault):
        self.story.append((time.monotonic(), f"line {line.number}: {type(fault).__name__.lower()}"))
        old, line.fault = line.fault, fault
        now = time.monotonic()
        for web in list(self.webs.values()):
            if web.line is line and fault.is_down:
                self._end_web(web, "reset")
            elif web.line is line:
                web.queue = collections.deque((now, frame, came) for _, frame, came in web.queue)
                for frame in old.left(web):
                    web.put(now, frame, now)

    def _end_web(self, web, how):
        self.story.append((time.monotonic(), f"line {web.line.number}: cut, {how}"))
        self._close(web.pipe, how)

    def _patience(self):
        due = min((web.queue[0][0] for web in self.webs.values() if web.queue), default=math.inf)
        return None if due == math.inf else max(0, due - time.monotonic())

    def _turn(self):
        now = time.monotonic()
        late = [now - web.queue[0][0] for web in self.webs.values() if web.queue]
        if late and max(late) > SLOW:
            self.story.append((now, f"the wires were {max(late):.2f} s late"))
        while self.orders:
            self.orders.popleft()()
        for web in list(self.webs.values()):
            self._flush(web)

    def _outgoing(self, pipe, data):
        was_web_socket, passed = pipe.is_web_socket, super()._outgoing(pipe, data)
        if found := REQUEST.match(data):
            self.requests.append((time.monotonic(), found[1].decode(), found[2].decode()))
        if pipe.is_web_socket and not was_web_socket:
            address = pipe.client.getpeername()[0]
            line = self.of_address.get(address)
            if line and line.fault.is_down:
                self.story.append((time.monotonic(), f"line {line.number}: turned away"))
                self._close(pipe, "reset")
            elif line:
                self.webs[pipe] = Web(pipe, line)
                line.opened.append(time.monotonic())
                self.story.append((line.opened[-1], f"line {line.number}: opened as {pipe.number}"))
            else:
                self.strangers.append(address)
        return passed

    def _pass(self, pipe, source, target, look):
        web = self.webs.get(pipe)
        if not web:
            return super()._pass(pipe, source, target, look)
        try:
            data = source.recv(1 << 18)
        except OSError:
            data = b""
        if not data:
            who = "the gateway" if source is pipe.client else "the venue"
            self.story.append((time.monotonic(), f"line {web.line.number}: {pipe.number} ended by {who}"))
            return self._close(pipe, "fin")
        if source is pipe.client:
            web.outgoing.append(data)
        else:
            now = time.monotonic()
            for frame in web.splitter.feed(data):
                web.take(frame, now)
        self._flush(web)

    def _flush(self, web):
        """Hands on what is due."""
        if web.outgoing and not web.line.fault.is_deaf:
            self._send(web, web.pipe.server, b"".join(web.outgoing))
            web.outgoing.clear()
        now, due = time.monotonic(), []
        while web.queue and web.queue[0][0] <= now:
            due.append(web.queue.popleft()[1:])
        if not due or web.pipe not in self.pipes:
            return
        data = b"".join(frame.bytes for frame, _ in due)
        now = time.monotonic()
        self._send(web, web.pipe.client, data)
        web.line.bytes += len(data)
        for frame, came in due:
            web.line.frames += frame.stream is not None
            web.seen.add(frame.stream)
            if self.noted and frame.stream:
                self.noted(web.line.number, frame, came, now)

    def _send(self, web, side, data):
        began = time.monotonic()
        try:
            side.sendall(data)
        except OSError:
            self._close(web.pipe, "reset")
        if (took := time.monotonic() - began) > SLOW:
            self.story.append((began, f"line {web.line.number}: {took:.2f} s until {len(data)} bytes were taken"))

    def _close(self, pipe, how):
        self.webs.pop(pipe, None)
        if pipe in self.pipes:
            super()._close(pipe, how)
