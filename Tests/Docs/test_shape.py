"""What a newcomer reads first is short, and each decision says the same four things."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


class LengthTests(unittest.TestCase):
    def test_the_first_documents_are_short(self):
        for name, lines, words in [("README.md", 120, 700), ("ARCHITECTURE.md", 250, 3000), ("CHANGELOG.md", 60, 900), ("docs/README.md", 70, 500)]:
            text = (ROOT / name).read_text()
            with self.subTest(document=name):
                self.assertLessEqual(text.count("\n"), lines, "lines")
                self.assertLessEqual(len(text.split()), words, "words; move a reason to docs/decisions, and a detail to its page")


class DecisionTests(unittest.TestCase):
    def test_each_decision_has_the_same_parts(self):
        self.assertGreater(len(DECISIONS), 30)
        for page in DECISIONS:
            text = page.read_text()
            with self.subTest(page=page.name):
                self.assertEqual(re.findall(r"(?m)^## (.*)$", text), ["Context", "Decision", "Trade-off", "What would change it"])
                self.assertLessEqual(text.count("\n"), 40)

    def test_the_index_has_every_decision_by_its_title(self):
        rows = re.findall(r"(?m)^\| \[(\d+)\]\(([^)]+)\) \| (.*) \|$", (ROOT / "docs" / "decisions" / "README.md").read_text())
        titles = [re.match(r"# (\d+): (.*)", page.read_text()).groups() for page in DECISIONS]
        self.assertEqual(rows, [(number, page.name, title) for page, (number, title) in zip(DECISIONS, titles)])
        self.assertEqual([number for number, _ in titles], [f"{place:03}" for place in range(1, len(titles) + 1)])


if __name__ == "__main__":
    unittest.main()
