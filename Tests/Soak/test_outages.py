"""Whether `detect` and `receipts` find what is wrong with a trial, and nothing in one that is right."""

import time
import unittest

import detect
import outages
import receipts
from ear import Heard

BEGAN = 1000.0
"""When the venue fell silent; the stream's last frame came half a second earlier, its socket's last byte right before."""


def data(at, name="update", received=None, ids=()):
    wall = time.time() - time.monotonic()
    return Heard(at, name, {"kind": "full", "receivedAt": round(1000 * ((received or at) + wall)), "ids": {one: round(1000 * (at + wall)) for one in ids}})


def recover(at, down, detected, method="snapshot", missed=None):
    receipt = {"result": "success", "method": method, "downMs": down, "missed": missed}
    return Heard(at, "recover", receipt if detected is None else receipt | {"detectedMs": detected})


def trial(events, fault="blackhole", stream="btcusdt@bookTicker", asked=None):
    before = [data(BEGAN - 0.5, ids=[7])]
    last, socket = (BEGAN - 0.5, BEGAN - 0.4999), (BEGAN - 0.01, BEGAN - 0.0099)
    return outages.Trial(fault, stream, BEGAN - 5, BEGAN, last, socket, BEGAN - 0.5 if fault == "forgotten" else BEGAN - 0.01, asked, 1.5, before + events)


def told(at, state="stale"):
    return Heard(at, "status", {"state": state})


class DetectTests(unittest.TestCase):
    back = [recover(BEGAN + 5, 5010, 3000), data(BEGAN + 5)]

    def test_a_word_in_time_is_right_and_a_late_one_or_none_is_not(self):
        stream = "btcusdt@depth@100ms"
        self.assertIsNone(detect.wrong(trial([told(BEGAN + 2), *self.back], stream=stream)))
        self.assertIsNone(detect.wrong(trial([Heard(BEGAN + 2, "disconnect", {}), *self.back], stream=stream)))
        self.assertIn("told 4.50 s after its last byte", detect.wrong(trial([told(BEGAN + 4), *self.back], stream=stream)))
        self.assertIn("not told", detect.wrong(trial(self.back, stream=stream)))
        self.assertIn("not told", detect.wrong(trial([told(BEGAN + 2, "live"), *self.back], stream=stream)))

    def test_what_rest_had_before_the_fault_is_as_good_as_a_frame(self):
        stream = "btcusdt@depth@100ms"
        self.assertIsNone(detect.wrong(trial([data(BEGAN - 0.2, "fetch"), told(BEGAN + 2.7), *self.back], stream=stream)))
        self.assertIn("told 3.20 s after", detect.wrong(trial([data(BEGAN + 0.2, "fetch"), told(BEGAN + 2.7), *self.back], stream=stream)))

    def test_a_word_too_much_and_a_stream_that_stays_away_are_wrong(self):
        self.assertIn("while all was well", detect.wrong(trial([told(BEGAN - 2), told(BEGAN + 2), *self.back])))
        self.assertIn("not back", detect.wrong(trial([told(BEGAN + 2), data(BEGAN + 5)])))

    def test_each_class_has_its_bound(self):
        bounds = {"a@depth@100ms": 3, "a@markPrice": 8, "a@markPrice@1s": 4, "a@aggTrade": 6}
        self.assertEqual({stream: detect.bound(trial([], stream=stream)) for stream in bounds}, bounds)


class ReceiptTests(unittest.TestCase):
    def wrong(self, events, **more):
        return receipts.judge(trial(events, **more))[1]

    def end(self, down, detected, **more):
        return [told(BEGAN + 2), recover(BEGAN + 5, down, detected, **more), data(BEGAN + 5.001, received=BEGAN + 4.999)]

    def test_the_truth_is_taken(self):
        self.assertEqual(self.wrong(self.end(5010, 3000)), [])
        self.assertEqual(self.wrong(self.end(5050, 2960)), [])

    def test_too_little_too_much_and_what_counts_from_the_word_are_not(self):
        for down in (4990, 300, 5600):
            self.assertIn(f"downMs {down} of an outage of", self.wrong(self.end(down, 300))[0])
        self.assertIn("no detectedMs", self.wrong(self.end(5010, None)))
        for detected in (2700, 3300, 6000):
            self.assertIn(f"detectedMs {detected} of 3000 ms", self.wrong(self.end(5010, detected))[0])

    def test_a_receipt_may_count_from_the_streams_own_last_frame(self):
        self.assertEqual(self.wrong(self.end(5500, 3000)), [])
        self.assertIn("downMs 5600 of an outage of", self.wrong(self.end(5600, 3000))[0])

    def test_an_own_stall_counts_from_the_streams_own_last_frame(self):
        self.assertEqual(self.wrong(self.end(5500, 3000), fault="forgotten"), [])
        self.assertIn("downMs 5010 of an outage of", self.wrong(self.end(5010, 3000), fault="forgotten")[0])

    def test_what_rest_confirmed_is_evidence_until_the_first_trade_that_was_missed(self):
        self.assertEqual(self.wrong(self.end(4500, 3000), fault="forgotten", asked=BEGAN + 0.5), [])
        made = [told(BEGAN + 2), recover(BEGAN + 5, 4500, 3000, missed=0), data(BEGAN + 0.2, "fetch", BEGAN + 4.999, [8])._replace(at=BEGAN + 5)]
        self.assertIn("downMs 4500", self.wrong(made, fault="forgotten", stream="btcusdt@aggTrade", asked=BEGAN + 0.5)[0])
        made[1] = recover(BEGAN + 5, 4805, 3000, missed=0)
        self.assertEqual(self.wrong(made, fault="forgotten", stream="btcusdt@aggTrade", asked=BEGAN + 0.5), [])

    def test_back_before_its_data_and_never_back_are_wrong(self):
        early = [told(BEGAN + 2), recover(BEGAN + 5, 5010, 3000), data(BEGAN + 7)]
        self.assertIn("before its data came", self.wrong(early)[0])
        self.assertEqual(self.wrong([told(BEGAN + 2), data(BEGAN + 7)]), ["no recover came"])
        self.assertIn("not told", self.wrong([data(BEGAN + 7)])[0])

    def test_missed_is_what_the_ids_say(self):
        for method, ids, missed in (("snapshot", [10, 11], 2), ("snapshot", [5, 6, 7, 8], 0)):
            for claimed in (missed, missed + 1, None):
                events = [told(BEGAN + 2), recover(BEGAN + 5, 5010, 3000, method, claimed), data(BEGAN + 5, "fetch", BEGAN + 4.999, ids)]
                self.assertEqual(bool(self.wrong(events, stream="btcusdt@aggTrade")), claimed != missed)

    def test_a_backfill_ends_with_what_was_fetched_before_the_word(self):
        page = data(BEGAN + 4.999, "fetch", BEGAN + 4.998, [8, 9])
        events = [told(BEGAN + 2), page, recover(BEGAN + 5, 5010, 3000, "backfill", 0), data(BEGAN + 5.3, ids=[10])]
        self.assertEqual(self.wrong(events, stream="btcusdt@aggTrade"), [])


if __name__ == "__main__":
    unittest.main()
