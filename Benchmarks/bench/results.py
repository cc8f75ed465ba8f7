"""The table of results: what a line says, and how new lines take the place of old ones."""

import dataclasses
import os
import platform
import re
import statistics

HEAD = "| row | figure | ours | limit or peer | ratio | goal | reached | commit | when |"
RULE = "|---|---|---|---|---|---|---|---|---|"


@dataclasses.dataclass
class Figure:
    """One line. `most` and `least` bound the ratio if there is one, else the figure itself."""

    name: str
    ours: float
    unit: str
    peer: str = ""
    """What `theirs` is of."""
    theirs: float | None = None
    ratio: float | None = None
    most: float | None = None
    least: float | None = None
    bounds_ratio: bool = False
    note: str = ""

    @property
    def judged(self):
        return self.ratio if self.bounds_ratio else self.ours

    @property
    def is_reached(self):
        """None without a goal."""
        if self.judged is None or (self.most is None and self.least is None):
            return None
        return (self.most is None or self.judged <= self.most) and (self.least is None or self.judged >= self.least)

    def cells(self):
        goal = "" if self.most is None and self.least is None else f"≤ {number(self.most)}" if self.least is None else f"≥ {number(self.least)}"
        reached = {None: "", True: "yes", False: "**no**"}[self.is_reached]
        theirs = "" if self.theirs is None else f"{number(self.theirs)} ({self.peer})"
        name = f"{self.name}; {self.note}" if self.note else self.name
        return [name, f"{number(self.ours)} {self.unit}".strip(), theirs, "" if self.ratio is None else f"{self.ratio:.2f}",
                goal + (" ×" if goal and self.bounds_ratio else ""), reached]


@dataclasses.dataclass
class Skipped:
    """A row that could not be measured."""

    why: str

    def cells(self):
        return [f"skipped: {self.why}", "", "", "", "", ""]


def number(value):
    if value is None:
        return ""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def beside(name, rounds, unit, peer, most=None, least=None, note=""):
    """A figure beside a peer's of the same round: the medians of both, and the median of the rounds' ratios, which the goal bounds."""
    return Figure(name, statistics.median(ours for ours, _ in rounds), unit, peer, statistics.median(theirs for _, theirs in rounds),
                  statistics.median(ours / theirs for ours, theirs in rounds if theirs), most, least, bounds_ratio=True, note=note)


def line(row, cells, commit, when):
    clean = (re.sub(r"\s+", " ", cell.replace("|", "/")).strip() for cell in [row, *cells, commit, when])
    return "| " + " | ".join(clean) + " |"


def begin():
    with open("/proc/cpuinfo") as file:
        model = next((text.split(":")[1].strip() for text in file if text.startswith("model name")), platform.machine())
    return ["# Results", "", "Written by `make bench`, each line when and from which commit it says; `+` after a commit means with changes. "
            "`docs/reference/benchmarks.md` says what the rows are.", "",
            f"Machine: {os.cpu_count()} processors ({model}), Linux {platform.release().partition('-')[0]}.", "", HEAD, RULE]


def merge(text, new, order):
    """The lines of `text`, with those of the rows in `new` in place of older ones, in the order of the rows."""
    lines = {}
    for old in text.split("\n"):
        if old.startswith("| ") and old != HEAD:
            lines.setdefault(old.split(" | ")[0][2:], []).append(old)
    lines |= new
    return "\n".join(begin() + [entry for row in order for entry in lines.get(row, [])]) + "\n"


def mistakes(text, order):
    """Why this is nothing that `merge` would have written."""
    lines = text.split("\n")
    frame = begin()
    if lines[:4] != frame[:4] or lines[5:8] != frame[5:8] or lines[-1]:
        return ["its head is another"]
    found, last = [], -1
    for entry in lines[8:-1]:
        cells = entry[2:-2].split(" | ") if entry.startswith("| ") else []
        if len(cells) != HEAD.count("|") - 1 or cells[0] not in order or not re.fullmatch(r"[0-9a-f]{7,12}\+?", cells[7].strip()):
            found.append(f"no line of a row: {entry[:80]}")
        elif order.index(cells[0]) < last:
            found.append(f"out of order: {entry[:80]}")
        else:
            last = order.index(cells[0])
    return found
