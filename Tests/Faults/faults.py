"""The table of faults, `faults.txt`, and how they get into a tree."""

import pathlib
import re
from dataclasses import dataclass, field

TABLE = pathlib.Path(__file__).resolve().parent / "faults.txt"
SWITCH = re.compile(r'isOff\("([^"]+)"\)')
SWITCHES = 'import Glibc\n\nfunc isOff(_ safety: String) -> Bool { getenv("UNSAFE").map { String(cString: $0) } == safety }\n'
"""A file that each module gets in which a fault can be switched on."""


class Misplaced(Exception):
    """A change does not fit the file it is for."""


@dataclass
class Change:
    file: str
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    @property
    def switches(self):
        return set(SWITCH.findall("\n".join(self.new)))

    def made(self, text, is_switched=False):
        """The text with the change, as deep as the old lines stand there."""
        pattern = "^( *)" + r"\n\1".join(re.escape(line) for line in self.old) + "\n"
        places = list(re.finditer(pattern, text, re.M))
        if len(places) != 1:
            raise Misplaced(f"{self.file} has to have this once and has it {len(places)} times:\n" + "\n".join(self.old))
        new = "".join(f"{places[0][1]}{line}\n" for line in self.new)
        return text[: places[0].start()] + (new if is_switched else SWITCH.sub("true", new)) + text[places[0].end() :]


@dataclass
class Fault:
    name: str
    sentence: str
    is_for_prove_alone: bool
    changes: list[Change] = field(default_factory=list)

    @property
    def switches(self):
        return set().union(*(change.switches for change in self.changes))


def read(text=None):
    faults, heads = [], 0
    for number, line in enumerate((TABLE.read_text() if text is None else text).splitlines(), 1):
        if not line or line[0] == "#":
            continue
        if line.startswith("== "):
            heads += 1
        elif match := re.fullmatch(r"([a-z-]+): (.+\.)", line):
            faults.append(Fault(*match.groups(), heads > 1))
        elif line.startswith("@ ") and faults:
            faults[-1].changes.append(Change(line[2:]))
        elif line[:2] in ("- ", "+ ", "  ") and faults and faults[-1].changes:
            change = faults[-1].changes[-1]
            change.old += [line[2:]] if line[0] != "+" else []
            change.new += [line[2:]] if line[0] != "-" else []
        else:
            raise ValueError(f"{TABLE.name}:{number} is no line of a table of faults: {line}")
    return faults


def plant(tree, faults, is_switched=False):
    """Plants all of them, or none if one does not fit. Returns what the changed files held."""
    before, after = {}, {}
    for fault in faults:
        for change in fault.changes:
            path = pathlib.Path(tree, change.file)
            try:
                before.setdefault(path, path.read_text())
                after[path] = change.made(after.get(path, before[path]), is_switched)
            except (OSError, Misplaced) as problem:
                raise Misplaced(f"{fault.name} cannot be planted: {problem}") from None
            if is_switched:
                after[pathlib.Path(tree, *path.relative_to(tree).parts[:2], "Unsafe.swift")] = SWITCHES
    put(after)
    return before


def put(texts):
    for path, text in texts.items():
        path.write_text(text)


def plant_switched(tree):
    """All that `prove` needs, in one tree."""
    plant(tree, [fault for fault in read() if fault.switches], is_switched=True)
