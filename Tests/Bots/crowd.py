"""Many simulated bots that poll as freqtrade does: candles of each pair when a minute has turned, books each five seconds, tickers now and then."""

import asyncio
import collections
import random
import re
import time

import liar
import stand
import wire

LOOP = 5
"""Seconds between a bot's looks, as freqtrade's `process_throttle_secs`."""
LANES = 4
"""Connections of one bot."""
TICKERS = ("ticker/24hr", "ticker/bookTicker", "premiumIndex")
ROWS = 499
LATE = 4
"""Seconds after the turn of a minute by which the bar that began has to be there."""
START = 3
"""Seconds within which a cold start has the candles of all pairs."""
START_OF_MANY = 30
CALM = 10
"""Weight a minute that the venue may see once the crowd has started, audits apart."""
PAUSE = 0.3
"""Seconds before a bot asks again where it was refused or cut."""


class Crowd:
    """Bots that share what they count."""

    def __init__(self, mirror, pairs, bots, seed, patience=40):
        self.mirror, self.pairs, self.dice = mirror, pairs, random.Random(seed)
        self.answers, self.refusals, self.cuts, self.faults = collections.Counter(), collections.Counter(), 0, []
        self.waits = []
        self.bots = [Bot(self, random.Random(self.dice.random()), patience) for _ in range(bots)]
        self.may_be_cut, self.stopped = False, False

    async def start(self):
        """All begin at once; the seconds until all have the candles of all pairs."""
        begin = time.monotonic()
        await asyncio.gather(*(bot.start() for bot in self.bots))
        return time.monotonic() - begin

    async def rest(self):
        """What bots ask for after the candles, once each: books of all pairs, and tickers."""
        bot = self.bots[0]
        for name in TICKERS:
            await bot.ask("/fapi/v1/" + name)
        for pair in self.pairs:
            for target in (f"depth?symbol={pair}&limit=5", *(f"{name}?symbol={pair}" for name in TICKERS)):
                await bot.ask("/fapi/v1/" + target)

    async def candles(self):
        """All ask for the candles of all pairs at once; the seconds until all have them."""
        begin = time.monotonic()
        await asyncio.gather(*(bot.candles() for bot in self.bots))
        return time.monotonic() - begin

    async def run(self, seconds):
        until = time.monotonic() + seconds
        await asyncio.gather(*(bot.run(until) for bot in self.bots))

    def fault(self, words):
        if len(self.faults) < 200:
            self.faults.append(words)

    def said(self):
        waits = sorted(self.waits)
        slow = f"p50 {1000 * waits[len(waits) // 2]:.0f} ms, p99 {1000 * waits[len(waits) * 99 // 100]:.0f} ms" if waits else "no answers"
        names = ", ".join(f"{name} {times}" for name, times in self.answers.most_common())
        return f"{sum(self.answers.values())} answers ({names}), {slow}; refused {dict(self.refusals) or 'none'}, cut {self.cuts} times"


class Bot:
    def __init__(self, crowd, dice, patience):
        self.crowd, self.dice = crowd, dice
        self.lanes = [wire.Wire(crowd.mirror.host, crowd.mirror.port, patience) for _ in range(LANES)]
        self.minute = 0

    async def ask(self, target, lane=0):
        """The body of the answer. Where it is refused or cut it asks again, as bots do."""
        begin = time.monotonic()
        while not self.crowd.stopped:
            try:
                reply = await self.lanes[lane].ask(target)
            except OSError as error:
                self.crowd.cuts += 1
                if not self.crowd.may_be_cut:
                    self.crowd.fault(f"{target}: {error}")
                await asyncio.sleep(PAUSE)
                continue
            if reply.status == 200:
                self.crowd.answers[stand.endpoint(target)] += 1
                self.crowd.waits.append(time.monotonic() - begin)
                return reply.body
            self.crowd.refusals[reply.status] += 1
            if reply.status != 503:
                self.crowd.fault(f"{target} is answered {reply.status} {reply.body[:120]!r}")
                return b""
            await asyncio.sleep(PAUSE)
        return b""

    async def start(self):
        for target in ("/api/v3/exchangeInfo", "/fapi/v1/exchangeInfo", "/dapi/v1/exchangeInfo", "/fapi/v1/time"):
            await self.ask(target)
        await self.candles()

    async def candles(self):
        self.minute = time.time() // 60
        pairs = list(self.crowd.pairs)
        self.dice.shuffle(pairs)
        await asyncio.gather(*(self.lane(number, pairs[number::LANES]) for number in range(LANES)))

    async def lane(self, number, pairs):
        for pair in pairs:
            body = await self.ask(f"/fapi/v1/klines?interval=1m&limit={ROWS}&symbol={pair}", number)
            self.check(pair, body, time.time())

    def check(self, pair, body, now):
        """A bot looks at its candles: as many as it asked for, and the last one is of this minute."""
        if not body:
            return
        rows = body.count(b"],[") + 1
        if rows != ROWS:
            self.crowd.fault(f"klines of {pair}: {rows} rows for {ROWS}")
        last = int(re.match(rb"\[(\d+)", body[body.rindex(b"["):])[1]) // 60_000
        if last < now // 60 - (now % 60 < LATE) or last > now // 60:
            self.crowd.fault(f"klines of {pair} end {now // 60 - last:.0f} minutes ago, {now % 60:.1f} s after the turn of a minute")

    async def run(self, until):
        await asyncio.sleep(self.dice.uniform(0, LOOP))
        while time.monotonic() < until and not self.crowd.stopped:
            begin = time.monotonic()
            if time.time() // 60 != self.minute:
                await self.candles()
            for limit in (5, 5, 20):
                pair = self.dice.choice(self.crowd.pairs)
                body = await self.ask(f"/fapi/v1/depth?symbol={pair}&limit={limit}")
                if found := re.search(rb'"E":(\d+)', body):
                    if (age := time.time() - int(found[1]) / 1000) > LOOP:
                        self.crowd.fault(f"depth of {pair} is {age:.1f} s old")
            if self.dice.random() < 0.1:
                pair = self.dice.choice(self.crowd.pairs)
                name = self.dice.choice(TICKERS)
                await self.ask(f"/fapi/v1/{name}" + self.dice.choice(("", f"?symbol={pair}")))
            await asyncio.sleep(max(0, min(LOOP - (time.monotonic() - begin), until - time.monotonic())))


