"""Tests of the checks themselves, without a process."""

import argparse
import pathlib
import random
import sys
import unittest

for folder in ("Bots", "Soak", "Sockets"):
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / folder))

import isolation  # noqa: E402
import truth  # noqa: E402
import watch  # noqa: E402

LISTED = (("AUSDC", "A", "USDC", "TRADING"), ("AUSDT", "A", "USDT", "TRADING"), ("BUSDT", "B", "USDT", "SETTLING"),
          ("AUSDT_261225", "A", "USDT", "TRADING"), ("ABTC", "A", "BTC", "TRADING"))
INFO = {"symbols": [dict(zip(("symbol", "baseAsset", "quoteAsset", "status"), row)) for row in LISTED]}
ROW = {"asset": "A", "symbol": "AUSDT", "quote": "USDT", "markPrice": "1.50", "nextFundingTime": 8}


class TruthTests(unittest.TestCase):
    def test_the_rate_of_an_hour_is_cut_off_and_has_no_zeros_at_its_end(self):
        for rate, hours, hourly in (("0.00009944", 8, "0.00001243"), ("-0.0001", 3, "-0.000033333333333333"), ("0.00000000", 4, "0"), ("1", 1, "1"),
                                    ("-0.000000000000000001", 8, "0")):
            self.assertEqual(truth.per_hour(rate, hours), hourly)

    def test_an_asset_has_the_contract_in_the_preferred_currency(self):
        self.assertEqual(truth.contracts(INFO), {"A": ("AUSDT", "USDT")})

    def test_a_row_has_the_members_that_the_venue_has(self):
        premium = [{"symbol": "AUSDT", "markPrice": "1.50", "indexPrice": "1.4", "lastFundingRate": "0.0004", "nextFundingTime": 8}]
        book = [{"symbol": "AUSDT", "bidPrice": "1", "bidQty": "2", "askPrice": "3", "askQty": "4"}]
        row = truth.futures(INFO, premium, book, [], [{"symbol": "AUSDT", "fundingIntervalHours": 4}])["A"]
        self.assertEqual((row["fundingPerHour"], row["bidSize"], row["fundingIntervalHours"]), ("0.0001", "2", 4))
        self.assertNotIn("quoteVolume", row)
        del premium[0]["nextFundingTime"]
        self.assertNotIn("fundingRate", truth.futures(INFO, premium, book, [], [])["A"])

    def test_each_difference_is_found(self):
        self.assertEqual(truth.differences(ROW, ROW | {"venue": "binance", "ageMs": 5}), [])
        self.assertEqual(truth.differences(ROW, ROW | {"markPrice": "1.5"}), [("markPrice", "1.50", "1.5")])
        self.assertEqual(truth.differences(ROW, ROW | {"askSize": "1"}), [("askSize", None, "1")])
        self.assertEqual(truth.differences(ROW, None), [("row", "A", None)])
        dice = random.Random(1)
        for _ in range(100):
            self.assertEqual(len(truth.differences(truth.spoiled(ROW, dice), ROW)), 1)


class WatchTests(unittest.TestCase):
    def test_a_message_is_recognized_at_the_venue_and_at_the_reader(self):
        for language, frame, event in (
            (watch.Futures, b'{"stream":"a@bookTicker","data":{"e":"bookTicker","u":7,"s":"A","b":"1","a":"2","T":9}}',
             b'event: update\ndata: {"stream":"binance:a@bookTicker","id":"x.1","receivedAt":3,"content":{"symbol":"A","updateId":7,"time":9}}'),
            (watch.Futures, b'{"stream":"a@aggTrade","data":{"e":"aggTrade","E":4,"s":"A","a":7,"p":"1","T":9}}',
             b'event: update\ndata: {"stream":"a@aggTrade","id":"x.1","content":[{"id":7,"price":"1"}]}'),
            (watch.Futures, b'{"stream":"a@depth5@100ms","data":{"e":"depthUpdate","E":1,"T":2,"s":"A","U":3,"u":7,"pu":2,"b":[]}}',
             b'event: update\ndata: {"stream":"a@depth5@100ms","id":"x.1","content":{"symbol":"A","lastUpdateId":7}}'),
            (watch.Futures, b'{"stream":"a@markPrice","data":{"e":"markPriceUpdate","E":1,"p":"1","r":"0.1","T":7}}',
             b'event: update\ndata: {"stream":"binance:a@markPrice","id":"x.1","content":{"markPrice":"1","nextFundingTime":7}}'),
            (watch.Hyperliquid, b'{"channel":"l2Book","data":{"coin":"kPEPE","time":7,"levels":[]}}',
             b'event: update\ndata: {"stream":"hyperliquid:kPEPE@book","id":"x.1","eventTime":6,"content":{"coin":"kPEPE","time":7}}'),
            (watch.Hyperliquid, b'{"channel":"bbo","data":{"coin":"BTC","time":7,"bbo":[]}}',
             b'event: update\ndata: {"stream":"hyperliquid:BTC@bbo","id":"x.1","eventTime":6,"content":{"coin":"BTC","time":7}}'),
        ):
            ours, theirs = language.frame.search(frame), language.event.search(event)
            self.assertEqual(ours.groups(), theirs.groups())
            self.assertIn(b"7", ours.groups())


class JudgeTests(unittest.TestCase):
    options = argparse.Namespace(ratio=1.05)
    done = [isolation.Phase(number, 10 * number, 10 * number + 10, {"aster": 1}) for number in range(4)]

    def judge(self, slow=1.0, notices=(), done=None):
        delays = [(at / 10, 0.001 * (slow if at // 100 % 2 else 1)) for at in range(400)]
        return isolation.judge("killed", "aster", done or self.done, delays, notices, self.options)[1]

    def test_a_healthy_venue_is_free_of_faults(self):
        self.assertEqual(self.judge(1.04, [(40.5, "disconnect", {})]), [])

    def test_a_late_venue_a_changed_state_and_more_weight_are_found(self):
        self.assertIn("1.100 times as high", self.judge(1.1)[0])
        self.assertIn("changed its state", self.judge(notices=[(5, "disconnect", {})])[0])
        more = [isolation.Phase(phase.number, phase.begin, phase.end, {"aster": 20 * phase.is_sick}) for phase in self.done]
        self.assertIn("request weight", self.judge(done=more)[0])


if __name__ == "__main__":
    unittest.main()
