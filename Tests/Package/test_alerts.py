"""No rule of ops/prometheus fires for a healthy gateway that reads only quiet streams, by promtool."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import scrapes

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "ops" / "prometheus" / "alerts.yaml"
# Each six minutes of a real gateway, by scrapes.py.
HEALTHY = sorted((ROOT / "Tests" / "Package" / "scrapes").glob("*.gz"))
# The rule as it was: the newest content of a polled stream is a minute old, that of liquidations as old as the last one.
OLD = """
groups:
  - name: old
    rules:
      - alert: Old
        expr: min by (instance, upstream) (futures_gateway_feed_newest_age_seconds) > 30 and on (instance, upstream) sum by (instance, upstream) (futures_gateway_feed_readers) > 0
        for: 1m
"""


@unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (apt-get install prometheus)")
class HealthyTests(unittest.TestCase):
    def judge(self, rules, recording):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "tests.yaml")
            file.write_text(scrapes.tests(rules, recording))
            done = subprocess.run(["promtool", "test", "rules", file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def test_nothing_fires_for_a_healthy_gateway(self):
        self.assertTrue(HEALTHY)
        for recording in HEALTHY:
            with self.subTest(recording.stem):
                status, words = self.judge(RULES, recording)
                self.assertEqual(status, 0, words)

    def test_a_rule_that_looks_at_ages_fires(self):
        """The control: what the recordings have is what that rule took for an outage."""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(OLD)
            file.flush()
            status, words = self.judge(pathlib.Path(file.name), HEALTHY[0])
        self.assertEqual((status, "Old" in words), (1, True), words)


if __name__ == "__main__":
    unittest.main()
