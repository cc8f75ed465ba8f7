"""docs/operate/runbooks.md has a section for each alert of ops/prometheus, and each alert names its own."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class RunbookTests(unittest.TestCase):
    def test_each_alert_names_its_section(self):
        rules = re.split(r"\n\s+- alert: ", (ROOT / "ops" / "prometheus" / "alerts.yaml").read_text())[1:]
        names = [rule.split("\n", 1)[0] for rule in rules]
        self.assertGreater(len(names), 20)
        for name, rule in zip(names, rules):
            self.assertEqual(re.findall(r"runbook_url: \S+#(\S+)", rule), [name.lower()])
        self.assertEqual(re.findall(r"(?m)^### (\S+)$", (ROOT / "docs" / "operate" / "runbooks.md").read_text()), names)


if __name__ == "__main__":
    unittest.main()
