"""The checker on trial: a short recorded run passes, and with any one event dropped, doubled, swapped or falsified it has to fail."""

import collections
import random
import re

import court
import cutter
import readers
import sse
import stage
from follower import Fault

SAMPLE = 10
READERS = 2


def main(options):
    options.readers, options.processes = READERS, 1
    recorded = []
    run = stage.Stage(options, record=recorded, sample=SAMPLE)
    run.require(60, run.all_valid, "the books did not come up")
    for how in ("reset", "fin", "reset"):
        run.listen(run.now() + 1.5)
        run.cutter.strike(cutter.Strike("frame", how, 0.5))
        run.listen(run.now() + 3)
        run.require(30, run.all_valid, "not all books are valid")
    run.end()
    if not run.verdict():
        return False
    lines = collections.defaultdict(list)
    for number, block in recorded:
        lines[number].append(block)
    trial = Trial(run.streams, lines, run.court.known, random.Random(options.seed))
    print(f"{len(recorded)} events recorded, seed {options.seed}", flush=True)
    return trial.run(options.times)


class Trial:
    def __init__(self, streams, lines, truth, dice):
        self.streams, self.lines, self.truth, self.dice = streams, lines, truth, dice
        self.parse = sse.Parser()
        self.places = collections.defaultdict(list)
        for place, block in enumerate(lines[0]):
            event = sse.Event(block)
            if event.name and event.data and "stream" in event.data:
                kind = event.data.get("kind", event.data.get("state", ""))
                self.places[f"{event.name} {kind}".strip()].append(place)
                self.places[event.data["stream"], event.levels is not None].append(place)

    def run(self, times):
        """Every defect at as many places; whether all were found and the run without one passes."""
        missed = []
        if faults := self.judge(self.lines):
            missed.append(f"the recorded run itself: {faults[0]}")
        for name in [name for name in dir(self) if name.startswith("defect_")]:
            found, words = 0, ""
            for _ in range(times):
                lines = {number: list(blocks) for number, blocks in self.lines.items()}
                getattr(self, name)(lines)
                faults = self.judge(lines)
                found += bool(faults)
                words = faults[0] if faults else words
            title = name.removeprefix("defect_").replace("_", " ")
            print(f"{found}/{times} found: {title} ({re.sub(r'[0-9]{6,}', 'N', words)[:110]})", flush=True)
            if found < times:
                missed.append(f"{title}: {times - found} of {times} not found")
        for words in missed:
            print("MISSED", words)
        return not missed

    def judge(self, lines):
        """What readers and court say of these events."""
        judges = court.Court(lambda *_: None)
        judges.known = dict(self.truth)
        for number, blocks in lines.items():
            reader = readers.Reader(number, self.streams, lambda report: judges.take(*report), readers.Wishes(sample=SAMPLE))
            try:
                for block in blocks:
                    reader.take(self.parse(block))
            except Fault as fault:
                judges.faults.append(str(fault))
            for follower in reader.followers.values():
                if follower.outages != follower.recoveries or not follower.valid:
                    judges.faults.append(f"{follower.stream}: {follower.recoveries} recoveries of {follower.outages} outages")
        return judges.faults

    def pick(self, kind):
        """Somewhere in the middle of what reader 0 was told."""
        places = self.places[kind]
        return places[self.dice.randrange(len(places) // 10, len(places) - len(places) // 10)]

    def pick_change(self, lines):
        """A change that another change of its stream follows: a full value makes up for any fault before it."""
        places = self.places[self.dice.choice(self.streams), True]
        return self.dice.choice([place for place, after in zip(places, places[1:]) if all(b'"delta"' in lines[0][one] for one in (place, after))])

    def falsify(self, block, pattern):
        """Changes one digit of one of the pattern's places; never into a leading zero, which would not be JSON."""
        digits = [match.start(1) + at for match in re.finditer(pattern, block) for at in range(len(match[1])) if match[1][at:at + 1].isdigit()]
        at = self.dice.choice(digits)
        leads = not block[at - 1:at].isdigit()
        other = self.dice.choice([digit for digit in b"0123456789"[leads:] if digit != block[at]])
        return block[:at] + bytes([other]) + block[at + 1:]

    def defect_update_missing(self, lines):
        del lines[0][self.pick_change(lines)]

    def defect_update_sent_twice(self, lines):
        place = self.pick("update delta")
        lines[0].insert(place, lines[0][place])

    def defect_update_repeated_with_a_new_id(self, lines):
        """As if the gateway had not noticed that the venue repeated itself."""
        place = self.pick("update delta")
        again = re.sub(rb"\nid: .*", b"", lines[0][place])
        lines[0].insert(place + 1, again)

    def defect_updates_swapped(self, lines):
        stream = self.dice.choice(self.streams)
        places = [place for place in self.places[stream, True] if b'"delta"' in lines[0][place]]
        at = self.dice.randrange(len(places) // 2)
        while b'"full"' in b"".join(lines[0][places[at]:places[at + 1] + 1]):
            at += 1
        first, second = places[at], places[at + 1]
        head = lambda block: re.search(rb"\nid: .*", block)[0]
        swapped = [re.sub(rb"\nid: .*", head(lines[0][a]), lines[0][b]) for a, b in ((first, second), (second, first))]
        lines[0][first], lines[0][second] = swapped

    def defect_id_decreases(self, lines):
        place = self.pick("update delta")
        lines[0][place] = re.sub(rb"\nid: .*", b"\nid: 1.1", lines[0][place])

    def defect_wrong_price_in_an_update(self, lines):
        self._falsify(lines, [0], "update delta", rb'\["([0-9.]+)",')

    def defect_wrong_quantity_in_an_update(self, lines):
        self._falsify(lines, [0], "update delta", rb',"([0-9.]+)"\]')

    def defect_wrong_price_in_a_snapshot(self, lines):
        self._falsify(lines, [0], "fetch full", rb'\["([0-9.]+)",')

    def defect_wrong_update_id(self, lines):
        place = self.pick_change(lines)
        lines[0][place] = self.falsify(lines[0][place], rb'"lastUpdateId":([0-9]+)')

    def defect_wrong_best_levels_for_all_readers(self, lines):
        """All readers agree; only the venue knows better."""
        known = [key for key, levels in self.truth.items() if levels]
        while True:
            stream, update_id = self.dice.choice(known)
            mark = b'"lastUpdateId":%d,' % update_id
            for block in lines[0]:
                if mark in block and stream.encode() in block and b'"update"' not in block and (best := self._best_level(block, self.truth[stream, update_id])):
                    falsified = self.falsify(block, best)
                    for blocks in lines.values():
                        blocks[:] = [falsified if other == block else other for other in blocks]
                    return

    def _best_level(self, block, levels):
        """A pattern for the quantity of one of the levels that the event carries."""
        for price, quantity in levels[0] + levels[1]:
            pattern = b'\\["%s","(%s)"\\]' % (re.escape(price.encode()), re.escape(quantity.encode()))
            if re.search(pattern, block):
                return pattern
        return None

    def defect_disconnect_missing(self, lines):
        del lines[0][self.pick("disconnect")]

    def defect_disconnect_sent_twice(self, lines):
        place = self.pick("disconnect")
        lines[0].insert(place, lines[0][place])

    def defect_recover_missing(self, lines):
        del lines[0][self.pick("recover")]

    def defect_recover_sent_twice(self, lines):
        place = self.pick("recover")
        lines[0].insert(place, lines[0][place])

    def defect_recover_reports_a_failure(self, lines):
        place = self.pick("recover")
        lines[0][place] = lines[0][place].replace(b'"success"', b'"failure"')

    def defect_snapshot_after_recover_missing(self, lines):
        place = self.pick("recover")
        stream = sse.Event(lines[0][place]).data["stream"]
        del lines[0][min(other for other in self.places[stream, True] if other > place)]

    def defect_snapshot_older_than_the_outage(self, lines):
        """The book of an earlier moment, handed out again."""
        stream = self.dice.choice(self.streams)
        fulls = [place for place in self.places[stream, True] if b'"full"' in lines[0][place]]
        old = lines[0][fulls[0]]
        place = fulls[-1]
        identity = re.search(rb"\nid: .*", lines[0][place])
        lines[0][place] = re.sub(rb"\nid: .*", identity[0] if identity else b"", old)

    def _falsify(self, lines, numbers, kind, pattern):
        place = self.pick(kind)
        for number in numbers:
            lines[number][place] = self.falsify(lines[number][place], pattern)
