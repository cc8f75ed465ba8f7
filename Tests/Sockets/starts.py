"""Many starts of order books by strict clients: subscribe, fetch the book at a random moment, and join the two."""

import json
import threading
import time

import peer
import strict

EVENTS = 4
"""Events that must follow without a break after a start."""
PATIENCE = 15
EARLY = "with the request"
"""Before the answer to SUBSCRIBE a subscription may not be in effect. The venue has such overlap failures, too (`--direct`), so they are shown, not judged."""
WAYS = (EARLY, "after the answer", "after an event", "after three events", "names in the path")


class Start:
    """One client, from its handshake to the joined book."""

    def __init__(self, gateway, symbol, speed, way, rest):
        self.symbol, self.way, self.rest = symbol, way, rest
        self.name = f"{symbol.lower()}@depth{speed}"
        self.book, self.joined, self.answered, self.events, self.acknowledged = strict.Book(), None, None, 0, False
        self.begun = time.monotonic()
        path = f"/ws/{self.name}" if way == "names in the path" else "/ws"
        self.socket = peer.Socket(gateway.host, gateway.port, path)
        self.fetcher = None
        if way != "names in the path":
            self.socket.ask("SUBSCRIBE", [self.name], id=1)

    def run(self):
        """Raises `strict.Overlap` if the book and the events cannot be joined; returns other faults."""
        if self.way in ("with the request", "names in the path"):
            self.fetch()
        after = 0
        while after < EVENTS:
            if time.monotonic() > self.begun + PATIENCE:
                answer = "no answer of REST" if self.answered is None else f"REST at {self.answered[1].get('lastUpdateId')}"
                return f"not joined after {PATIENCE} s: {self.events} events, {answer}"
            for one in self.socket.wait(0.02):
                if one.opcode != peer.TEXT:
                    continue
                message = json.loads(one.payload)
                if "result" in message:
                    self.acknowledged = True
                    continue
                self.events += 1
                if not self.book.receive(message):
                    return f"pu {message['pu']} follows u {self.book.position}"
                after += self.book.position is not None
            if self.socket.ended or self.socket.closed:
                return f"closed: {self.socket.closed or self.socket.ended}"
            if self.fetcher is None and (self.acknowledged and self.way == "after the answer" or self.events >= 1 and self.way == "after an event"
                                         or self.events >= 3):
                self.fetch()
            if self.answered and self.book.snapshot is None:
                status, body = self.answered
                if status != 200:
                    return f"REST answers {status} {body}"
                self.book.start(body)
        return None

    def fetch(self):
        """Fetches the book in a thread, because events must not wait for it."""
        def ask():
            self.answered = self.rest.depth(self.symbol)
        self.fetcher = threading.Thread(target=ask, daemon=True)
        self.fetcher.start()


class Tally:
    def __init__(self, count):
        self.lock, self.left, self.compared, self.forgotten, self.overlaps, self.faults, self.waits = threading.Lock(), count, 0, 0, [], [], []
        self.ways, self.continued = {}, 0

    def next(self):
        with self.lock:
            self.left -= 1
            return self.left >= 0


def worker(stage, dice, tally):
    rest, truth = strict.REST(stage.gateway), strict.REST(stage.venue)
    while tally.next():
        symbol, speed, way = dice.choice(stage.symbols), dice.choice(("@100ms", "@0ms")), dice.choice(WAYS)
        what = f"{symbol.lower()}@depth{speed}, {way}"
        try:
            start = Start(stage.gateway, symbol, speed, way, rest)
            try:
                fault = start.run()
            except strict.Overlap as error:
                with tally.lock:
                    tally.overlaps.append(f"{what}: {error}")
                    tally.continued += error.is_next
                    tally.ways[way] = tally.ways.get(way, 0) + 1
                fault = None
            else:
                if fault is None:
                    tally.waits.append(time.monotonic() - start.begun)
                    true = truth.truth(symbol, start.book.position)
                    if true is None:
                        tally.forgotten += 1
                    else:
                        tally.compared += 1
                        wrong = strict.difference(start.book.top(), true)
                        fault = wrong and f"the book at {start.book.position} is not the exchange's: {wrong}"
            if start.fetcher:
                start.fetcher.join(20)
            start.socket.close()
        except (OSError, peer.Refused, peer.Broken, ValueError, KeyError) as error:
            fault = f"{type(error).__name__}: {error}"
        if fault:
            with tally.lock:
                tally.faults.append(f"{what}: {fault}")
        time.sleep(dice.choice((0, 0, 0.1, 1.5)))


def check(stage, count, workers=8):
    tally = Tally(count)
    threads = [threading.Thread(target=worker, args=(stage, stage.fork(), tally)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waits = sorted(tally.waits) or [0]
    print(f"starts: {count} starts of books, {len(tally.overlaps)} overlap failures ({tally.continued} of them books that "
          f"the first event continues, the others are older; by way {tally.ways}), {len(tally.faults)} other faults, {tally.compared} books compared "
          f"({tally.forgotten} no longer known to the exchange); joined after {waits[len(waits) // 2]:.2f} s (median), {waits[-1]:.2f} s (longest)",
          flush=True)
    return [f"overlap: {words}" for words in tally.overlaps if EARLY not in words] + tally.faults
