"""PROOF.md is as its program writes it, and every row runs a command that there is."""

import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class Proof(unittest.TestCase):
    def test_the_table_is_as_the_program_writes_it(self):
        done = subprocess.run([sys.executable, "-B", HERE / "prove", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_row_has_a_command(self):
        import engine  # Leads to what is shared with Tests/Soak.
        import promises
        helped = subprocess.run([sys.executable, "-B", HERE / "scale", "-", "--help"], capture_output=True, text=True).stdout
        for row in promises.ROWS:
            self.assertIn(f"scale EXECUTABLE {row.command.split()[0]}", helped)
            self.assertTrue(row.promise and row.figure and engine)
