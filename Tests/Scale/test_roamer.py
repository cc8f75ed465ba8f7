"""The readers of a cluster's proofs find what they should: a clean run has no fault, and each planted one is named."""

import json
import random
import time
import unittest

import engine
import roamer

TAPE, BOOK = "btcusdt@aggTrade", "btcusdt@depth@100ms"


def event(name, data, identity=None):
    return f"event: {name}\ndata: {json.dumps(data)}{f'{chr(10)}id: {identity}' if identity else ''}".encode()


def trades(sequence, first, last, kind="delta", epoch="a"):
    return event("update", {"stream": TAPE, "id": f"{epoch}.{sequence}", "kind": kind, "content": [{"id": number} for number in range(first, last + 1)]},
                 f"{epoch}.{sequence}.0")


def book(sequence, previous, last, kind="delta"):
    content = {"lastUpdateId": last, "previousUpdateId": previous, "bids": [["1", "2"]], "asks": [["3", "4"]]}
    return event("update", {"stream": BOOK, "id": f"a.{sequence}", "kind": kind, "content": content}, f"a.{sequence}.0")


def session(resume):
    return event("session", {"resume": resume, "replayed": 0})


BEGIN = [session("none"), trades(1, 1, 5, "full"), book(2, 0, 10, "full"), trades(3, 6, 6), book(4, 10, 12)]


class Roamers(unittest.TestCase):
    def read(self, *blocks, tally=None, number=0):
        tally = tally or roamer.Tally(lambda *_: None)
        reader = roamer.Roamer(number, [("127.0.0.1", 1)], random.Random(1), tally, streams=[TAPE, BOOK])
        for block in [*BEGIN, *blocks]:
            reader.take(tally.parse(block), block)
        return reader

    def refuses(self, words, *blocks, **more):
        with self.assertRaisesRegex(roamer.Silent, words):
            self.read(*blocks, **more)

    def test_a_clean_run_has_no_fault(self):
        reader = self.read(session("exact"), trades(5, 7, 8), book(6, 12, 13))
        self.assertEqual(reader.last, "a.6.0")
        self.assertEqual(reader.lacks(), [])

    def test_what_is_missing_is_found(self):
        self.refuses("silent loss: trade 8", trades(5, 8, 8))
        self.refuses("silent loss: update 14", book(5, 13, 14))
        self.refuses("silent loss: trade 9", session("exact"), trades(9, 9, 12, "full"))

    def test_what_comes_twice_or_goes_back_is_found(self):
        self.refuses("event 3 after 3", trades(3, 6, 6))
        self.refuses("twice: trade 6", trades(5, 6, 6))
        self.refuses("came again", session("exact"), trades(4, 7, 7))
        self.refuses("complete data of 11", book(6, 0, 11, "full"))

    def test_a_change_without_complete_data_is_found(self):
        self.refuses("before complete data", session("reset"), trades(5, 7, 7))

    def test_other_bytes_at_another_edge_are_found(self):
        tally = roamer.Tally(lambda *_: None)
        self.read(book(5, 12, 13), tally=tally)
        other = book(5, 12, 13).replace(b'"2"', b'"9"')
        self.refuses("other bytes", other, tally=tally)

    def receipt(self, down):
        """A book's outage in which this reader hears nothing for about 0.4 s."""
        reader = self.read(event("disconnect", {"stream": BOOK, "reason": "a test"}))
        reader.positions[BOOK].silence[0] -= 0.4
        reader.take(reader.tally.parse(block := event("recover", {"stream": BOOK, "result": "success", "method": "continuous", "downMs": down})), block)
        return reader.tally

    def test_a_receipt_that_is_shorter_than_the_silence_is_found(self):
        with self.assertRaisesRegex(roamer.Silent, "downMs 100 of a silence of 4"):
            self.receipt(100)

    def test_a_receipt_that_is_as_long_as_the_silence_is_right(self):
        self.assertEqual(len(self.receipt(500).receipts), 1)

    def test_a_pause_of_the_venue_before_an_outage_is_not_part_of_it(self):
        def outage(missed_for, down):
            reader = self.read(event("disconnect", {"stream": BOOK, "reason": "a test"}))
            reader.positions[BOOK].silence[0] -= 5
            change = json.loads(book(5, 12, 13).split(b"data: ")[1].split(b"\n")[0]) | {"eventTime": int((time.time() - missed_for) * 1000)}
            told = {"stream": BOOK, "result": "success", "method": "continuous", "downMs": down}
            for block in (event("update", change, "a.5.0"), event("recover", told)):
                reader.take(reader.tally.parse(block), block)

        outage(missed_for=4, down=4000)
        with self.assertRaisesRegex(roamer.Silent, "downMs 4000 of a silence of 45"):
            outage(missed_for=4.5, down=4000)

    def test_only_the_time_in_which_the_process_could_not_look_is_no_silence(self):
        def outage(busy):
            reader = self.read(event("disconnect", {"stream": BOOK, "reason": "a test"}))
            reader.positions[BOOK].silence[0] -= 1
            reader.tally.idle_before = time.monotonic() - busy
            told = {"stream": BOOK, "result": "success", "method": "continuous", "downMs": 500}
            reader.take(reader.tally.parse(block := event("recover", told)), block)

        outage(busy=0.5)
        with self.assertRaisesRegex(roamer.Silent, "downMs 500 of a silence of 9"):
            outage(busy=0.05)

    def test_a_told_gap_is_none(self):
        self.read(event("gap", {"stream": TAPE, "dropped": 3}), trades(9, 10, 10))
        self.read(event("disconnect", {"stream": TAPE, "reason": "x"}),
                  event("recover", {"stream": TAPE, "result": "success", "method": "snapshot"}), trades(9, 10, 12, "full"))

    def test_what_an_edge_tells_by_itself_ends_with_the_connection(self):
        own = event("disconnect", {"stream": TAPE, "reason": "No data from the cluster log."})
        self.assertEqual(self.read(own).lacks(), [TAPE])
        self.assertEqual(self.read(own, session("exact")).lacks(), [])
        other = event("disconnect", {"stream": TAPE, "reason": "The ingest stopped; another one took over."})
        self.assertEqual(self.read(other, session("exact")).lacks(), [TAPE])


class Keys(unittest.TestCase):
    def test_a_key_is_written_as_nats_writes_it(self):
        seed = bytes([18 << 3 | (20 << 3) >> 5, (20 << 3 & 31) << 3]) + bytes(range(1, 33))
        self.assertTrue(engine.written(seed).startswith("SU"))
        self.assertEqual(len(engine.written(seed)), 58)
