"""`/markets` and `/markets/{asset}` against each venue's own REST, at the same instant.

Between the rounds the markets move. In a round the futures venues stop their markets. When two more lists of mark prices have arrived, the gateway
has their last messages. REST must answer the same before and after the gateway is asked.

Hyperliquid makes a block every half second and cannot be stopped, so its rows are compared between two blocks. The middle prices are the last message
of a block. The comparison begins when a reader has received them, and counts only if REST answers the same before and after. The rows of the list come
from contexts that the gateway requests every ten seconds. They are compared right after such a request, if REST still has these contexts.
"""

import concurrent.futures
import random
import time
import urllib.parse

import ear
import house
import stand
import three_venues
import truth
import verdict

LISTS = ("!markPrice@arr@1s", "binance:!markPrice@arr@1s")
MIDDLES = "hyperliquid:!mids"
CONTEXTS = "hyperliquid:!contexts"
ASSETS = 12
"""Assets that a round asks for one by one."""
REST = 3
"""Rounds in which an asset is not asked for again, so that its streams have ended and begin with new values."""
PATIENCE = 30


class Stage:
    def __init__(self, options):
        self.dice = random.Random(options.seed)
        self.futures = {name: stand.Venue(options.executable, 60, 100_000_000, "--seed", options.seed % 100_000 + place)
                        for place, name in enumerate(("aster", "binance"), 1)}
        self.hyperliquid = house.Program(options.executable, "demo-upstream", "hyperliquid")
        self.gateway = three_venues.gateway(options, self.futures["aster"], self.futures["binance"], self.hyperliquid, "--linger", 10)
        self.ear = ear.Ear(self.gateway, [*LISTS, MIDDLES, CONTEXTS])
        self.compared = self.single = self.moved = self.values = 0
        self.found, self.planted, self.recent = [], 0, []

    def awaited(self, streams, count=1):
        """Waits until each of the streams has sent this many more updates."""
        begin = time.monotonic()
        if not stand.wait(PATIENCE, lambda: all(len(self.ear.of(stream, begin)) >= count for stream in streams), 0.005):
            raise TimeoutError(f"no {count} updates of {streams} in {PATIENCE} s")

    def ask(self, path):
        return asked(self.gateway, path)

    def end(self):
        self.ear.end()
        for program in (self.gateway, *self.futures.values(), self.hyperliquid):
            program.end()

    def compare(self, venue, ours, theirs, options, is_single=False):
        """Compares the rows of a venue. In a control, one digit of our own is changed first."""
        if options.control and ours and self.dice.random() < 0.5:
            asset = self.dice.choice(sorted(ours))
            ours = ours | {asset: truth.spoiled(ours[asset], self.dice)}
            self.planted += 1
        for asset in sorted(ours.keys() | theirs.keys()):
            self.compared, self.single = self.compared + 1, self.single + is_single
            self.values += len(ours.get(asset, ()))
            place = "alone" if is_single else "in the list"
            self.found += [f"{venue} {asset} {place}: {name} is {value} at the venue and {other} at the gateway"
                           for name, value, other in truth.differences(ours.get(asset), theirs.get(asset))]


def asked(program, path, body=None):
    """The answer to a GET, or to a POST of this body."""
    status, answer = program.ask("GET" if body is None else "POST", path, body)
    if status != 200:
        raise ValueError(f"{path} is answered {status}: {answer}")
    return answer


def table(venue, symbols=()):
    """The rows of a futures venue, from what its REST answers now. The open interest of these symbols is in them."""
    paths = ("exchangeInfo", "premiumIndex", "ticker/bookTicker", "ticker/24hr", "fundingInfo")
    interests = {symbol: asked(venue, "/fapi/v1/openInterest?symbol=" + urllib.parse.quote(symbol)) for symbol in symbols}
    return truth.futures(*(asked(venue, f"/fapi/v1/{path}") for path in paths), interests)


def block(hyperliquid, coins):
    """The rows of these coins of Hyperliquid."""
    universe, contexts = asked(hyperliquid, "/info", {"type": "metaAndAssetCtxs"})
    books = {name: asked(hyperliquid, "/info", {"type": "l2Book", "coin": name}) for name in coins}
    return {name: truth.coin(name, universe, contexts, book) for name, book in books.items()}


