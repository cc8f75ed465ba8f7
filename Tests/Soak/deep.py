"""A book compared with the venue's in depth: copies of it are kept while the venue is asked, and the one of the same update is held against the answer."""

import http.client
import json
import queue
import random
import threading
import time

import court
from book import Book, within


class Copies:
    """One follower's books at its last updates."""

    def __init__(self, follower):
        self.follower = follower
        self.kept = {}
        self.since = time.monotonic()
        self.keep()

    def keep(self):
        if self.follower.valid:
            self.kept[self.follower.position] = dict(self.follower.bids), dict(self.follower.asks), self.follower.reach

    def compared(self, update_id, levels):
        """The reader's best levels at that update and the venue's, as far as the reader can know them."""
        view = Book(self.follower.stream)
        view.bids, view.asks, reach = self.kept[update_id]
        return within(view.top(court.DEEP), reach), within(levels, reach)


class Asker:
    """Asks the venue about one stream of a reader at a time, in a thread, because the reader may not wait."""

    def __init__(self, reader, host, port, interval=0.5):
        self.reader, self.host, self.port, self.interval = reader, host, port, interval
        self.books = [follower for follower in reader.followers.values() if isinstance(follower, Book)]
        self.dice = random.Random(reader.number)
        self.questions, self.answers = queue.Queue(), queue.Queue()
        self.answer = None
        self.next = time.monotonic() + 2
        threading.Thread(target=self._ask, daemon=True).start()

    def turn(self):
        """Called now and then by the reader's loop."""
        now = time.monotonic()
        if not self.reader.deep:
            if now >= self.next:
                self.next = now + self.interval
                follower = self.dice.choice(self.books)
                if follower.valid:
                    self.reader.deep, self.answer = Copies(follower), None
                    self.questions.put(court.symbol(follower.stream))
            return
        copies = self.reader.deep
        try:
            self.answer = self.answer or self.answers.get_nowait()
        except queue.Empty:
            if now < copies.since + 15:
                return
            self.answer = (0, None)
        update_id, levels = self.answer
        passed = levels is None or not copies.follower.valid or (copies.follower.position or 0) >= update_id
        if not passed and now < copies.since + 15:
            return
        mine = None
        if levels and update_id in copies.kept:
            mine, levels = copies.compared(update_id, levels)
        self.reader.report(("deep", self.reader.number, copies.follower.stream, update_id, mine, levels))
        self.reader.deep = None

    def _ask(self):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=10)
        while True:
            symbol = self.questions.get()
            try:
                connection.request("GET", f"/fapi/v1/depth?symbol={symbol}&limit=1000")
                reply = json.loads(connection.getresponse().read())
                levels = tuple(list(map(tuple, reply[side]))[: court.DEEP] for side in ("bids", "asks"))
                self.answers.put((reply["lastUpdateId"], levels))
            except (OSError, ValueError, KeyError, http.client.HTTPException):
                connection.close()
                self.answers.put((0, None))
