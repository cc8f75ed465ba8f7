"""Counts rows of tables and of Parquet files with one library. It runs inside the environment that has the library.

    readers.py polars|duckdb COLUMN FILE...    for each file, the number of rows, and the sum of the remainders of a column of integers
    readers.py hftbacktest ev FILE             the number of events of each kind

The output is JSON.
"""

import json
import sys

MODULUS = 1_000_003


def polars(path, column):
    import polars
    frame = (polars.scan_parquet if path.endswith("parquet") else polars.scan_csv)(path)
    return list(frame.select(polars.len(), (polars.col(column).cast(polars.Int64) % MODULUS).sum()).collect().row(0))


def duckdb(path, column):
    import duckdb
    return list(map(int, duckdb.sql(f"SELECT count(*), sum({column}::BIGINT % {MODULUS}) FROM '{path}'").fetchall()[0]))


def hftbacktest(path, _):
    import numpy
    from hftbacktest import types
    events = numpy.load(path)["data"]["ev"]
    kinds = events[events & types.LOCAL_EVENT != 0] & 0xFF
    names = ("DEPTH_EVENT", "TRADE_EVENT", "DEPTH_SNAPSHOT_EVENT", "DEPTH_CLEAR_EVENT")
    return {name: int((kinds == getattr(types, name)).sum()) for name in names}


if __name__ == "__main__":
    library, column, *paths = sys.argv[1:]
    print(json.dumps({path: globals()[library](path, column) for path in paths}))
