"""`Benchmarks/instructions check` with planted counts: a frame that costs more than 5 % more fails."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "Benchmarks/instructions"
TOOLCHAIN = "Swift version 9.9"
VALGRIND = """#!/usr/bin/env bash
for word; do case $word in --callgrind-out-file=*) file=${word#*=} ;; round) take=kind ;; *) [ "${take:-}" = kind ] && kind=$word; take= ;; esac; done
echo "summary: $(grep "^$kind " "$COUNTED" | cut -d' ' -f2)0" >"$file"
echo "10 1"
"""


class InstructionsTests(unittest.TestCase):
    def check(self, known, counted, head=None, valgrind=True):
        """Its exit code and what it says, if the file knows `known` and a frame of each kind takes `counted`."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copy(SCRIPT, folder / "instructions")
            head = head or f"{TOOLCHAIN}, {os.uname().machine}"
            (folder / "instructions.txt").write_text("\n".join([head] + [f"{kind} {count}" for kind, count in known.items()]) + "\n")
            (folder / "counted").write_text("".join(f"{kind} {count}\n" for kind, count in counted.items()))
            tools = {"swift": f"#!/bin/sh\necho '{TOOLCHAIN}'\n"} | ({"valgrind": VALGRIND} if valgrind else {})
            (folder / "bin").mkdir()
            for tool, text in tools.items():
                (folder / "bin" / tool).write_text(text)
                (folder / "bin" / tool).chmod(0o755)
            for tool in ("bash", "dirname", "realpath", "mktemp", "rm", "cut", "awk", "head", "uname", "grep"):
                os.symlink(shutil.which(tool), folder / "bin" / tool)
            done = subprocess.run(["bash", folder / "instructions", "/bin/true", "check", *known], capture_output=True, text=True,
                                  env={"PATH": str(folder / "bin"), "COUNTED": str(folder / "counted")})
            return done.returncode, done.stdout + done.stderr

    def test_a_frame_that_costs_more_than_a_twentieth_more_fails_and_is_named(self):
        code, text = self.check({"depth": 1000, "bookTicker": 1000}, {"depth": 1051, "bookTicker": 1000})
        self.assertEqual(code, 1, text)
        self.assertIn("A frame of depth costs more than 5 % more", text)
        self.assertNotIn("A frame of bookTicker", text)

    def test_less_than_that_passes(self):
        code, text = self.check({"depth": 1000, "bookTicker": 1000}, {"depth": 1050, "bookTicker": 700})
        self.assertEqual(code, 0, text)
        self.assertIn("depth: 1050 instructions a frame, 1000 before (+5.0 %)", text)

    def test_counts_of_another_toolchain_are_not_compared(self):
        code, text = self.check({"depth": 1000}, {"depth": 2000}, head="Swift version 1.0, x86_64")
        self.assertEqual(code, 0, text)
        self.assertIn("instructions are not compared", text)

    def test_without_valgrind_nothing_is_counted(self):
        code, text = self.check({"depth": 1000}, {"depth": 2000}, valgrind=False)
        self.assertEqual(code, 0, text)
        self.assertIn("valgrind is not installed", text)


if __name__ == "__main__":
    unittest.main()
