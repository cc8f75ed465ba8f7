"""The pages that list metrics and codes have those that the program has, and no others."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "Sources" / "FuturesGateway"


def page(name):
    return (ROOT / "docs" / "reference" / name).read_text()


def openapi(schema):
    """The codes of a schema of the contract."""
    found = re.search(rf"(?ms)^    {schema}:\n.*?enum: \[([^\]]*)\]", (ROOT / "openapi.yaml").read_text())
    return set(found[1].split(", "))


def section(text, title):
    return re.search(rf"(?ms)^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text)[1]


def codes(text):
    """The codes in the first column of the tables."""
    return {code for row in re.findall(r"(?m)^\| (`?[^|]*`?) \|", text) for code in re.findall(r"`(\w+)`", row)}


class MetricTests(unittest.TestCase):
    def program(self):
        found = set()
        for file in SOURCES.rglob("*.swift"):
            text = file.read_text()
            found |= set(re.findall(r'"((?:futures_gateway|process)_\w+)"', text))
            if r'"futures_gateway_feed_\(name)_total"' in text:
                found |= {f"futures_gateway_feed_{name}_total" for name in re.findall(r'(?m)^            \("(\w+)", "[^"]*", counters\.', text)}
        return found

    def test_the_page_has_every_metric_and_no_other(self):
        text = page("metrics.md")
        listed = {f"futures_gateway_{name}" for name in re.findall(r"(?m)^\| `(\w+)`", text)} | set(re.findall(r"`(process_\w+)`", text))
        self.assertGreater(len(listed), 100)
        self.assertEqual(listed, self.program())


class CodeTests(unittest.TestCase):
    def test_codes_of_streams(self):
        listed = codes(section(page("errors.md"), "Codes of streams"))
        mistakes = set(re.search(r"enum: \[(badCharacter[^\]]*)\]", (ROOT / "openapi.yaml").read_text())[1].split(", "))
        self.assertEqual(listed, openapi("FailureCode") | mistakes)

    def test_codes_of_bye(self):
        self.assertEqual(codes(section(page("errors.md"), "Codes of `bye`")), openapi("ByeEvent"))

    def test_codes_of_agents(self):
        program = set(re.findall(r"case \w+ = (-32\d+)", (SOURCES / "Agents" / "AgentError.swift").read_text()))
        self.assertEqual(set(re.findall(r"(?m)^\| (-32\d+)", page("errors.md"))), program)

    def test_codes_of_the_tape_and_of_markets(self):
        text = "".join(file.read_text() for file in (SOURCES / "Handlers").glob("*Problems*.swift"))
        program = set(re.findall(r'\("code", \.string\("(\w+)"\)\)', text))
        table = page("errors.md").split("Codes of the tape and of `/markets`:")[1].split("\n## ")[0]
        self.assertEqual(codes(table), program)


if __name__ == "__main__":
    unittest.main()
