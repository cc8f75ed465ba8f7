"""Whether two answers to one request are the same: status, kind and every byte of the body, but for the clocks named here."""

import re
import time

import stand

CLOCKS = {
    "time": {"serverTime": "it is the clock"},
    "exchangeInfo": {"serverTime": "the clock at the request"},
    "depth": {"E": "when the answer was made", "T": "when the book was last brought up to date, which the demo exchange does at each request"},
    "rpiDepth": {"E": "when the answer was made", "T": "as in depth"},
    "ticker/price": {"time": "when the last trade was; the stream has the time of its message"},
    "premiumIndex": {"time": "the clock at the request; the stream has the second of its message"},
    "openInterest": {"time": "the clock at the request"},
    "assetIndex": {"time": "the clock at the request; the stream has the second of its message"},
    "indexInfo": {"time": "the clock at the request"},
    "constituents": {"time": "the clock at the request"},
    "tradingSchedule": {"updateTime": "the clock at the request"},
}
"""The members that are left out of the comparison, by what is asked for, each with the reason. No other member is."""
AROUND = 40
"""Bytes shown on either side of a difference."""
TURN = 3
"""Seconds after the turn of a minute in which a bar that begins may be on its way."""
STILL = (14, 55)
"""The seconds of each minute in which calls are compared. The market stands still then; it moves while the minute turns, so that all bars begin."""


def wait_for_still(clock=time.time, sleep=time.sleep):
    """Waits until the market stands still, and has for so long that the mirror keeps nothing from before."""
    second = clock() % 60
    if not STILL[0] <= second < STILL[1]:
        sleep((STILL[0] - second) % 60)


def masked(target, body):
    """The body with every clock set to 0. A clock is a time in milliseconds; anything else in its place stays and differs."""
    for member in CLOCKS.get(stand.endpoint(target), ()):
        body = re.sub(rb'("%s":)\d{13}(?=[,}])' % member.encode(), rb"\g<1>0", body)
    return body


def difference(target, mirror, venue):
    """How the mirror's answer differs from the venue's, in a few words; None where it does not."""
    if mirror.status != venue.status:
        return f"status {mirror.status} for {venue.status}: {shown(mirror.body[:120])} for {shown(venue.body[:120])}"
    kinds = [reply.headers.get("content-type", "").split(";")[0] for reply in (mirror, venue)]
    if kinds[0] != kinds[1]:
        return f"Content-Type {kinds[0]} for {kinds[1]}"
    return gap(masked(target, mirror.body), masked(target, venue.body))


def gap(mirror, venue):
    """Where two texts first differ; None where they do not."""
    if mirror == venue:
        return None
    place = next((place for place, (one, other) in enumerate(zip(mirror, venue)) if one != other), min(len(mirror), len(venue)))
    begin = max(0, place - AROUND)
    return f"byte {place} of {len(venue)}: {shown(mirror[begin:place + AROUND])} for {shown(venue[begin:place + AROUND])}"


def shown(text):
    return text.decode(errors="replace") if isinstance(text, bytes) else text


BARE = ("ping", "time")
"""What is no market data."""


def lacking(reply):
    """Which of the headers that every mirrored answer of market data has are missing or no numbers; None where all are right."""
    for name in ("x-mbx-used-weight-1m", "x-feed-age-ms"):
        if not reply.headers.get(name, "").isdigit():
            return f"{name} is {reply.headers.get(name)}"
    return next((f"{name} is missing" for name in ("x-feed-source", "x-feed-state") if not reply.headers.get(name)), None)


class Judge:
    """Compares what a mirror and the venue say at the same instant, and counts.

    An answer is right if the venue says the same before or after it. Where the venue says one thing before and another after, and the mirror a third,
    it is asked again. Right after a minute has turned, the mirror may be a second behind, as a bar that begins is a message of the stream.
    """

    def __init__(self, sleep=time.sleep, clock=time.time):
        self.sleep, self.clock = sleep, clock
        self.equal = self.moved = self.turned = 0

    def judge(self, venue, mirror, differ):
        """`venue` and `mirror` ask; `differ(mirror's, venue's)` says how they differ. What is wrong, or None."""
        words = None
        for _ in range(5):
            before, ours = venue(), mirror()
            words = differ(ours, before)
            if words is None:
                self.equal += 1
                return None
            after = venue()
            if differ(ours, after) is None:
                self.moved += 1
                return None
            if differ(before, after) is None:
                break
        if self.clock() % 60 < TURN:
            self.sleep(1)
            if differ(mirror(), venue()) is None:
                self.turned += 1
                return None
        return words

    def summary(self):
        return {"equal": self.equal, "moved": self.moved, "turned": self.turned}
