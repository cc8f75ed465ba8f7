"""The clients, held to one table."""

import json
import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "clients" / "python"))

import futures_gateway.feed
from futures_gateway import Feed, FeedError
from futures_gateway.content import StreamContent, rule_for

import gateway

futures_gateway.feed._SILENCE = 3.0
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
    def test_the_browsers_client_does_alike(self):
        client = ROOT / "Sources" / "FuturesGateway" / "Web" / "client.js"
        done = subprocess.run(["node", HERE / "cases.mjs", client.as_uri()], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout, done.returncode), ("", 0), done.stderr)

    def test_a_feed_holds_what_it_should_after_each_event(self):
        for case in CASES["feeds"]:
            with self.subTest(case["name"]), gateway.Script(CASES["catalogue"]) as server, Feed(server.url, *case["streams"]) as feed:
                self.read(server, feed, case["steps"])

    def posts(self, server):
        return [path.split("?")[0] for method, path, _ in server.asked if method == "POST"]

    def read(self, server, feed, steps):
        asks, resumes = [], [None]
        for number, step in enumerate(steps, 1):
            server.active, server.status = step.get("active", server.active), step.get("answers", 200)
            if step["event"] in ("suspend", "resume"):
                getattr(feed, step["event"])()
            server.send(step)
            resumes += [step["resumesFrom"]] if "resumesFrom" in step else []
            if step["event"] == "resume":
                continue
            if not step.get("told", True):
                continue
            event = next(feed)
            self.assertEqual(event.name, "lost" if step["event"] in ("cut", "suspend") else step["event"], number)
            self.assertEqual(self.posts(server)[: len(asks)], asks, number)
            asks += [f"/events/c/{action}" for action in step.get("asks", [])]
            if "asks" in step:
                self.assertIsNone(feed.get(step["stream"]), number)
            if "value" in step:
                self.assertEqual(feed.get(step["stream"]), step["value"], number)
            if "kind" in step.get("data", {}):
                self.assertEqual(event.content, step["value"], number)
            status = feed.status(step.get("stream", ""))
            self.assertEqual(status["state"], step.get("state", status["state"]), number)
            for name in {"ageMs", "unverifiedMs"} & step.keys():
                self.assertTrue(0 <= status[name] - step[name] < 1000, (number, status))
            if "stops" in step:
                with self.assertRaises(FeedError) as caught:
                    next(feed)
                self.assertEqual(caught.exception.code, step["stops"])
        self.assertEqual(self.posts(server), asks)
        self.assertEqual([headers.get("last-event-id") for _, path, headers in server.asked if path.startswith("/events?")], resumes)

    @unittest.skipUnless(shutil.which("tsc"), "tsc is not installed")
    def test_the_declarations_fit_a_strict_program(self):
        done = subprocess.run(["tsc", "-p", HERE / "types"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout, done.returncode), ("", 0))
