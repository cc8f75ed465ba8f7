"""Every fault of the table can be planted into this tree, and a change that does not fit is refused."""

import pathlib
import shutil
import tempfile
import unittest

import faults

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = "func read() {\n    count += 1\n    if count > limit {\n        return\n    }\n}\n"


def change(*lines):
    return faults.read("\n".join(["one: It is broken.", "@ Sources/Part/File.swift", *lines]))[0].changes[0]


class TableTests(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copytree(ROOT / "Sources", self.tree / "Sources")

    def test_every_fault_can_be_planted_alone_and_taken_back(self):
        for fault in faults.read():
            with self.subTest(fault=fault.name):
                before = faults.plant(self.tree, [fault])
                self.assertTrue(before)
                for path, text in before.items():
                    self.assertNotIn("isOff(", path.read_text())
                    self.assertNotEqual(path.read_text(), text)
                faults.put(before)

    def test_what_prove_switches_is_planted_together_each_change_with_its_switch(self):
        faults.plant_switched(self.tree)
        for fault in filter(lambda fault: fault.switches, faults.read()):
            for made in fault.changes:
                self.assertEqual((len(fault.switches), made.switches), (1, fault.switches), fault.name)
                self.assertTrue((self.tree / "/".join(made.file.split("/")[:2]) / "Unsafe.swift").exists(), fault.name)

    def test_names_are_there_once_and_what_is_for_prove_alone_has_a_switch(self):
        table = faults.read()
        self.assertEqual(len({fault.name for fault in table}), len(table))
        self.assertEqual([fault.name for fault in table if fault.is_for_prove_alone and not fault.switches], [])

    def test_a_fault_that_does_not_fit_is_named_with_its_file_and_nothing_is_planted(self):
        table = faults.read("one: A.\n@ Package.swift\n- a\n+ b\n\ntwo: B.\n@ Package.swift\n- c\n\nthree: C.\n@ Absent.swift\n- d")
        (self.tree / "Package.swift").write_text("a\n")
        for wrong in table[1:]:
            with self.assertRaisesRegex(faults.Misplaced, f"{wrong.name} cannot be planted: .*{wrong.changes[0].file}"):
                faults.plant(self.tree, [table[0], wrong])
        self.assertEqual((self.tree / "Package.swift").read_text(), "a\n")


class ChangeTests(unittest.TestCase):
    def test_lines_come_and_go_as_deep_as_the_old_ones_stand(self):
        self.assertEqual(change("- if count > limit {", "-     return", "- }").made(TEXT), "func read() {\n    count += 1\n}\n")
        self.assertEqual(change("  count += 1", "+ print(count)").made(TEXT), TEXT.replace("+= 1\n", "+= 1\n    print(count)\n"))
        self.assertEqual(change("  func read() {", "-     count += 1", "+     count += 2").made(TEXT), TEXT.replace("+= 1", "+= 2"))

    def test_lines_that_are_absent_there_twice_or_a_part_of_others_are_refused(self):
        for lines, times in ((["- count += 2"], 0), (["- count"], 0), (["- return", "- count += 1"], 0), (["- }"], 2)):
            with self.assertRaisesRegex(faults.Misplaced, rf"^Sources/Part/File\.swift .* {times} times"):
                change(*lines).made(TEXT)

    def test_a_switch_is_on_where_a_fault_is_planted_alone(self):
        made = change("- count += 1", '+ count += isOff("one") ? 2 : 1')
        self.assertIn("    count += true ? 2 : 1\n", made.made(TEXT))
        self.assertIn('    count += isOff("one") ? 2 : 1\n', made.made(TEXT, is_switched=True))

    def test_a_line_that_is_none_of_a_table_is_refused(self):
        for text in ("one: no period", "One: A.", "@ File.swift", "one: A.\n- a", "one: A.\n@ File.swift\nfunc read() {"):
            with self.assertRaises(ValueError, msg=text):
                faults.read(text)


if __name__ == "__main__":
    unittest.main()
