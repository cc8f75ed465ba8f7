"""What `Benchmarks/hops` makes of stamps."""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Benchmarks/hops"))
import chains  # noqa: E402

FEED, SENDER, VENUE, READER = 1, 2, 25, 17


def message(start, size=160, here=False):
    """The stamps of one message, a microsecond from place to place."""
    sender = FEED if here else SENDER
    steps = [(FEED, chains.ARRIVED, VENUE, size), (FEED, chains.AWAKE, 6, 1), (FEED, chains.READ, VENUE, size), (FEED, chains.ASKED, chains.MONOTONIC, 0),
             (FEED, chains.ASKED, chains.MONOTONIC, 0), (FEED, chains.ASKED, chains.COARSE, 0)]
    steps += [] if here else [(FEED, chains.SIGNALLED, 9, 8), (SENDER, chains.AWAKE, 10, 1)]
    steps += [(sender, chains.ASKED, chains.MONOTONIC, 0), (sender, chains.SENDING, READER, 0), (sender, chains.SENT, READER, 500)]
    return [(start + place * 1000, value, thread, kind, descriptor) for place, (thread, kind, descriptor, value) in enumerate(steps)]


class ChainsTests(unittest.TestCase):
    def test_a_message_takes_each_hop_in_turn(self):
        found, shared = chains.chains(message(1_000_000), [(900_000, 100), (1_015_000, 600)], head=100)
        self.assertEqual((len(found), shared), (1, 0))
        self.assertEqual([place for place in chains.PLACES if place not in found[0]], [])
        told = chains.summary(found)
        self.assertEqual(told["sender awake"], (1, 1, 1))
        self.assertEqual(told["whole way to: sending"][1], 9)
        self.assertEqual(told["whole way to: at the reader"][1], 15)

    def test_what_the_feeds_thread_sends_itself_has_no_second_thread(self):
        found, _ = chains.chains(message(1_000_000, here=True), [(1_015_000, 500)], head=0)
        self.assertEqual([place for place in chains.PLACES if place not in found[0]], ["signalled", "sender awake"])

    def test_messages_that_shared_a_read_are_counted_and_left_out(self):
        stamps = message(1_000_000) + message(2_000_000, size=320) + message(3_000_000)
        found, shared = chains.chains(stamps, [(3_020_000, 1500)], head=0)
        self.assertEqual((len(found), shared), (2, 1))

    def test_nothing_that_was_read_makes_no_chain(self):
        self.assertEqual(chains.chains([], [], head=0), ([], 0))


if __name__ == "__main__":
    unittest.main()