def make(options, venue):
    return stand.Mirror(options.executable, venue, log=options.log) if options.mirror == "gateway" else liar.Liar(venue)


def plain(venue, count):
    """Symbols that trade and need no quoting."""
    return [symbol for symbol in venue.symbols(count + 20) if "_" not in symbol][:count]


def many(options):
    """A cold start of as many symbols as `--many`, by one bot."""
    venue = stand.Venue(options.executable, options.many + 20, 2400)
    mirror = make(options, venue)
    before = venue.asked()
    crowd = Crowd(mirror, plain(venue, options.many), 1, options.seed)
    took = asyncio.run(crowd.start())
    asked = venue.asked() - before
    print(f"cold start of {len(crowd.pairs)} symbols: {took:.1f} s, weight {stand.cost(asked)} ({stand.by_endpoint(asked)}); {crowd.said()}",
          flush=True)
    faults = crowd.faults + ([f"{len(crowd.pairs)} symbols took {took:.1f} s"] if took > START_OF_MANY else [])
    mirror.end()
    venue.end()
    return faults


def main(options):
    print(f"seed {options.seed}", flush=True)
    venue = stand.Venue(options.executable, options.symbols, 2400)
    mirror = make(options, venue)
    before = stand.Account(venue, mirror)
    crowd = Crowd(mirror, plain(venue, options.pairs), options.bots, options.seed)

    async def play():
        took = await crowd.start()
        await crowd.rest()
        await asyncio.sleep(2)
        accounts, begin = [stand.Account(venue, mirror)], time.monotonic()
        running = asyncio.create_task(crowd.run(options.seconds))
        while not running.done():
            await asyncio.wait([running], timeout=60)
            accounts.append(stand.Account(venue, mirror))
        await running
        return took, accounts, (time.monotonic() - begin) / 60

    took, accounts, minutes = asyncio.run(play())
    cold, after = accounts[0].since(before), accounts[-1].since(accounts[0])
    slices = [later.since(earlier).for_bots for earlier, later in zip(accounts, accounts[1:])]
    print(f"{options.bots} bots of {len(crowd.pairs)} pairs: cold start {took:.2f} s, weight {stand.cost(cold.asked)} ({stand.by_endpoint(cold.asked)})",
          flush=True)
    print(f"then {minutes:.1f} minutes: {crowd.said()}", flush=True)
    print(f"a minute, {after.told(minutes)}; minute by minute for bots {slices}", flush=True)
    faults = list(crowd.faults)
    if took > START:
        faults.append(f"{len(crowd.pairs)} pairs took {took:.2f} s")
    if after.for_bots / max(minutes, 1) > CALM:
        faults.append(f"the venue saw weight {after.for_bots / minutes:.1f} a minute after the start: {dict(after.asked.most_common(12))}")
    codes = [mirror.end() or 0, venue.end()]
    if any(codes):
        faults.append(f"the gateway and the exchange ended with {codes}")
    return stand.tell(faults + many(options))
