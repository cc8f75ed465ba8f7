"""Many bots that read the same pairs through sockets: one set of streams at the exchange, and request weight for the first bot alone."""

import concurrent.futures
import re
import select
import time

import peer
import stand

KINDS = ("depth@100ms", "aggTrade", "kline_1m", "bookTicker")
"""The streams of each pair. With 50 pairs they are as many as one socket may have."""
NAME = re.compile(rb'^{"stream":"([^"]+)"')
CHAIN = re.compile(rb'"u":(\d+),"pu":(\d+)')
REFILLS = 5
"""Snapshots that the fleet may cause: the market can move away from the levels that a book knows, and then one snapshot serves all bots."""
START = 60
"""Seconds within which the first bot must have all books, and a message of each book."""


class Bot:
    """One socket with all streams, and the count of messages for each of them."""

    def __init__(self, gateway, names):
        self.socket = peer.Socket(gateway.host, gateway.port, "/stream?streams=" + "/".join(names), timeout=60)
        self.counts, self.last, self.faults = dict.fromkeys(names, 0), {}, []

    def read(self):
        for one in self.socket.read():
            if one.opcode != peer.TEXT:
                continue
            name = NAME.match(one.payload)[1].decode()
            self.counts[name] += 1
            if "@depth" in name:
                position, before = map(int, CHAIN.search(one.payload).groups())
                if self.last.get(name, before) != before:
                    self.faults.append(f"{name}: pu {before} follows u {self.last[name]}")
                self.last[name] = position
        if not self.socket.is_open:
            self.faults.append(f"closed: {self.socket.closed or self.socket.ended}")

    def missing(self, kinds=KINDS):
        return [name for name, count in self.counts.items() if not count and name.partition("@")[2] in kinds]


def follow(bots, seconds, enough=lambda: False):
    """Reads the sockets of the bots."""
    until = time.monotonic() + seconds
    by_number = {bot.socket.fileno(): bot for bot in bots if bot.socket.is_open}
    while time.monotonic() < until and not enough():
        for number in select.select([number for number, bot in by_number.items() if bot.socket.is_open], [], [], 0.1)[0]:
            by_number[number].read()
    return enough()


def books(gateway, symbols):
    """Fetches the book of each pair, as a bot does at its start; the answers other than 200."""
    line, faults = stand.Line(gateway.host, gateway.port), []
    for symbol in symbols:
        reply = line.ask(f"/fapi/v1/depth?symbol={symbol}&limit=1000")
        if reply.status != 200:
            faults.append(f"depth of {symbol} is answered {reply.status} {reply.body[:200]!r}")
    line.close()
    return faults


def settled(stage, fleet):
    """The account after the first bot's streams have all been fetched: it no longer changes within five seconds."""
    until, account = time.monotonic() + START, stand.Account(stage.venue, stage.gateway)
    while time.monotonic() < until:
        follow(fleet, 5)
        before, account = account, stand.Account(stage.venue, stage.gateway)
        if account.spent["content"] == before.spent["content"]:
            break
    return account


def check(stage, bots, pairs, seconds):
    symbols = [symbol for symbol in stage.venue.symbols(pairs + 8) if "_" not in symbol and symbol.endswith("USDT")][:pairs]
    names = [f"{symbol.lower()}@{kind}" for symbol in symbols for kind in KINDS]
    begun = stand.Account(stage.venue, stage.gateway)
    with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
        fleet = [Bot(stage.gateway, names)]
        asked = pool.submit(books, stage.gateway, symbols)
        if not follow(fleet, START, lambda: asked.done() and not fleet[0].missing(["depth@100ms", "bookTicker"])):
            return [f"the first bot lacks {fleet[0].missing()[:5]} after {START} s"] + fleet[0].faults
        faults = asked.result()
        first = settled(stage, fleet)
        fleet += [Bot(stage.gateway, names) for _ in range(bots - 1)]
        answers = [pool.submit(books, stage.gateway, symbols) for _ in fleet[1:]]
        follow(fleet, seconds)
        follow(fleet, START, lambda: all(answer.done() for answer in answers))
        faults += [words for answer in answers for words in answer.result()]
    later = stand.Account(stage.venue, stage.gateway).since(first)
    _, statistics = stage.venue.ask("GET", "/control/statistics")
    upstream = statistics["activeSubscriptions"]
    heard = {name for bot in fleet for name, count in bot.counts.items() if count}
    for number, bot in enumerate(fleet):
        faults += [f"bot {number}: {words}" for words in bot.faults]
        if silent := [name for name in heard if not bot.counts[name] and name.partition("@")[2] in ("depth@100ms", "bookTicker")]:
            faults.append(f"bot {number} heard nothing of {len(silent)} streams, such as {silent[0]}")
        bot.socket.close()
    if strange := {name: count for name, count in upstream.items() if count != 1 or name not in names}:
        faults.append(f"the exchange has other subscriptions than one for each stream: {dict(list(strange.items())[:5])}")
    if later.for_bots > REFILLS * stand.weight("/fapi/v1/depth?limit=1000"):
        faults.append(f"the bots after the first one caused {later.told()}")
    print(f"fleet: {bots} bots of {len(symbols)} pairs, {sum(sum(bot.counts.values()) for bot in fleet)} messages, {bots * len(symbols)} books; the "
          f"exchange has {len(upstream)} subscriptions; weight for the first bot {first.since(begun).for_bots}, for all others {later.for_bots}", flush=True)
    return faults
