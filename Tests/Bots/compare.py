"""Every call through the mirror is what the same call at the venue is, while the market is still; and a book is one that the venue had."""

import collections
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import equal
import liar
import places
import stand
import targets

VENUES = {
    "binance": (("v1",), {"binanceusdm": "ccxt", "python-binance": "ccxt", "connector": "connector"}),
    "aster": (("v1", "v3"), {"aster": "ccxt"}),
}
"""The venues, each with the versions of its paths and its clients, and these with their environments. Aster lists no dated contracts."""
OTHER = ("/api/v3/exchangeInfo", "/dapi/v1/exchangeInfo", "/sapi/v1/api/v3/exchangeInfo")
"""The lists of the spot and the coin exchange, which clients read before they start."""
SYMBOLS = 12
PRIMED = 500
"""Requests that the mirror is asked before the market stops, and again after it."""
HELD = 3
"""The second of each minute from which the market stands still. The mirror may keep an open interest for ten, so all is new when it is compared."""
LATEST = 35
"""The last second of a minute in which it is worth stopping the market."""
BEHIND = 1.5
"""Seconds that the mirror's book may be behind the venue's while the market moves."""
REFUSED = [
    ("GET", "/fapi/v2/account?timestamp=1&signature=abcdef0123", {}),
    ("POST", "/fapi/v1/order?symbol=BTCUSDT&side=BUY&signature=abcdef0123", {"X-MBX-APIKEY": "key0123456789"}),
    ("GET", "/fapi/v1/historicalTrades?symbol=BTCUSDT", {"X-MBX-APIKEY": "key0123456789"}), ("GET", "/fapi/v1/historicalTrades?symbol=BTCUSDT", {}),
    ("POST", "/fapi/v1/listenKey", {"X-MBX-APIKEY": "key0123456789"}), ("PUT", "/fapi/v1/listenKey?listenKey=abcdef0123", {}),
    ("DELETE", "/fapi/v1/allOpenOrders?symbol=BTCUSDT", {}), ("GET", "/fapi/v1/openOrders?symbol=BTCUSDT", {}),
]
"""What is signed or keyed: the mirror refuses it in the venue's shape, asks the venue for nothing and logs nothing of it."""
SECRETS = ("abcdef0123", "key0123456789")


class Scene:
    """The venue, the mirror, and what both are asked for. `mirror` is the gateway, the venue itself, or a liar."""

    def __init__(self, options, name, log=None):
        self.options, self.name = options, name
        self.versions, self.libraries = VENUES[name]
        self.dice = random.Random(f"{options.seed} {name}")
        self.venue = stand.Venue(options.executable, options.symbols, 100_000_000, *(["--perpetuals-only"] if name == "aster" else []))
        if options.mirror == "gateway":
            self.mirror = stand.Mirror(options.executable, self.venue, "--venue", name, log=log)
        else:
            self.mirror = self.venue if options.mirror == "venue" else liar.Liar(self.venue, "" if options.mirror == "honest" else options.mirror)
        self.settling = 3 if options.mirror == "gateway" else 0
        self.choose()

    def choose(self):
        """Chooses symbols of the venue."""
        listed = self.venue.symbols(SYMBOLS)
        _, info = self.venue.ask("GET", "/fapi/v1/exchangeInfo")
        odd = [row["symbol"] for row in info["symbols"] if row["status"] != "TRADING" or not row["symbol"].isascii() or "_" in row["symbol"]]
        self.plain = [symbol for symbol in listed if symbol not in odd]
        self.symbols = self.plain + odd[:3]

    def url(self, server):
        return f"http://{server.host}:{server.port}"

    def warm(self):
        """Asks the mirror for everything once, so that what has streams is read from them."""
        line, every = self.mirror.line(), targets.Targets(random.Random(1), self.plain, now())
        for target in every.each():
            line.ask(target)
        for symbol in self.symbols:
            quoted = urllib.parse.quote(symbol)
            for target in (f"klines?symbol={quoted}&interval=1m&limit=499", f"depth?symbol={quoted}&limit=5", f"aggTrades?symbol={quoted}"):
                line.ask("/fapi/v1/" + target)
        line.close()

    def end(self):
        codes = [self.mirror.end() if self.mirror is not self.venue else 0, self.venue.end()]
        return [] if not any(codes) else [f"the mirror and the exchange ended with {codes}"]


