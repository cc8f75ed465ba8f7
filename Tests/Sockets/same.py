"""Frames of the gateway compared byte for byte with the exchange's frames of the same streams, per stream and in order."""

import re
import select
import time

import peer

EVENT = re.compile(rb'"e":"(\w+)"')
EVENTS = {"aggTrade": "aggTrade", "trade": "trade", "bookTicker": "bookTicker", "miniTicker": "24hrMiniTicker", "ticker": "24hrTicker",
          "forceOrder": "forceOrder", "compositeIndex": "compositeIndex", "assetIndex": "assetIndexUpdate"}
ARRAYS = ("!markPrice@arr@1s", "!markPrice@arr", "!miniTicker@arr", "!ticker@arr", "!forceOrder@arr", "!bookTicker", "!assetIndex@arr")
KINDS = ("aggTrade", "trade", "depth@100ms", "depth@0ms", "depth", "depth@500ms", "depth20@100ms", "depth5", "bookTicker", "kline_1m", "kline_1h",
         "markPrice@1s", "markPrice", "miniTicker", "ticker")
SOON = 3
"""Seconds after the handshake within which a stream that has data must have started, and by which the gateway can be behind the exchange."""


def event(name):
    """The value of `e` in the messages of a stream."""
    kind = name.partition("@")[2]
    for prefix, value in (("depth", "depthUpdate"), ("kline", "kline"), ("continuousKline", "continuous_kline"), ("markPrice", "markPriceUpdate")):
        if kind.startswith(prefix):
            return value.encode()
    return EVENTS.get(kind, kind).encode()


class Side:
    """A socket, and its frames by stream, each with the time of its arrival."""

    def __init__(self, server, path, names):
        self.socket = peer.Socket(server.host, server.port, path)
        self.since = self.until = time.monotonic()
        self.names, self.combined = names, "/stream" in path
        self.of_event = {event(name): name for name in names}
        self.frames = {name: [] for name in names}
        self.strangers = []

    def read(self):
        count = 0
        for one in self.socket.read():
            if one.opcode == peer.TEXT:
                count += self._take(one)
        self.until = time.monotonic()
        return count

    def _take(self, one):
        if self.combined:
            name = one.payload[11:one.payload.find(b'"', 11)].decode()
        elif len(self.names) == 1:
            name = self.names[0]
        else:
            found = EVENT.search(one.payload)
            name = self.of_event.get(found[1]) if found else None
        if name not in self.frames:
            self.strangers.append(one.payload[:200])
            return 0
        self.frames[name].append((time.monotonic(), one.head + one.payload))
        return 1


class Pair:
    """The same streams from the gateway and from the exchange. The exchange's socket must be open first."""

    def __init__(self, venue, gateway, path, theirs_path, names):
        self.path, self.names = path, names
        self.title = path if len(path) < 60 else f"{path[:57]}..."
        self.theirs = Side(venue, theirs_path, names)
        self.gateway, self.ours = gateway, None

    def begin(self):
        self.ours = Side(self.gateway, self.path, self.names)

    def sockets(self):
        return [side for side in (self.ours, self.theirs) if side]

    def behind(self, at):
        """Names whose frames the exchange sent before `at` and the gateway has not sent."""
        late = []
        for name in self.names:
            if not self.ours.socket.is_open:
                continue
            theirs = [data for when, data in self.theirs.frames[name] if self.ours.since + SOON < when < at]
            ours = self.ours.frames[name]
            if theirs and not any(data == theirs[-1] for _, data in ours[-200:]):
                late.append(name)
        return late

    def judge(self, end):
        """(frames compared, faults). Frames that the exchange sent after `end` may be missing."""
        faults, compared = [], 0
        for side, who in ((self.ours, "the gateway"), (self.theirs, "the exchange")):
            if not side.socket.is_open:
                faults.append(f"{self.title}: {who} closed the socket {side.until - side.since:.1f} s after its handshake: "
                              f"{side.socket.closed or side.socket.ended}")
                end = min(end, side.until - 0.5)
            if side.strangers:
                faults.append(f"{self.title}: {who} sent {len(side.strangers)} frames of no asked stream, first {side.strangers[0]!r}")
        for name in self.names:
            count, fault = self._stream(name, end)
            compared += count
            if fault:
                faults.append(f"{self.title}: {name}: {fault}")
        return compared, faults

    def _stream(self, name, end):
        theirs, ours = self.theirs.frames[name], self.ours.frames[name]
        place = {}
        for position, (_, data) in enumerate(theirs):
            place.setdefault(data, position)
        if not ours:
            due = [when for when, _ in theirs if self.ours.since + SOON < when < end]
            return 0, f"no frame, but the exchange sent {len(due)} after the first {SOON} s" if due else None
        begin = place.get(ours[0][1])
        if begin is None:
            return 0, f"the first frame is none of the exchange's: {ours[0][1]!r}"
        if ours[0][0] > self.ours.since + SOON and any(self.ours.since + SOON < when < ours[0][0] - 1 for when, _ in theirs[:begin]):
            return 0, f"the first frame arrived after {ours[0][0] - self.ours.since:.1f} s, though the exchange had sent others"
        for offset, (_, data) in enumerate(ours):
            if begin + offset >= len(theirs):
                return offset, f"frame {offset} is beyond the exchange's last: {data[:200]!r}"
            expected = theirs[begin + offset][1]
            if data != expected:
                other = place.get(data)
                what = "none of the exchange's" if other is None else f"the exchange's frame {other - begin}"
                return offset, f"frame {offset} is {what}: {data[:200]!r} for {expected[:200]!r}"
        missing = [data for when, data in theirs[begin + len(ours):] if when < end]
        return len(ours), f"the last {len(missing)} frames are missing, first {missing[0][:200]!r}" if missing else None


