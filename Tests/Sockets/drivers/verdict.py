"""What a driver's client received and how it is judged."""

import collections
import importlib.metadata
import json
import logging
import os
import queue
import re
import threading
import time

import strict

RECONNECT = re.compile(r"reconnect|clos(e|ed|ing)\b|connectionclosed|connection (reset|issue|lost|ended)|disconnect|"
                       r"no close frame|timed? ?out|1012|1013|1001", re.I)
"""What a client can say in its log when its connection ends, as it also does at the venue."""
NUMBERS = re.compile(r"\d[\d.]*")
"""Errors that differ only in numbers are counted together, and shown by the first of them."""
FRESH = 12
"""Seconds before the end within which each kind of event must have arrived."""
SPACING = 0.3
"""Seconds between two comparisons of one symbol's book."""


class Verdict:
    """What the client received, and its errors. Any thread can use it."""

    def __init__(self, options, package):
        self.options, self.lock = options, threading.Lock()
        self.begun = time.monotonic()
        self.version = importlib.metadata.version(package)
        self.events, self.last, self.errors, self.notes = collections.Counter(), {}, collections.Counter(), collections.Counter()
        self.first = {}
        self.reconnects, self.trades, self.compared, self.forgotten = 0, 0, 0, 0
        self.trade_ids, self.looked, self.books = {}, {}, queue.Queue()
        self.rest = strict.REST(Server(options.exchange))
        threading.Thread(target=self._compare, daemon=True).start()

    @property
    def left(self):
        return self.begun + self.options.seconds - time.monotonic()

    def error(self, words):
        with self.lock:
            words = " ".join(str(words).split())[:500]
            kind = NUMBERS.sub("N", words)
            first = self.first.setdefault(kind, (words, round(time.monotonic() - self.begun, 1)))
            self.errors[first[0]] += 1

    def note(self, words):
        self.notes[" ".join(str(words).split())[:160]] += 1

    def event(self, kind):
        with self.lock:
            self.events[kind] += 1
            self.last[kind] = time.monotonic()

    def reconnected(self, *keys):
        """A connection ended. `keys` are the keys of its trades; all if there are none."""
        with self.lock:
            self.reconnects += 1
            for key in keys or list(self.trade_ids):
                self.trade_ids.pop(key, None)

    def trade(self, key, number):
        """The next aggregate trade of a connection."""
        self.event("trades")
        with self.lock:
            self.trades += 1
            last, self.trade_ids[key] = self.trade_ids.get(key), number
        if last is not None and number != last + 1:
            self.error(f"trade {number} of {key} follows {last} inside one connection")

    def book(self, symbol, update_id, bids, asks):
        """Compares the best levels with the exchange's at this update. The lists are pairs of numbers or decimal texts, best first."""
        self.event("books")
        now = time.monotonic()
        if now < self.looked.get(symbol, 0) + SPACING:
            return
        self.looked[symbol] = now
        levels = [[(round(float(level[0]), 8), round(float(level[1]), 8)) for level in side[:20]] for side in (list(bids)[:20], list(asks)[:20])]
        self.books.put((symbol, int(update_id), levels))

    def _compare(self):
        while True:
            symbol, update_id, levels = self.books.get()
            try:
                true = self.rest.truth(symbol, update_id)
            except OSError as error:
                self.note(f"the exchange was not asked: {error}")
                continue
            if true is None:
                self.forgotten += 1
                continue
            self.compared += 1
            true = [[tuple(round(float(number), 8) for number in level) for level in side[:len(ours)]] for side, ours in zip(true, levels)]
            if not all(levels):
                self.error(f"the book of {symbol} at {update_id} has an empty side")
            elif wrong := strict.difference(levels, true):
                self.error(f"the book of {symbol} at {update_id} is not the exchange's: {wrong}")

    def finish(self, kinds):
        until = time.monotonic() + 5
        while not self.books.empty() and time.monotonic() < until:
            time.sleep(0.05)
        for kind in kinds:
            if not self.events[kind]:
                self.error(f"no {kind}")
            elif (age := time.monotonic() - self.last[kind]) > FRESH + (65 if kind == "bars" else 5):
                self.error(f"no {kind} in the last {age:.0f} s")
        if "books" in kinds and not self.compared:
            self.error(f"no book could be compared ({self.forgotten} unknown to the exchange)")
        out = {"client": self.options.client, "version": self.version, "events": dict(self.events), "reconnects": self.reconnects,
               "books": self.compared, "unknown books": self.forgotten, "trades": self.trades, "errors": dict(self.errors.most_common(20)),
               "first": dict(self.first.values()),
               "notes": dict(self.notes.most_common(8))}
        print(json.dumps(out), flush=True)
        os._exit(0)


class Server:
    def __init__(self, address):
        self.host, port = address.split(":")
        self.port = int(port)


class Logs(logging.Handler):
    """Errors in the client's log are errors of the client, unless they are about the end of a connection."""

    def __init__(self, verdict):
        super().__init__(logging.WARNING)
        self.verdict = verdict

    def emit(self, record):
        words = f"{record.name}: {record.getMessage()}"
        if record.levelno >= logging.ERROR and not RECONNECT.search(words):
            self.verdict.error(words)
        else:
            self.verdict.note(words)


class Joined:
    """A book that the driver itself keeps from the client's events and its REST call, by the strictest rule."""

    def __init__(self, verdict, symbol, fetch):
        self.verdict, self.symbol, self.fetch, self.lock = verdict, symbol, fetch, threading.RLock()
        self.reset()

    def reset(self):
        with self.lock:
            self.book, self.is_asked = strict.Book(), False

    def take(self, event):
        """`event` has U, u, pu, b and a."""
        with self.lock:
            try:
                if not self.book.receive(event):
                    self.verdict.note("a break of pu")
                    self.reset()
                    self.book.receive(event)
            except strict.Overlap as error:
                self._overlap(error)
            if not self.is_asked:
                self.is_asked = True
                threading.Thread(target=self._ask, args=(self.book,), daemon=True).start()
            if self.book.position is not None:
                self.verdict.book(self.symbol, self.book.position, *self.book.top())

    def _ask(self, book):
        try:
            snapshot = self.fetch()
        except Exception as error:
            self.verdict.note(f"depth of {self.symbol}: {error}")
            time.sleep(0.5)
            with self.lock:
                self.is_asked = self.is_asked and book is not self.book
            return
        with self.lock:
            if book is self.book:
                try:
                    self.book.start(snapshot)
                except strict.Overlap as error:
                    self._overlap(error)

    def _overlap(self, error):
        self.verdict.error(f"{self.symbol}: {error}")
        self.reset()