def now():
    return int(time.time() * 1000)


def books(scene, count):
    """Books of the mirror in a market that moves, each against the venue's true book at the same update."""
    faults, checked, forgotten, known = [], 0, 0, collections.defaultdict(list)
    ours, theirs = scene.mirror.line(), scene.venue.line()
    for _ in range(count):
        symbol = scene.dice.choice(scene.plain)
        seen = json.loads(theirs.ask(f"/fapi/v1/depth?symbol={symbol}&limit=5").body)["lastUpdateId"]
        known[symbol].append((time.monotonic(), seen))
        asked = time.monotonic()
        reply = ours.ask(f"/fapi/v1/depth?symbol={symbol}&limit=20")
        if reply.status != 200:
            faults.append(f"depth of {symbol}: {reply.status} {reply.body[:120]!r}")
            continue
        book = json.loads(reply.body)
        least = max((update for at, update in known[symbol] if at < asked - BEHIND), default=0)
        if book["lastUpdateId"] < least:
            faults.append(f"depth of {symbol} is at {book['lastUpdateId']}, the venue was at {least} {BEHIND} s before")
        truth = scene.venue.true_book(symbol, book["lastUpdateId"])
        if truth is None:
            forgotten += 1
        elif truth != (list(map(tuple, book["bids"])), list(map(tuple, book["asks"]))):
            faults.append(f"depth of {symbol} at {book['lastUpdateId']} is not the venue's: {book['bids'][:2]} for {truth[0][:2]}")
        else:
            checked += 1
        time.sleep(scene.dice.uniform(0, 0.04))
    if checked < count / 2:
        faults.append(f"only {checked} of {count} books could be compared")
    print(f"moving market: {checked} of {count} books are the venue's at the same update ({forgotten} not known there any more), and at most "
          f"{BEHIND} s behind", flush=True)
    return faults


class Hand:
    """Stops the market in each minute and lets it go before the minute turns. It is stopped at once if enough of the minute is left."""

    def __init__(self, venue):
        self.line, self.ended = venue.line(), threading.Event()
        if not HELD <= time.time() % 60 < LATEST:
            time.sleep((HELD - time.time()) % 60)
        self.stop()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self):
        length = int((equal.STILL[1] + 1 - time.time() % 60) * 1000)
        self.line.ask("/control/fault", {}, "POST", json.dumps({"fault": "still", "forMs": length}))

    def run(self):
        while not self.ended.wait((HELD - time.time()) % 60):
            self.stop()
            self.ended.wait(1)

    def end(self):
        self.ended.set()
        self.thread.join(5)


