"""The merge rules of the clients, held to one table."""

import json
import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "clients" / "python"))

from futures_gateway.content import StreamContent, rule_for

CASES = json.loads((HERE / "cases.json").read_text())


class CasesTests(unittest.TestCase):
    def test_contents_are_merged_by_their_rule(self):
        for case in CASES["contents"]:
            content = StreamContent(rule_for([case["rule"]], case["stream"]))
            for number, step in enumerate(case["steps"], 1):
                with self.subTest(case["name"], step=number):
                    self.assertEqual(content.apply(step["data"]), step["follows"])
                    self.assertEqual(content.value, step["value"])

    def test_a_value_that_was_given_out_is_not_changed_afterwards(self):
        for case in CASES["contents"]:
            content, given = StreamContent(rule_for([case["rule"]], case["stream"])), []
            for step in case["steps"]:
                content.apply(step["data"])
                given.append((content.value, json.dumps(content.value)))
            with self.subTest(case["name"]):
                self.assertEqual([json.dumps(value) for value, _ in given], [text for _, text in given])

    def test_names_fit_their_patterns(self):
        for case in CASES["names"]:
            with self.subTest(case["name"]):
                self.assertEqual(bool(rule_for([{"pattern": case["pattern"]}], case["name"])), case["fits"])

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_the_browsers_client_merges_alike(self):
        client = ROOT / "Sources" / "FuturesGateway" / "Web" / "client.js"
        done = subprocess.run(["node", HERE / "cases.mjs", client.as_uri()], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.returncode), ("", 0), done.stderr)