def listed_contexts(hyperliquid):
    """The rows of Hyperliquid in the list, and the contexts that they are made of, by coin."""
    universe, contexts = asked(hyperliquid, "/info", {"type": "metaAndAssetCtxs"})
    by_coin = {coin["name"]: context for coin, context in zip(universe["universe"], contexts)}
    return {name: truth.coin(name, universe, contexts) for name in by_coin}, by_coin


def rows(answer, venue):
    return {row["asset"]: row for row in answer["rows"] if row["venue"] == venue}


def warm(stage, assets):
    """Asks for the assets at the same time. This subscribes their streams; how long that takes does not matter, because the markets are still."""
    def one(asset):
        line = stand.Line(stage.gateway.host, stage.gateway.port)
        reply = line.ask("/markets/" + urllib.parse.quote(asset))
        line.close()
        return reply.status
    with concurrent.futures.ThreadPoolExecutor(len(assets)) as pool:
        statuses = list(pool.map(one, assets))
    if set(statuses) != {200}:
        raise ValueError(f"{assets} are answered {statuses}")


def compare_block(stage, assets, options):
    """Compares the rows of Hyperliquid between two blocks."""
    coins = [asset for asset in assets if asset in three_venues.COINS]
    for _ in range(10):
        stage.awaited([MIDDLES])
        before = block(stage.hyperliquid, coins)
        alone = {name: rows(stage.ask(f"/markets/{name}?wait=0"), "hyperliquid") for name in coins}
        if block(stage.hyperliquid, coins) == before:
            for name, found in alone.items():
                stage.compare("hyperliquid", {name: before[name]}, found, options, is_single=True)
            break
        stage.moved += 1
    for _ in range(3):
        stage.awaited([CONTEXTS])
        ours, contexts = listed_contexts(stage.hyperliquid)
        listed = rows(stage.ask("/markets"), "hyperliquid")
        if stage.ask("/streams/" + urllib.parse.quote(CONTEXTS))["content"]["contexts"] == contexts:
            return stage.compare("hyperliquid", ours, listed, options)
        stage.moved += 1


def compare_round(stage, options):
    for venue in stage.futures.values():
        asked(venue, "/control/clear", {})
    stage.awaited(LISTS)
    stage.awaited([MIDDLES], stage.dice.randint(1, 3))
    for venue in stage.futures.values():
        venue.fault("still")
    known = {name: table(venue) for name, venue in stage.futures.items()}
    choice = [asset for asset in sorted(set(three_venues.COINS).union(*known.values())) if asset not in sum(stage.recent, [])]
    coins = [asset for asset in choice if asset in three_venues.COINS]
    assets = sorted({*stage.dice.sample(coins, min(1, len(coins))), *stage.dice.sample(choice, ASSETS - 1)})
    stage.recent = [*stage.recent, assets][-REST:]
    stage.awaited(LISTS, 2)
    warm(stage, assets)
    symbols = {name: [known[name][asset]["symbol"] for asset in assets if asset in known[name]] for name in known}
    before = {name: table(venue, symbols[name]) for name, venue in stage.futures.items()}
    listed, alone = stage.ask("/markets"), {asset: stage.ask(f"/markets/{urllib.parse.quote(asset)}?wait=0") for asset in assets}
    for name, venue in stage.futures.items():
        if table(venue, symbols[name]) != before[name]:
            stage.moved += 1
            continue
        plain = {asset: {member: value for member, value in row.items() if member != "openInterest"} for asset, row in before[name].items()}
        stage.compare(name, plain, rows(listed, name), options)
        for asset in assets:
            ours = {asset: before[name][asset]} if asset in before[name] else {}
            stage.compare(name, ours, rows(alone[asset], name), options, is_single=True)
    compare_block(stage, assets, options)


def main(options):
    print(f"seed {options.seed}", flush=True)
    stage, rounds, faults = Stage(options), 0, []
    try:
        while stage.compared < options.samples and rounds < options.samples:
            rounds += 1
            compare_round(stage, options)
    except (TimeoutError, ValueError) as error:
        faults.append(f"round {rounds}: {error}")
    finally:
        stage.end()
    print(f"{stage.compared} rows with {stage.values} values compared in {rounds} rounds, {stage.single} of them of one asset: "
          f"{len(stage.found)} differences; {stage.moved} comparisons left out, because the venue changed in between", flush=True)
    if options.control:
        print(f"control: {stage.planted} digits changed, {len(stage.found)} found: {stage.found[:1]}")
        return verdict.tell(faults + ([] if 0 < stage.planted == len(stage.found) else ["the check does not find exactly the changed digits"]))
    return verdict.tell(faults + stage.found)