def requests(scene, count, at):
    """Targets by dice."""
    ids, line = {}, scene.venue.line()
    for symbol in scene.symbols:
        rows = json.loads(line.ask(f"/fapi/v1/aggTrades?symbol={urllib.parse.quote(symbol)}&limit=500").body)
        ids[symbol] = [rows[place]["a"] for place in (0, len(rows) // 2, -1)] if rows else []
    make = targets.Targets(scene.dice, scene.symbols, at, ids, versions=scene.versions)
    return [make.next() for _ in range(count)]


def prime(scene, made):
    """Asks the mirror alone while the market moves: what it keeps of these has to be of use no more once they have changed."""
    line = scene.mirror.line()
    for target in made:
        line.ask(target)


def raw(scene, made):
    """Plain requests, byte by byte."""
    ours, theirs = scene.mirror.line(), scene.venue.line()
    judge, faults, statuses, names, bare = equal.Judge(), [], collections.Counter(), collections.Counter(), 0
    for target in made:
        equal.wait_for_still()
        replies = []

        def ask_mirror():
            replies.append(ours.ask(target))
            return replies[-1]

        words = judge.judge(lambda: theirs.ask(target), ask_mirror, lambda one, other: equal.difference(target, one, other))
        statuses[replies[-1].status] += 1
        names[stand.endpoint(target)] += 1
        if words:
            faults.append(f"{target}: {words}")
        elif scene.mirror is not scene.venue and replies[-1].status == 200 and stand.endpoint(target) not in equal.BARE and (
                words := equal.lacking(replies[-1])):
            bare += 1
            if bare <= 5:
                faults.append(f"{target}: {words}")
        if len(faults) >= 300:
            break
    print(f"plain requests: {sum(names.values())} to {len(names)} paths, by status {dict(statuses)}: {len(faults)} differ {judge.summary()}",
          flush=True)
    return faults


def clients(scene, count, at):
    """Calls of the client libraries."""
    faults, done = [], 0
    running = []
    for number, (library, place) in enumerate(scene.libraries.items()):
        python = places.python(place)
        if python is None:
            print(places.skipped(place), flush=True)
            continue
        share = count // sum(len(VENUES[name][1]) for name in scene.options.venues)
        command = [python, "-B", stand.HERE / "calls.py", library, scene.url(scene.venue), scene.url(scene.mirror), "--calls", share, "--seed",
                   scene.options.seed + number, "--now", at, "--symbols", ",".join(scene.symbols)]
        process = subprocess.Popen(["nice", "-n", "5", *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append((library, process))
        if len(running) == 2 or scene.options.one_by_one:
            faults += [fault for one in running for fault in gather(*one)]
            done += share * len(running)
            running = []
    for one in running:
        faults += gather(*one)
    return faults


def gather(library, process):
    try:
        output, errors = process.communicate(timeout=1200)
    except subprocess.TimeoutExpired:
        process.kill()
        return [f"{library}: no end within 1200 s"]
    try:
        told = json.loads(output.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return [f"{library} ended with {process.returncode}: {errors.strip().splitlines()[-1:]}"]
    print(f"{library}: {told['calls']} calls of {told['methods']} methods, {told['errors']} of them errors on both sides:", end=" ")
    print(f"{len(told['wrong'])} differ", {name: told[name] for name in ("equal", "moved", "turned")}, flush=True)
    return [f"{library}: {words}" for words in told["wrong"]]


def others(scene):
    """The lists of the other exchanges are empty, and in the shape that clients read."""
    faults, line = [], scene.mirror.line()
    for target in OTHER:
        reply = line.ask(target)
        try:
            listed = json.loads(reply.body)["symbols"]
        except (ValueError, KeyError, TypeError):
            listed = None
        if reply.status != 200 or listed != []:
            faults.append(f"{target} is answered {reply.status} {reply.body[:120]!r}")
    return faults


def refused(scene, log):
    """What is signed or keyed."""
    faults, line, before = [], scene.mirror.line(), scene.venue.asked()
    for method, target, headers in REFUSED:
        try:
            reply = line.ask(target, headers, method)
        except OSError as error:
            faults.append(f"{method} {target}: {error}")
            continue
        try:
            shape = json.loads(reply.body)
            is_right = 400 <= reply.status < 500 and set(shape) == {"code", "msg"} and shape["code"] < 0
        except (ValueError, TypeError):
            is_right = False
        if not is_right:
            faults.append(f"{method} {target} is answered {reply.status} {reply.body[:160]!r}")
    plain = line.ask("/fapi/v1/ticker/bookTicker?symbol=BTCUSDT", {"X-MBX-APIKEY": SECRETS[1]})
    print(f"a public request with a venue's key is answered {plain.status} {plain.body[:90].decode()}")
    asked = scene.venue.asked() - before
    if leaked := [target for target in asked if any(secret in target for secret in SECRETS) or "order" in target.lower() or "listenKey" in target]:
        faults.append(f"the venue was asked for {leaked}")
    text = open(log).read()
    if found := [secret for secret in SECRETS if secret in text]:
        faults.append(f"the log shows {found}")
    print(f"signed and keyed requests: {len(REFUSED)} sent, {len(faults)} faults; the venue was asked for {stand.by_endpoint(asked)}", flush=True)
    return faults


def keyed(options):
    """A gateway with keys: bots have theirs in the path, and the log has none."""
    made = subprocess.run([options.executable, "hash-key", "--new"], capture_output=True, text=True, check=True).stdout.split()
    faults = []
    with tempfile.TemporaryDirectory(prefix="bots-") as folder:
        secret, digest = key_and_hash(made)
        keys, log = f"{folder}/keys.yaml", f"{folder}/gateway.log"
        open(keys, "w").write(json.dumps({"bot": {"hash": digest, "streams": ["*"], "operations": ["read"]}}))
        venue = stand.Venue(options.executable)
        gateway = stand.Mirror(options.executable, venue, "--keys", keys, "--log-level", "trace", log=log)
        line = gateway.line()
        for path, status in (
            (f"/k/{secret}/fapi/v1/klines?symbol=BTCUSDT&interval=1m", 200),
            (f"/k/{secret}/futures/data/openInterestHist?symbol=BTCUSDT&period=5m", 200),
            ("/fapi/v1/klines?symbol=BTCUSDT&interval=1m", 401), ("/k/wrong-wrong-wrong/fapi/v1/time", 401),
        ):
            reply = line.ask(path)
            if reply.status != status:
                faults.append(f"{path.replace(secret, 'KEY')} is answered {reply.status} for {status}: {reply.body[:120]!r}")
        if line.ask("/fapi/v1/time", {"Authorization": f"Bearer {secret}"}).status != 200:
            faults.append("a key in the header is not taken")
        if any(secret in target for target in venue.asked()):
            faults.append("the venue was told the key")
        gateway.end()
        venue.end()
        if secret in open(log).read():
            faults.append("the log shows the key")
    print(f"keys in paths: {len(faults)} faults", flush=True)
    return faults


def key_and_hash(words):
    """The key and its hash among the words that `hash-key --new` prints: a hash is 64 hexadecimal digits."""
    digest = next(word for word in words if len(word) == 64 and set(word) <= set("0123456789abcdef"))
    return next(word for word in words if word != digest and len(word) > 20), digest


def at_venue(options, name, log):
    scene = Scene(options, name, log)
    print(f"{name}: {len(scene.symbols)} of {options.symbols} symbols", flush=True)
    scene.warm()
    time.sleep(scene.settling)
    faults = books(scene, options.books // len(options.venues))
    at = now()
    made = requests(scene, options.requests // len(options.venues), at)
    prime(scene, made[:PRIMED])
    hand = Hand(scene.venue)
    time.sleep(equal.STILL[0] - HELD if options.mirror == "gateway" else 0)
    faults += raw(scene, made)
    if options.calls:
        faults += clients(scene, options.calls, at)
    hand.end()
    if options.mirror == "gateway":
        faults += others(scene) + refused(scene, log)
    return faults + scene.end()


def main(options):
    begin, faults = time.monotonic(), []
    print(f"seed {options.seed}; the mirror is the {options.mirror}", flush=True)
    with tempfile.TemporaryDirectory(prefix="bots-") as folder:
        log = options.log or f"{folder}/gateway.log"
        for name in options.venues:
            faults += [f"{name}: {words}" for words in at_venue(options, name, log)]
    if options.mirror == "gateway":
        faults += keyed(options)
    print(f"{options.calls} calls and {options.requests} plain requests in {time.monotonic() - begin:.0f} s", flush=True)
    if options.faults:
        open(options.faults, "w").write("".join(f"{fault}\n" for fault in faults))
    return stand.tell(faults)


def selftest(options):
    """The venue as its own mirror differs in nothing; every lie is found."""
    faults = []
    for lie in ("venue", "", *options.lies):
        command = [sys.executable, "-B", stand.HERE / "bots", options.executable, "compare", "--mirror", lie or "honest", "--venues", "binance",
                   "--calls", 0, "--requests", options.requests, "--books", options.books, "--seed", options.seed]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        found = next((line for line in done.stdout.splitlines() if line.startswith("FAULT")), done.stderr.strip()[-200:])
        is_honest = lie in ("venue", "")
        if (done.returncode == 0) != is_honest or not is_honest and "FAULT" not in found:
            faults.append(f"{lie or 'an honest relay'}: ended with {done.returncode}: {found}")
        print(f"{lie or 'honest'}: {'passes' if done.returncode == 0 else found[:200]}", flush=True)
    return stand.tell(faults)
