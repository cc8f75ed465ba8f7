"""Streams that are not books: those in which every message counts, and those of which only the newest does."""

from book import Book
from follower import Follower


class Tape(Follower):
    """Trades. The demo exchange numbers those of a symbol without a hole."""

    begins_anew = True

    def full(self, content):
        self._check(content, content[0]["id"] - 1)
        return content[-1]["id"]

    def delta(self, content):
        self._check(content, self.position)
        return content[-1]["id"]

    def _check(self, content, last):
        for row in content:
            if row["id"] != last + 1:
                self.broken(f"trade {row['id']} came after {last}")
            last = row["id"]


class Latest(Follower):
    """Each message replaces the one before; their times may not go back, and none comes twice."""

    message = None

    def _fetch(self, data):
        # An answer that was overtaken by a message says what that message said.
        self.message = None
        super()._fetch(data)

    def full(self, content):
        was_valid, before = self.valid, self.message
        self.message = content["time"], content.get("updateId")
        if was_valid and self.message == before:
            self.broken(f"the message of {before} came twice")
        return content["time"]

    def _complete(self, data):
        super()._complete(data)
        self.jumps = 0


def follower(stream):
    kind = stream.split("@")[1]
    return (Book if kind == "depth" else Tape if kind in ("aggTrade", "trade") else Latest)(stream)
