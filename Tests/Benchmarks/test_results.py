"""What `make bench` writes into Benchmarks/RESULTS.md."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Benchmarks/bench"))
import measures  # noqa: E402
import results  # noqa: E402

ORDER = ["first", "second", "third"]


def lines(row, *figures):
    return [results.line(row, one.cells(), "0123456789ab", "2026-01-01 00:00") for one in figures]


class TableTests(unittest.TestCase):
    def test_a_ratio_is_the_median_of_the_rounds_and_not_of_their_sums(self):
        figure = results.beside("p99", [(10, 10), (30, 10), (12, 10), (100, 100), (11, 10)], "ms", "limit", most=1.3)
        self.assertEqual((figure.ours, figure.theirs, figure.ratio), (12, 10, 1.1))
        self.assertTrue(figure.is_reached)

    def test_a_goal_that_is_missed_is_told(self):
        self.assertIn("**no**", results.beside("p99", [(14, 10)], "ms", "limit", most=1.3).cells())
        self.assertIn("yes", results.Figure("frames", 2e6, "frames/s", least=1e6).cells())
        self.assertIn("**no**", results.Figure("frames", 2e5, "frames/s", least=1e6).cells())
        self.assertIsNone(results.Figure("frames", 2e5, "frames/s").is_reached)

    def test_a_row_that_is_measured_again_takes_the_place_of_its_lines(self):
        old = results.merge("", {"third": lines("third", results.Figure("a", 1, "µs"), results.Figure("b", 2, "µs")), "first": lines("first", results.Figure("c", 3, ""))}, ORDER)
        new = results.merge(old, {"third": lines("third", results.Figure("d", 4, "µs"))}, ORDER)
        told = [entry.split(" | ")[1] for entry in new.split("\n") if entry.startswith("| ") and entry != results.HEAD]
        self.assertEqual(told, ["c", "d"])
        self.assertEqual(results.mistakes(new, ORDER), [])

    def test_a_row_that_cannot_be_measured_says_why(self):
        text = results.merge("", {"first": lines("first", results.Skipped("valgrind is not installed"))}, ORDER)
        self.assertIn("| first | skipped: valgrind is not installed |", text)
        self.assertEqual(results.mistakes(text, ORDER), [])

    def test_what_a_hand_wrote_is_no_table(self):
        good = results.merge("", {"first": lines("first", results.Figure("a", 1, "µs"))}, ORDER)
        self.assertTrue(results.mistakes(good + "About 5 µs.\n", ORDER))
        self.assertTrue(results.mistakes(good.replace("0123456789ab", "by hand"), ORDER))
        self.assertTrue(results.mistakes(good.replace("# Results", "# My results"), ORDER))

    def test_the_results_are_what_the_program_wrote(self):
        self.assertEqual(results.mistakes((ROOT / "Benchmarks/RESULTS.md").read_text(), list(measures.ROWS)), [])


if __name__ == "__main__":
    unittest.main()
