"""Unmodified bots of the second venue. Only their addresses are set, to the gateway's with `/binance` behind it.

Their REST calls are compared with that venue's own REST while its market is still, and the order books of ccxt.pro at each update id while it moves. In
a control the addresses are those of the first venue.
"""

import random
import time

import clients
import compare
import equal
import house
import places
import stand
import three_venues
import verdict

PATH = "/binance"


class Line(stand.Line):
    def __init__(self, host, port, path):
        super().__init__(host, port)
        self.path = path

    def ask(self, target, *more):
        return super().ask(self.path + target, *more)


class Mirror:
    """A venue of the gateway, at the path."""

    def __init__(self, gateway, path):
        self.host, self.port, self.path = gateway.host, gateway.port, path

    def line(self):
        return Line(self.host, self.port, self.path)


class Scene(compare.Scene):
    """The second venue, and its mirror behind a gateway of three."""

    settling = 3

    def __init__(self, options):
        options.venues, options.mirror, options.one_by_one = ["binance"], "gateway", False
        self.options, self.name, self.dice = options, "binance", random.Random(options.seed)
        self.versions, self.libraries = compare.VENUES["binance"]
        seed = options.seed % 100_000
        self.aster, self.venue = (stand.Venue(options.executable, 40, 100_000_000, "--seed", seed + place) for place in (1, 2))
        self.hyperliquid = house.Program(options.executable, "demo-upstream", "hyperliquid")
        self.gateway = three_venues.gateway(options, self.aster, self.venue, self.hyperliquid)
        self.mirror = Mirror(self.gateway, "" if options.control else PATH)
        self.choose()

    def url(self, server):
        return super().url(server) + (server.path if server is self.mirror else "")

    def end(self):
        for program in (self.gateway, self.aster, self.venue, self.hyperliquid):
            program.end()


def sockets(scene):
    """ccxt.pro with the order books of the venue."""
    program = places.python("ccxt")
    if not program:
        print(places.skipped("ccxt"))
        return []
    found = clients.Run("binanceusdm", program, scene.mirror, scene.venue, scene.options.seconds, {}, scene.mirror.path).verdict()
    print(f"ccxt.pro {found['version']}: {found['books']} books compared, {found['trades']} trades, {found['events']}", flush=True)
    return [f"{words} ({times} times)" for words, times in found["errors"].items()]


def rest(scene):
    """The REST calls of the clients, and plain requests."""
    at = compare.now()
    made = compare.requests(scene, scene.options.requests, at)
    compare.prime(scene, made[:compare.PRIMED])
    hand = compare.Hand(scene.venue)
    time.sleep(equal.STILL[0] - compare.HELD)
    parts = {"plain requests": compare.raw(scene, made), "calls of clients": compare.clients(scene, scene.options.calls, at)}
    hand.end()
    return parts


def main(options):
    print(f"seed {options.seed}", flush=True)
    scene = Scene(options)
    try:
        scene.warm()
        time.sleep(scene.settling)
        parts = {"books": compare.books(scene, options.books), "streams": sockets(scene), **rest(scene)}
    finally:
        scene.end()
    if not options.control:
        return verdict.tell([f"{part}: {fault}" for part, faults in parts.items() for fault in faults])
    for part, faults in parts.items():
        print(f"control: {part}: {len(faults)} differences {faults[:1]}"[:300], flush=True)
    return verdict.tell([f"{part}: the check does not find that it reads the other venue" for part, faults in parts.items() if not faults])
