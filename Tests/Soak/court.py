"""What readers say of their books, held against each other and against the venue."""

DEEP = 900
"""The exchange announces every level that comes to stand within so many best ones; a client may not know those behind."""

MEMORY = 20_000
"""Updates of which the venue's book is remembered."""


class Court:
    """`truth(symbol, update_id)` gives the venue's best levels right after an update, None where it has forgotten."""

    def __init__(self, truth):
        self.truth = truth
        self.known, self.chains = {}, {}
        self.equal = self.forgotten = self.agreed = self.deep = self.missed = 0
        self.faults = []

    def take(self, kind, reader, *report):
        """A reader's report; whether it was one for the court."""
        if kind == "sample":
            self._sample(reader, *report)
        elif kind == "chain":
            self._chain(reader, *report)
        elif kind == "deep":
            self._deep(reader, *report)
        elif kind == "fault":
            self.faults.append(f"reader {reader}: {report[0]}")
        else:
            return False
        return True

    def _chain(self, reader, stream, base, update_id, chain):
        """All readers that started from the same full book have read the same levels since."""
        if len(self.chains) > 10 * MEMORY:
            self.chains.clear()
        if self.chains.setdefault((stream, base, update_id), chain) != chain:
            self.faults.append(f"reader {reader} received other updates of {stream} up to {update_id} than another reader")
        self.agreed += 1

    def _sample(self, reader, stream, base, update_id, chain, top):
        """As `_chain`, and the venue's book is the same."""
        self._chain(reader, stream, base, update_id, chain)
        key = (stream, update_id)
        if key not in self.known:
            if len(self.known) > MEMORY:
                self.known.clear()
            self.known[key] = self.truth(symbol(stream), update_id)
        truth = self.known[key]
        if truth is None:
            self.forgotten += 1
        elif top != truth:
            self.faults.append(f"reader {reader}: {stream} is wrong at {update_id}: {difference(top, truth)}")
        else:
            self.equal += 1

    def _deep(self, reader, stream, update_id, mine, true):
        if mine is None:
            self.missed += 1
            return
        self.deep += 1
        if mine != true:
            self.faults.append(f"reader {reader}: {stream} is wrong at {update_id} in depth: {difference(mine, true)}")

    def summary(self):
        return (
            f"{self.equal} books equal to the venue's best 20 levels at the same update ({self.forgotten} forgotten there), "
            f"{self.deep} in the best {DEEP} ({self.missed} not met), {self.agreed} compared among readers")


def symbol(stream):
    return stream.split("@")[0].upper()


def difference(mine, true):
    """The first level of each side that differs."""
    found = []
    for side, ours, theirs in (("bid", mine[0], true[0]), ("ask", mine[1], true[1])):
        for rank, (level, right) in enumerate(zip(ours, theirs)):
            if level != right:
                found.append(f"{side} {rank} is {level} for {right}")
                break
        else:
            if len(ours) != len(theirs):
                found.append(f"{len(ours)} {side}s for {len(theirs)}")
    return ", ".join(found) or "something"
