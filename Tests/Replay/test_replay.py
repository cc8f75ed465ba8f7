"""Tests of the checks themselves, without a process."""

import copy
import pathlib
import sys
import types
import unittest

for folder in ("Bots", "Soak", "Sockets"):
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / folder))

import past  # noqa: E402
import strategy  # noqa: E402
import tables  # noqa: E402

BOOKS = {"BTCUSDT": {"7": "a", "8": "b"}, "ETHUSDT": {}}
RESULT = {"fills": [[1, "BTCUSDT", "buy", "2.5"]], "final": {"BTCUSDT": "b"}, "books": BOOKS, "trades": {"BTCUSDT": {"1": ["2.5", "1"]}, "ETHUSDT": {}},
          "bars": {"BTCUSDT": {"60": ["1"]}, "ETHUSDT": {}}}


class AgreeTests(unittest.TestCase):
    def test_contents_that_both_have_are_compared(self):
        self.assertEqual(past.agree(BOOKS, {"BTCUSDT": {"8": "b", "9": "c"}, "ETHUSDT": {}}), (True, 1))
        self.assertEqual(past.agree(BOOKS, {"BTCUSDT": {"7": "a", "8": "c"}, "ETHUSDT": {}}), (False, 2))

    def test_the_control_changes_every_kind(self):
        result, live = copy.deepcopy(RESULT), copy.deepcopy({name: RESULT[name] for name in ("books", "trades")})
        past.spoil(result, live)
        self.assertEqual([name for name in RESULT if result[name] == RESULT[name]], [])
        for name in ("books", "trades"):
            self.assertFalse(past.agree(RESULT[name], live[name])[0])


class StrategyTests(unittest.TestCase):
    def test_the_heavier_side_decides_within_the_bounds_of_the_position(self):
        heavy, light = [[2.5, 9.0]], [[2.6, 1.0]]
        self.assertEqual([strategy.side_of(heavy, light, position) for position in (0, 5)], ["buy", None])
        self.assertEqual([strategy.side_of(light, heavy, position) for position in (0, -5)], ["sell", None])
        self.assertIsNone(strategy.side_of(heavy, heavy, 0))
        self.assertIsNone(strategy.side_of([], heavy, 0))

    def test_a_digest_has_every_level(self):
        book = [[[2.5 - place, 1.0] for place in range(strategy.LEVELS)], [[2.6, 1.0]]]
        changed = copy.deepcopy(book)
        changed[0][-1][1] = 1.5
        self.assertNotEqual(strategy.digest(*book), strategy.digest(*changed))


class TableTests(unittest.TestCase):
    def test_the_page_has_programs_of_each_library(self):
        self.assertEqual({library: len(tables.blocks(library)) for library in ("polars", "duckdb", "hftbacktest")},
                         {"polars": 2, "duckdb": 2, "hftbacktest": 1})

    def test_a_snapshot_counts_if_a_change_follows(self):
        truth = types.SimpleNamespace(kinds=tables.collections.Counter(), rows={}, parquet=[0, 0])
        rows = [{"local_timestamp": at, "is_snapshot": is_snapshot} for at, is_snapshot in
                (("1", "true"), ("1", "true"), ("2", "false"), ("3", "true"), ("4", "true"), ("4", "true"), ("5", "false"), ("6", "true"))]
        tables.Truth.read(truth, pathlib.Path("x_incremental_book_L2_2026-11-23_BTCUSDT.csv.gz"), rows)
        self.assertEqual(dict(truth.kinds), {"DEPTH_EVENT": 2, "DEPTH_SNAPSHOT_EVENT": 4, "DEPTH_CLEAR_EVENT": 4})


if __name__ == "__main__":
    unittest.main()
