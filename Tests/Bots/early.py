"""Bars that close on time: over /events, over the venue's REST paths and over its sockets, beside the venue's own sockets, which close bars late."""

import collections
import json
import selectors
import statistics
import sys
import threading
import time

import stand
import wire

sys.path.append(str(stand.HERE.parent / "Sockets"))

import asyncio  # noqa: E402

import peer  # noqa: E402
import sse  # noqa: E402

MINUTE = 60_000
WANTED = 300
"""Milliseconds after the end of a minute within which 99 of 100 bars are closed."""
FIELDS = {"open": "o", "high": "h", "low": "l", "close": "c", "volume": "v", "quoteVolume": "q", "count": "n", "takerBuyVolume": "V",
          "takerBuyQuoteVolume": "Q", "firstTradeId": "f", "lastTradeId": "L"}
Seen = collections.namedtuple("Seen", "at row")
"""`at`: ms since 1970."""


def now():
    return time.time() * 1000


def values(row):
    """The values of a bar by the venue's letters."""
    return {letter: row[name] for name, letter in FIELDS.items() if name in row} if "openTime" in row else {name: row[name] for name in FIELDS.values()}


class Watch:
    """The messages about bars of some symbols, from one gateway and from its venue."""

    def __init__(self, venue, gateway, symbols):
        names = [f"{symbol.lower()}@kline_1m" for symbol in symbols]
        path = "/stream?streams=" + "/".join(names)
        self.events = sse.Connection(gateway.host, gateway.port, [name + "_early" for name in names])
        self.sockets = {"gateway": peer.Socket(gateway.host, gateway.port, path), "venue": peer.Socket(venue.host, venue.port, path)}
        self.early, self.closed = collections.defaultdict(list), collections.defaultdict(list)
        self.faults = []
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.events, selectors.EVENT_READ, None)
        for side, socket in self.sockets.items():
            self.selector.register(socket, selectors.EVENT_READ, side)

    def follow(self, until):
        while (left := until - now()) > 0:
            for key, _ in self.selector.select(left / 1000):
                if key.data is None:
                    for block in self.events.read():
                        self.event(sse.Event(block))
                else:
                    for frame in self.sockets[key.data].read():
                        self.message(key.data, frame)

    def event(self, event):
        if event.name not in ("update", "fetch"):
            return
        symbol = event.data["stream"].split("@")[0].upper()
        for row in event.data["content"]:
            seen = self.early[symbol, row["openTime"]]
            if seen and seen[-1].row["isClosed"] and not row["isClosed"]:
                self.faults.append(f"a closed bar of {symbol} is open again: {row}")
            seen.append(Seen(now(), row))

    def message(self, side, frame):
        if frame.opcode == peer.PING:
            return None
        if frame.opcode != peer.TEXT:
            return self.faults.append(f"the socket of the {side}: {frame.opcode} {frame.payload[:200]!r}")
        bar = json.loads(frame.payload)["data"]["k"]
        seen = self.closed[side, bar["s"], bar["t"]]
        if bar["x"]:
            seen.append(Seen(now(), bar))
        elif seen:
            self.faults.append(f"the {side} sends a closed bar of {bar['s']} as open")
        return None


async def poll(gateway, symbol, minute, answered):
    """Requests the last two bars until the one before `minute` is closed and followed by a newer one."""
    line = wire.Wire(gateway.host, gateway.port, 20)
    while now() < minute + 8_000:
        reply = await line.ask(f"/fapi/v1/klines?symbol={symbol}&interval=1m&limit=2")
        rows = json.loads(reply.body) if reply.status == 200 else []
        if len(rows) == 2 and rows[1][0] == minute:
            answered[symbol, minute - MINUTE] = Seen(now(), rows[0])
            break
        await asyncio.sleep(0.02)
    line.close()


def polls(gateway, symbols, minutes, answered):
    """Polls around the end of each of these minutes."""
    async def at(minute):
        await asyncio.sleep(max(0, (minute - now()) / 1000))
        await asyncio.gather(*(poll(gateway, symbol, minute, answered) for symbol in symbols))

    async def each():
        for minute in minutes:
            await at(minute)

    asyncio.run(each())


def words(name, times):
    times = sorted(times)
    if not times:
        return f"{name}: none"
    return f"{name}: {len(times)} bars, p50 {statistics.median(times):.0f} ms, p99 {times[min(len(times) - 1, len(times) * 99 // 100)]:.0f} ms"


