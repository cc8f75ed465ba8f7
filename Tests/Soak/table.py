"""A PROOF.md: written a row at a time by its `prove`, and refused where `prove` would not have written it."""

import hashlib
import os
import platform
import re

HEAD = "| promise | command | figure | with the safety off | shown | seconds | commit | when | check |"
RULE = "|---|---|---|---|---|---|---|---|---|"
COLUMNS = HEAD.count("|") - 1
MACHINE = re.compile(r"By `make [\w-]+`, each row when and from which commit it says\. Machine: \d+ processors, Linux [\w.]+\.")
FORMS = {5: r"(yes|skipped|\*\*NO\*\*)", 6: r"\d+", 7: r"[0-9a-f]{12}", 8: r"\d{4}-\d\d-\d\d \d\d:\d\d"}
"""What the cells of these columns look like, counted from one."""


def check_of(row, cells):
    """What stands at a row's end: a hash of what the row says and of what `prove` runs for it, so that a row of other commands is no row."""
    runs = (row.promise, row.command, row.figure, row.fault, row.control, row.unsafe, row.less)
    return hashlib.sha256("\n".join([*runs, *cells]).encode()).hexdigest()[:16]


def command_of(row):
    return f"`{row.program} {row.command}`"


def line(row, figure, off, shown, seconds, commit, when):
    clean = lambda text: re.sub(r"\s+", " ", text.replace("|", "/")).strip()
    cells = [row.promise, command_of(row), clean(figure), clean(off) or "none", shown, str(round(seconds)), commit, when]
    return "| " + " | ".join([*cells, check_of(row, cells)]) + " |"


def begin(make="prove"):
    """The lines above the rows; `make` is the target that writes them."""
    machine = f"By `make {make}`, each row when and from which commit it says. Machine: {os.cpu_count()} processors, Linux {platform.release().partition('-')[0]}."
    return ["# What was proved", "", machine, "", HEAD, RULE]


def mistakes(text, rows):
    """Why `prove` would not have written this; nothing where it would."""
    lines = text.split("\n")
    frame = begin()
    if len(lines) < len(frame) + 1 or lines[-1] != "":
        return ["it has not the lines of a table"]
    found = []
    if lines[:2] + lines[3:6] != frame[:2] + frame[3:] or not MACHINE.fullmatch(lines[2]):
        found.append("its head is another")
    by_promise, last = {row.promise: (place, row) for place, row in enumerate(rows)}, -1
    for number, entry in enumerate(lines[6:-1], 7):
        if words := mistake(entry, by_promise):
            found.append(f"line {number}: {words}")
            continue
        place, _ = by_promise[entry.split(" | ")[0][2:]]
        if place <= last:
            found.append(f"line {number}: it is out of order, or there twice")
        last = place
    return found


def mistake(entry, by_promise):
    """Why a line is none of a table's; None where it is one."""
    cells = entry.removeprefix("| ").removesuffix(" |").split(" | ")
    if len(cells) != COLUMNS or entry != "| " + " | ".join(cells) + " |":
        return f"it has not {COLUMNS} cells"
    if cells[0] not in by_promise:
        return f"nothing is promised by the name {cells[0]}"
    row = by_promise[cells[0]][1]
    if cells[1] != command_of(row):
        return f"{cells[1]} is not the command of {row.promise}"
    if any(not re.fullmatch(form, cells[column - 1]) for column, form in FORMS.items()):
        return "whether it was shown, seconds, commit or time are no such"
    if cells[-1] != check_of(row, cells[:-1]):
        return "the check is not that of what it says: run the row again"
    return None


def put(text, rows, row, entry, make="prove"):
    """The table `text` with a row's new line; lines that `prove` would not have written are dropped."""
    by_promise = {row.promise: (place, row) for place, row in enumerate(rows)}
    kept = {old.split(" | ")[0][2:]: old for old in text.split("\n") if old.startswith("| ") and old != HEAD and not mistake(old, by_promise)}
    kept[row.promise] = entry
    return "\n".join([*begin(make), *(kept[one.promise] for one in rows if one.promise in kept)]) + "\n"
