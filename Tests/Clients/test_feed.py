"""The Python client, against a gateway that cuts it."""

import asyncio
import importlib.util
import itertools
import pathlib
import random
import sys
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "clients" / "python"))

from futures_gateway import Feed, FeedError
from futures_gateway import feed as feed_module

import gateway

CUTS = 200


class Ledger:
    """Whether every trade came once and in order, but for those that a reset told of."""

    def __init__(self):
        self.last, self.lost, self.resets, self.trades = None, 0, 0, 0

    def take(self, event):
        if event.name == "lost":
            self.lost += 1
        elif event.name == "session" and event.data["resume"] == "reset":
            self.last, self.resets = None, self.resets + 1
        elif event.name == "update":
            numbers = [row["id"] for row in event.data["content"]]
            if event.data["kind"] == "delta":
                assert self.last is not None, "a change without a value before it"
                assert numbers[0] == self.last + 1, f"{numbers[0]} after {self.last}"
            self.last = numbers[-1]
            self.trades += len(numbers)
            assert event.content[-1]["id"] == self.last and len({row["id"] for row in event.content}) == len(event.content)


class CutTests(unittest.TestCase):
    def test_a_reader_that_is_cut_anywhere_goes_on_exactly_or_is_told(self):
        seed = random.randrange(1 << 32)
        ledger = Ledger()
        with self.subTest(seed=seed), gateway.Gateway(seed, piece=4000) as server, Feed(server.url, gateway.STREAM) as feed:
            for event in itertools.islice(feed, 100 * CUTS):
                ledger.take(event)
                if ledger.lost >= CUTS:
                    break
            self.assertEqual(ledger.lost, CUTS)
            self.assertGreater(server.sessions.count("exact"), CUTS / 4)
            self.assertGreater(ledger.trades, 1000)
            self.assertGreater(ledger.resets, 0)

    def test_it_can_be_read_asynchronously_until_it_is_closed(self):
        async def read(url):
            ledger = Ledger()
            async with Feed(url, gateway.STREAM) as feed:
                async for event in feed:
                    ledger.take(event)
                    if ledger.lost >= 20:
                        feed.close()
            return ledger

        with gateway.Gateway(7, piece=4000) as server:
            self.assertGreater(asyncio.run(read(server.url)).trades, 50)

    def test_what_is_cut_off_is_told_as_lost_and_not_as_live(self):
        with gateway.Gateway(1, forgets=0) as server, Feed(server.url, gateway.STREAM) as feed:
            states = []
            for event in itertools.islice(feed, 100):
                states.append((event.name, feed.status(gateway.STREAM)["state"]))
                if event.name == "lost":
                    break
            self.assertIn(("update", "live"), states)
            self.assertEqual(states[-1], ("lost", "lost"))
            self.assertIsNotNone(feed.get(gateway.STREAM))

    def test_what_was_here_before_the_computer_slept_is_lost_and_as_old_as_the_sleep(self):
        with gateway.Gateway(1, forgets=0) as server, Feed(server.url, gateway.STREAM) as feed:
            next(event for event in feed if event.name == "update" and feed.status(gateway.STREAM)["state"] == "live")
            awake = feed_module._clock
            with unittest.mock.patch.object(feed_module, "_clock", lambda: awake() + 3600):
                status = feed.status(gateway.STREAM)
            self.assertEqual(status["state"], "lost")
            self.assertGreaterEqual(min(status["ageMs"], status["unverifiedMs"]), 3_600_000)


class AnswerTests(unittest.TestCase):
    def code(self, work):
        with self.assertRaises(FeedError) as caught:
            work()
        return caught.exception.code

    def test_a_key_goes_with_every_request(self):
        with gateway.Gateway(key="secret") as server:
            with Feed(server.url, gateway.STREAM, credential="secret") as feed:
                self.assertEqual(next(feed).name, "session")
            self.assertTrue(all(headers["authorization"] == "Bearer secret" for _, _, headers in server.asked))
            self.assertEqual(self.code(lambda: next(Feed(server.url, gateway.STREAM, credential="wrong"))), "unauthorized")

    def test_what_is_wrong_is_told_by_a_code(self):
        with gateway.Gateway() as server:
            url = server.url
            self.assertEqual(self.code(lambda: next(Feed(url + "/elsewhere", gateway.STREAM))), "unknownStream")
            self.assertEqual(self.code(lambda: next(Feed(url))), "badArgument")
        self.assertEqual(self.code(lambda: next(Feed(url, gateway.STREAM))), "unreachable")
        self.assertEqual(self.code(lambda: Feed("nonsense", gateway.STREAM)), "badArgument")

    def test_a_book_that_was_not_read_comes_with_its_state(self):
        with gateway.Gateway() as server:
            book = Feed(server.url).book("btcusdt@depth", levels=1)
        self.assertEqual((book["bids"], book["asks"], book["state"], book["unverifiedMs"]), ([["10.0", "1"]], [["10.5", "1"]], "stale", 80))

    def test_a_quiet_stream_and_ended_ones_are_told_apart(self):
        with gateway.Gateway() as server:
            server.status = 204
            self.assertEqual(self.code(lambda: Feed(server.url).snapshot("btcusdt@forceOrder")), "nothingYet")
            self.assertEqual(self.code(lambda: next(Feed(server.url, gateway.STREAM))), "ended")

    @unittest.skipUnless(importlib.util.find_spec("polars") or importlib.util.find_spec("pandas"), "neither polars nor pandas is installed")
    def test_a_frame_has_a_row_for_each_level(self):
        with gateway.Gateway() as server:
            self.assertEqual(len(Feed(server.url).frame("btcusdt@depth")), 3)
