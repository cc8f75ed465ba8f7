"""The table of proofs takes nothing that `prove` would not write, and a control is passed by the fault it has to show alone."""

import pathlib
import unittest

import controls
import promises
import table

HERE = pathlib.Path(__file__).resolve().parent


def entry(row, figure="12 of 12", off="fails: it was noticed", shown="yes", commit="0123456789ab"):
    return table.line(row, figure, off, shown, 61.4, commit, "2026-01-02 03:04")


class TableTests(unittest.TestCase):
    def setUp(self):
        self.rows = promises.ROWS[:3]
        self.text = ""
        for row in reversed(self.rows):
            self.text = table.put(self.text, self.rows, row, entry(row))

    def refuses(self, text, words):
        found = table.mistakes(text, self.rows)
        self.assertTrue(any(words in one for one in found), f"{words!r} is not in {found}")

    def test_what_the_program_writes_is_taken_and_in_order(self):
        self.assertEqual(table.mistakes(self.text, self.rows), [])
        self.assertEqual([line.split(" | ")[0][2:] for line in self.text.splitlines()[6:]], [row.promise for row in self.rows])

    def test_the_table_of_this_tree_is_taken(self):
        self.assertEqual(table.mistakes((HERE / "PROOF.md").read_text(), promises.ROWS), [])

    def test_an_edited_cell_is_refused(self):
        for old, new in (("12 of 12", "13 of 13"), ("| 61 |", "| 60 |"), ("0123456789ab", "0123456789ac"), ("03:04", "03:05"), ("it was noticed", "it is")):
            self.refuses(self.text.replace(old, new, 1), "the check is not that of what it says")

    def test_a_line_without_a_commit_a_time_or_seconds_is_refused(self):
        for old, new in (("0123456789ab", "soon"), ("03:04", "noon"), ("| 61 |", "| a minute |"), ("| yes |", "| surely |")):
            self.refuses(self.text.replace(old, new, 1), "are no such")

    def test_a_line_of_another_command_is_refused(self):
        self.refuses(self.text.replace(self.rows[0].command, "selftest", 1), "is not the command")

    def test_a_row_of_other_controls_is_refused(self):
        other = promises.Row(**{**self.rows[0].__dict__, "fault": "anything"})
        self.assertTrue(table.mistakes(self.text, [other, *self.rows[1:]]))

    def test_a_row_nobody_promised_is_refused(self):
        self.assertTrue(any("nothing is promised" in one for one in table.mistakes(self.text, self.rows[1:])))

    def test_another_order_another_head_and_a_line_too_much_are_refused(self):
        lines = self.text.split("\n")
        self.refuses("\n".join([*lines[:6], lines[7], lines[6], *lines[8:]]), "out of order")
        self.refuses("\n".join([*lines[:7], *lines[6:]]), "there twice")
        self.refuses(self.text.replace("figure", "result", 1), "its head is another")
        self.refuses(self.text + "by hand\n", "cells")
        self.refuses(self.text.rstrip("\n"), "not the lines of a table")

    def test_a_new_row_drops_what_was_written_by_hand(self):
        edited = self.text.replace("12 of 12", "13 of 13", 1)
        text = table.put(edited, self.rows, self.rows[1], entry(self.rows[1], "7 of 7"))
        self.assertEqual(table.mistakes(text, self.rows), [])
        self.assertNotIn("13 of 13", text)
        self.assertIn("7 of 7", text)

    def test_a_bar_or_a_line_in_what_was_said_stays_in_its_cell(self):
        text = table.put(self.text, self.rows, self.rows[0], entry(self.rows[0], "a | b\nc", ""))
        self.assertEqual(table.mistakes(text, self.rows), [])


class ControlTests(unittest.TestCase):
    row = promises.Row("It is told", "detect", None, ".*", r"not told within \d+ s", unsafe="telling")

    def judged(self, status, output):
        return controls.judge(self.row, status, output)[0]

    def test_a_control_passes_by_its_fault_alone(self):
        self.assertTrue(self.judged(1, "FAULT btcusdt: not told within 8 s\nFAULT and more\nFAILED with 2 faults"))
        for status, output in (
            (0, "passed"), (None, "FAULT btcusdt: not told within 8 s"), (1, "FAULT the books did not come up"), (1, "FAILED"),
            (1, "FAULT another\nFAULT btcusdt: not told within 8 s"), (1, "/x/gateway did not start: ''"),
            (1, "FAULT not told within 8 s\nTraceback (most recent call last):\nKeyError: 1"),
        ):
            self.assertFalse(self.judged(status, output), (status, output))

    def test_every_control_says_what_it_has_to_show(self):
        for row in promises.ROWS:
            self.assertEqual(bool(row.fault), bool(row.control or row.unsafe), row.promise)
            self.assertFalse(row.control and row.unsafe, row.promise)

    def test_the_safeties_that_rows_switch_off_are_those_that_faults_can_switch_off(self):
        switches = set().union(*(fault.switches for fault in controls.planted.read()))
        self.assertEqual(switches, {row.unsafe for row in promises.ROWS if row.unsafe})


if __name__ == "__main__":
    unittest.main()
