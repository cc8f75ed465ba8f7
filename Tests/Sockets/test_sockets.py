"""Tests of the checks themselves, without a process."""

import unittest

import peer
import same
import strict


def event(first, last, before, bids=()):
    return {"U": first, "u": last, "pu": before, "b": list(bids), "a": []}


SNAPSHOT = {"lastUpdateId": 10, "bids": [["2", "1"], ["1", "1"]], "asks": [["3", "1"]]}


class BookTests(unittest.TestCase):
    def test_events_before_the_book_are_dropped_and_the_next_one_must_reach_it(self):
        book = strict.Book()
        for one in (event(1, 5, 0), event(6, 12, 5, [["2", "0"]])):
            self.assertTrue(book.receive(one))
        book.start(SNAPSHOT)
        self.assertEqual((book.position, book.top()[0]), (12, [("1", "1")]))
        self.assertTrue(book.receive(event(13, 14, 12)))
        self.assertFalse(book.receive(event(17, 18, 16)))

    def test_a_book_that_the_first_event_only_continues_is_a_failure(self):
        book = strict.Book()
        book.start(SNAPSHOT)
        with self.assertRaises(strict.Overlap) as caught:
            book.receive(event(11, 12, 10))
        self.assertTrue(caught.exception.is_next)

    def test_an_older_book_is_a_failure(self):
        book = strict.Book()
        book.receive(event(15, 16, 14))
        with self.assertRaises(strict.Overlap) as caught:
            book.start(SNAPSHOT)
        self.assertFalse(caught.exception.is_next)


class FrameTests(unittest.TestCase):
    def test_lengths_are_written_in_their_shortest_form(self):
        for count, size in ((125, 2), (126, 4), (65535, 4), (65536, 10)):
            self.assertEqual(len(peer.frame(peer.TEXT, b"x" * count, masked=False)), size + count)

    def test_a_mask_is_applied(self):
        data = peer.frame(peer.TEXT, b"hello")
        self.assertEqual(bytes(byte ^ data[2 + place % 4] for place, byte in enumerate(data[6:])), b"hello")


class StreamTests(unittest.TestCase):
    def test_the_events_of_streams(self):
        for name, kind in (("a@depth@0ms", b"depthUpdate"), ("a@kline_1m", b"kline"), ("a@markPrice@1s", b"markPriceUpdate"), ("a@trade", b"trade")):
            self.assertEqual(same.event(name), kind)


if __name__ == "__main__":
    unittest.main()
