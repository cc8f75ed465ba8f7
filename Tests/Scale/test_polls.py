"""The judge of a cluster's polls finds values that are older than they say, and nothing else."""

import unittest

import polls

DEPTH = "btcusdt@depth@100ms"


def snapshot(number, unverified, state="live"):
    return f'{{"id":"a.1","state":"{state}","unverifiedMs":{unverified},"content":{{"lastUpdateId":{number}}}}}'.encode()


class Judging(unittest.TestCase):
    def setUp(self):
        self.truth = polls.Truth.__new__(polls.Truth)
        # The venue's update 10 came at 5 s, 11 at 6 s.
        self.truth.numbers, self.truth.times = {DEPTH: [10, 11]}, {DEPTH: [5.0, 6.0]}

    def fault(self, began, body):
        return polls.judge(self.truth, 1, DEPTH, began, body)[2]

    def test_a_value_that_was_replaced_longer_ago_than_it_says_is_found(self):
        self.assertIn("600 ms too late", self.fault(7.0, snapshot(10, 400)))

    def test_a_value_that_says_how_old_it_is_is_right(self):
        self.assertIsNone(self.fault(7.0, snapshot(10, 900)))
        self.assertIsNone(self.fault(9.0, snapshot(11, 0)))

    def test_a_value_that_is_not_live_promises_nothing(self):
        self.assertIsNone(self.fault(9.0, snapshot(10, 0, "stale")))

    def test_the_numbers_of_all_kinds_of_frames_are_read(self):
        frames = (
            b'{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":1,"T":1,"s":"BTCUSDT","U":8,"u":9,"pu":7,"b":[["1","2"]],"a":[]}}'
            b'{"stream":"btcusdt@bookTicker","data":{"e":"bookTicker","u":400,"s":"BTCUSDT","b":"1","B":"2","a":"3","A":"4","T":1,"E":1}}'
            b'{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","E":1,"s":"BTCUSDT","a":77,"p":"1","q":"2","f":1,"l":2,"T":1,"m":true}}')
        found = [(match[1].decode(), int(match[2])) for match in polls.FRAME.finditer(frames)]
        self.assertEqual(found, [("btcusdt@depth@100ms", 9), ("btcusdt@bookTicker", 400), ("btcusdt@aggTrade", 77)])
