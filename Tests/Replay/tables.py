"""polars, DuckDB and hftbacktest read the tables of a tape, and the programs in docs/read/tables.md work with them."""

import collections
import csv
import gzip
import json
import pathlib
import re
import subprocess
import tempfile

import clients_of
import places
import stand
from readers import MODULUS

HERE = pathlib.Path(__file__).resolve().parent
PAGE = stand.ROOT / "docs/read/tables.md"
TRADES = "btcusdt@aggTrade"


def blocks(library):
    """The programs of a library on the page. A program in Python names the library; those in SQL are DuckDB's."""
    text = PAGE.read_text()
    if library == "duckdb":
        return [f"import duckdb\nprint(duckdb.sql({block!r}))" for block in re.findall(r"(?ms)^```sql\n(.*?)^```", text)]
    return [block for block in re.findall(r"(?ms)^```python\n(.*?)^```", text) if ("hftbacktest" in block) == (library == "hftbacktest")]


def export(options, folder):
    tape = options.folder / "tape"
    for name, words in (("tables", ["--format", "csv"]), ("trades.ndjson", ["--stream", TRADES]), ("trades.ndjson.zst", ["--stream", TRADES])):
        subprocess.run([options.executable, "tape", "export", tape, "--output", folder / name, *words], check=True, capture_output=True)


class Truth:
    """The tables and the lines of JSON as Python's own modules read them."""

    def __init__(self, folder):
        self.folder, self.rows = folder, {}
        self.kinds, self.parquet = collections.Counter(), [0, 0]
        for path in sorted((folder / "tables").glob("*.csv.gz")):
            with gzip.open(path, "rt", newline="") as file:
                self.read(path, csv.DictReader(file))
        self.trades = set()
        for line in (folder / "trades.ndjson").read_text().splitlines():
            event = json.loads(line)
            if event["event"] in ("update", "fetch"):
                self.trades |= {trade["id"] for trade in event["content"]}
        self.ids = [len(self.trades), sum(number % MODULUS for number in self.trades)]

    def read(self, path, rows):
        count = total = 0
        snapshot, at = 0, None
        is_bitcoin = path.name.endswith("_BTCUSDT.csv.gz")
        for row in rows:
            count, total = count + 1, total + int(row["local_timestamp"]) % MODULUS
            if not is_bitcoin:
                continue
            if "aggregate_trades" in path.name:
                self.kinds["TRADE_EVENT"] += 1
            elif "incremental_book" in path.name and row["is_snapshot"] == "true":
                # A snapshot counts if a change follows before the next one.
                snapshot = snapshot + 1 if at == row["local_timestamp"] else 1
                at = row["local_timestamp"]
            elif "incremental_book" in path.name:
                self.kinds["DEPTH_EVENT"] += 1
                self.kinds["DEPTH_SNAPSHOT_EVENT"] += snapshot
                self.kinds["DEPTH_CLEAR_EVENT"] += 2 if snapshot else 0
                snapshot, at = 0, None
        self.rows[str(path)] = [count, total]
        if "aggregate_trades" in path.name:
            self.parquet = [self.parquet[0] + count, self.parquet[1] + total]


def run(program, library, column, *paths):
    command = [program, "-B", HERE / "readers.py", library, column, *paths]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def recipes(program, library, truth):
    """Runs the page's programs of a library in the folder; the faults."""
    found, faults = blocks(library), []
    for block in found:
        done = subprocess.run([program, "-c", block], cwd=truth.folder, capture_output=True, text=True)
        if done.returncode:
            faults.append(done.stderr.strip().splitlines()[-1])
        elif "trades.ndjson.zst" in block and f" {len(truth.trades)} " not in done.stdout:
            faults.append(f"another number of trades: {done.stdout}")
    clients_of.say(f"{library}: {len(found)} programs of {PAGE.name} run")
    return faults if found else ["no program on the page"]


def compare(program, library, truth):
    """The differences between the files as a library reads them, and as Python does."""
    folder = truth.folder
    faults = recipes(program, library, truth)
    if faults:
        return faults
    if library == "hftbacktest":
        read, known = run(program, library, "ev", folder / "btcusdt.npz"), {str(folder / "btcusdt.npz"): dict(truth.kinds)}
    else:
        parquet = str(folder / f"trades_{library}.parquet")
        read, known = run(program, library, "local_timestamp", *truth.rows, parquet), truth.rows | {parquet: truth.parquet}
    if library == "polars":
        of_lines = str(folder / "trades.parquet")
        read, known = read | run(program, library, "id", of_lines), known | {of_lines: truth.ids}
    counts = read.values() if library == "hftbacktest" else [sum(count for count, _ in read.values()), "rows"]
    clients_of.say(f"{library}: {len(read)} files, " + " ".join(map(str, counts)))
    return [f"{pathlib.Path(path).name}: {read.get(path)} instead of {row}" for path, row in known.items() if read.get(path) != row]


def spoil(folder):
    """Removes the last row of a table of trades."""
    path = next((folder / "tables").glob("*_aggregate_trades_*_BTCUSDT.csv.gz"))
    path.write_bytes(gzip.compress(b"".join(gzip.decompress(path.read_bytes()).splitlines(True)[:-1])))


def main(options):
    passed, found = True, {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        export(options, folder)
        truth = Truth(folder)
        listed = [count for path, (count, _) in truth.rows.items() if "aggregate_trades" in path and "_BTCUSDT." in path]
        clients_of.say(f"{len(truth.rows)} tables with {sum(count for count, _ in truth.rows.values())} rows; of {TRADES} {sum(listed)} rows, "
                       f"and {len(truth.trades)} trades in the lines of JSON")
        passed = bool(listed) and sum(listed) == len(truth.trades)
        if options.control:
            spoil(folder)
        for library in ("polars", "duckdb", "hftbacktest"):
            program = places.python(library)
            if not program:
                clients_of.say(f"{library} {places.skipped(library)}")
                continue
            found[library] = compare(program, library, truth)
            for fault in found[library][:3]:
                clients_of.say(f"{library}: {fault}")
    if options.control:
        # Each library must notice the missing row.
        return not all(found.values())
    return passed and not any(found.values())