def pump(pairs, seconds, enough=lambda: False, only_theirs=False):
    """Reads the sockets. The number of frames of the gateway."""
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until and not enough():
        sides = [side for pair in pairs for side in ([pair.theirs] if only_theirs else pair.sockets())
                 if side.socket.ended is None]
        by_number = {side.socket.fileno(): side for side in sides}
        for number in select.select(list(by_number), [], [], 0.1)[0]:
            side = by_number[number]
            read = side.read()
            count += read if any(pair.ours is side for pair in pairs) else 0
    return count


def plan(dice, symbols, rare=True):
    """Paths and names, with streams that can be without an event for minutes if `rare`.

    There are single streams, several streams on one path, and all streams of a symbol on one combined socket.
    """
    lower = [symbol.lower() for symbol in symbols]
    plans = []
    for symbol in lower[:3]:
        plans.append(("/stream?streams=", [f"{symbol}@{kind}" for kind in KINDS]))
    plans.append(("/stream?streams=", list(ARRAYS)))
    for _ in range(4):
        first, second = dice.sample(lower, 2)
        plans.append(("/ws/", [f"{first}@aggTrade", f"{first}@bookTicker", f"{second}@{dice.choice(('depth@100ms', 'depth@0ms'))}",
                               f"{second}@kline_1m", f"{first}@markPrice@1s"]))
    for name in (f"{lower[0]}@depth@0ms", f"{lower[0]}@trade", "!ticker@arr", f"{lower[0]}_perpetual@continuousKline_1m",
                 *(f"{one}@forceOrder" for one in lower if rare)):
        plans.append(("/ws/", [name]))
    return plans


def prefixed(dice, path):
    """A path of the gateway for the same streams: below a route, and with a number at its end, or without."""
    path = dice.choice(("", "", "/public", "/market", "/private", "/fstream")) + path
    if dice.random() < 0.5:
        head, mark, query = path.partition("?")
        path = head + f"/{dice.randrange(10)}" + mark + query
    return path


def pairs(dice, venue, gateway, symbols, rare=True):
    made = []
    for prefix, names in plan(dice, symbols, rare):
        path = prefix + "/".join(names)
        made.append(Pair(venue, gateway, path if gateway is venue else prefixed(dice, path), path, names))
    pump(made, 1.5)
    for pair in made:
        pair.begin()
    return made


def finish(made):
    """Reads until the gateway has sent what the exchange has; (frames, faults)."""
    end = time.monotonic()
    pump(made, SOON, lambda: not any(pair.behind(end) for pair in made))
    # The gateway's last frames may have been read before the same frames of the exchange.
    pump(made, 0.5, only_theirs=True)
    compared, faults = 0, []
    for pair in made:
        count, wrong = pair.judge(end)
        compared += count
        faults += wrong
        for side in pair.sockets():
            side.socket.close()
    return compared, faults


def check(stage, frames):
    """The frames compared, and the faults."""
    made = pairs(stage.dice, stage.venue, stage.gateway, stage.symbols)
    count, until = 0, time.monotonic() + 300
    while count < frames and time.monotonic() < until:
        count += pump(made, 1)
    compared, faults = finish(made)
    if compared < frames and not faults:
        faults.append(f"only {compared} of {frames} frames could be compared")
    names = len({name for pair in made for name in pair.names})
    print(f"frames: {compared} frames of {names} streams on {len(made)} sockets are byte for byte the exchange's, in order and without holes"
          if not faults else f"frames: {compared} frames compared, {len(faults)} faults", flush=True)
    return faults