def judge(watch, answered, bars, is_off):
    """The faults of these bars, and the times after their ends."""
    faults, times = list(watch.faults), collections.defaultdict(list)
    for symbol, minute in bars:
        end = minute + MINUTE
        closings = watch.closed["venue", symbol, minute]
        if not closings:
            faults.append(f"the venue has not closed {symbol} {minute}")
            continue
        truth = values(closings[-1].row)
        times["the venue's sockets"].append(closings[-1].at - end)
        early = [seen for seen in watch.early[symbol, minute] if seen.row["isClosed"]]
        if not early or early[-1].row["closing"] not in ("confirmed", "corrected"):
            faults.append(f"{symbol} {minute} is not confirmed: {early[-1:]}")
            continue
        times["/events"].append(early[0].at - end)
        last = values(early[-1].row)
        if any(truth[letter] != value for letter, value in last.items()):
            faults.append(f"{symbol} {minute} ends as {last}, and at the venue as {truth}")
        if values(early[0].row) != last and early[-1].row["closing"] != "corrected":
            faults.append(f"{symbol} {minute} changed without a mark: {early[0].row}, then {early[-1].row}")
        own = watch.closed["gateway", symbol, minute]
        if not own or values(own[-1].row) != truth:
            faults.append(f"the last closing message of {symbol} {minute} is {own[-1:]}, and the venue's {truth}")
        elif any(values(one.row) == values(other.row) for one, other in zip(own, own[1:])):
            faults.append(f"{symbol} {minute} is closed twice with the same values")
        if own:
            times["sockets"].append(own[0].at - end)
        if (row := answered.get((symbol, minute))) is None:
            faults.append(f"REST has not closed {symbol} {minute}")
        elif [row.row[place] for place in (1, 2, 3, 4, 5, 7, 8, 9, 10)] != [truth[letter] for letter in "ohlcvqnVQ"]:
            faults.append(f"REST has {row.row}, and the venue {truth}")
        else:
            times["REST"].append(row.at - end)
    for name in ("/events",) if is_off else ("/events", "REST", "sockets"):
        late = sorted(times[name])[len(times[name]) * 99 // 100:]
        if late and late[0] > WANTED:
            faults.append(f"{words(name, times[name])}; {WANTED} ms wanted")
    return faults, times


def change(watch):
    """The control: a digit of each second early bar is changed."""
    for key in list(watch.early)[::2]:
        watch.early[key] = [Seen(at, row | {"volume": row["volume"][:-1] + str((int(row["volume"][-1]) + 1) % 10)} if row["closing"] == "provisional" else row)
                            for at, row in watch.early[key]]


def main(options):
    venue = stand.Venue(options.executable, options.symbols, 100_000_000, "--closing-delay", options.delay, "--seed", options.seed)
    gateway = stand.Mirror(options.executable, venue, "--early-bars", options.use, log=options.log)
    answered = {}
    try:
        symbols = venue.symbols(options.bars)
        watch = Watch(venue, gateway, symbols)
        first = (int(now()) // MINUTE + 1) * MINUTE
        watch.follow(min(first, now() + 20_000))
        # The first bar whose beginning everybody has seen.
        first += MINUTE
        minutes = [first + MINUTE * place for place in range(options.minutes)]
        polling = threading.Thread(target=polls, args=(gateway, symbols, minutes, answered))
        polling.start()
        for minute in minutes:
            watch.follow(minute - 30_000)
            if options.gaps:
                for symbol in symbols[1::2]:
                    venue.fault("gap", stream=f"{symbol.lower()}@aggTrade")
            watch.follow(minute + options.delay + 4_000)
        polling.join()
        if options.control:
            change(watch)
        faults, times = judge(watch, answered, [(symbol, minute - MINUTE) for symbol in symbols for minute in minutes], options.use == "off")
        for name in ("the venue's sockets", "/events", "REST", "sockets"):
            print(words(name, times[name]))
        _, text = gateway.ask("GET", "/metrics")
        print("; ".join(line.removeprefix("futures_gateway_") for line in text.splitlines() if line.startswith("futures_gateway_feed_bars_")))
        return stand.tell(faults) != options.control
    finally:
        gateway.end()
        venue.end()
