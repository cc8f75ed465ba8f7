"""The table of what was shown: each row is written by the run that it tells of."""

import contextlib
import datetime
import io
import os
import pathlib
import subprocess
import sys

import stand

HEAD = ("command", "result", "what it said", "commit", "when")
INTRODUCTION = """# What was shown about bots

By `Tests/Bots/bots EXECUTABLE COMMAND --record Tests/Bots/RESULTS.md`, each row when and from which commit it says. Machine: {machine}.
"""


class Both(io.TextIOBase):
    """Prints, and keeps what was printed."""

    def __init__(self, screen):
        self.screen, self.lines = screen, io.StringIO()

    def write(self, text):
        self.screen.write(text)
        return self.lines.write(text)

    def flush(self):
        self.screen.flush()


def run(options, line):
    """Runs a command; writes its row if it is told to. Whether it passed."""
    if not options.record or options.command in ("short", "all"):
        return options.run(options)
    both = Both(sys.stdout)
    with contextlib.redirect_stdout(both):
        passed = options.run(options)
    words = without_record(line)
    said = [one for one in both.lines.getvalue().splitlines() if one and one not in ("passed",) and not one.startswith("seed ")]
    write(pathlib.Path(options.record), words, (words, "passed" if passed else "FAILED", "; ".join(said[:12]), commit(), when()))
    return passed


def without_record(line):
    words = line.split()
    while "--record" in words:
        place = words.index("--record")
        del words[place:place + 2]
    return " ".join(words)


def commit():
    made = subprocess.run(["git", "-C", stand.ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    return made or "?"


def when():
    return f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M}"


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ").strip()


def write(path, command, row):
    """Puts the row in the place of the one of the same command, else at the end."""
    rows = {}
    if path.exists():
        for one in path.read_text().splitlines():
            if one.startswith("| `"):
                rows[one.split("`")[1]] = one
    rows[command] = f"| `{cell(row[0])}` | " + " | ".join(map(cell, row[1:])) + " |"
    machine = f"{os.cpu_count()} processors, {os.uname().sysname} {os.uname().release}"
    table = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD), *rows.values()]
    path.write_text(INTRODUCTION.format(machine=machine) + "\n" + "\n".join(table) + "\n")
