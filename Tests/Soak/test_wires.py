"""What a bad line does to frames, and whether `lines` and `jitter` notice what they have to."""

import math
import random
import types
import unittest

import jitter
import lines
import wires


def message(stream, number, opcode=1):
    text = b'{"stream":"%s","data":{"e":"x","u":%d,"a":[["1","%s"]]}}' % (stream.encode(), number, b"9" * 200) if stream else b'{"result":null,"id":1}'
    length = bytes([len(text)]) if len(text) < 126 else b"\x7e" + len(text).to_bytes(2, "big")
    return bytes([0x80 | opcode]) + length + text


class SplitterTests(unittest.TestCase):
    def test_frames_come_out_whole_however_the_bytes_come(self):
        parts = [b"HTTP/1.1 101 Switching\r\nA: b\r\n\r\n", message("a@x", 1), message("", 0), message("b@y", 2), b"\x8a\x02hi"]
        data = b"".join(parts)
        for size in (1, 7, 100, len(data)):
            splitter = wires.Splitter()
            frames = [frame for place in range(0, len(data), size) for frame in splitter.feed(data[place:place + size])]
            self.assertEqual([frame.bytes for frame in frames], parts)
            self.assertEqual([frame.stream for frame in frames], [None, "a@x", None, "b@y", None])
            self.assertEqual([frame.is_text for frame in frames], [False, True, True, True, False])


class FaultTests(unittest.TestCase):
    def through(self, fault, frames, healed=True):
        """(when, number) of what goes on of frames that come 0.01 s apart, in the order in which it does."""
        line = types.SimpleNamespace(fault=fault)
        web = wires.Web(None, line)
        for place, frame in enumerate(frames):
            web.take(frame, place / 100)
        if healed:
            for frame in fault.left(web):
                web.put(9, frame, 9)
        return [(round(due, 3), frame.number) for due, frame, _ in web.queue]

    def frames(self, count, stream="a@x"):
        frames = [wires.Frame(message(stream, number), 4) for number in range(count)]
        return [types.SimpleNamespace(bytes=frame.bytes, stream=frame.stream, is_text=frame.is_text, number=number) for number, frame in enumerate(frames)]

    pong = types.SimpleNamespace(bytes=b"\x8a\x00", stream=None, is_text=False, number="pong")

    def numbers(self, fault, frames, **more):
        return [number for _, number in self.through(fault, frames, **more)]

    def test_a_stall_lets_pongs_alone_pass(self):
        self.assertEqual(self.numbers(wires.Stall(), [*self.frames(3), self.pong]), ["pong"])

    def test_a_hole_keeps_everything(self):
        self.assertEqual({due for due, _ in self.through(wires.Hole(), [*self.frames(3), self.pong])}, {math.inf})

    def test_some_are_lost_or_doubled_and_answers_are_not(self):
        answer = types.SimpleNamespace(bytes=b"", stream=None, is_text=True, number="answer")
        self.assertEqual(self.numbers(wires.Drop(random.Random(1), 1), [*self.frames(3), answer, self.pong]), ["answer", "pong"])
        self.assertEqual(self.numbers(wires.Duplicate(random.Random(1), 1), [*self.frames(2), answer]), [0, 0, 1, 1, "answer"])
        left = len(self.numbers(wires.Drop(random.Random(1), 0.2), self.frames(1000)))
        self.assertTrue(750 < left < 850, left)

    def test_frames_of_one_stream_change_places_and_none_is_lost(self):
        self.assertEqual(self.numbers(wires.Reorder(random.Random(1), 1), self.frames(5)), [1, 0, 3, 2, 4])
        mixed = [self.frames(1)[0], self.frames(1, "b@y")[0], *self.frames(3)[1:]]
        self.assertEqual(self.numbers(wires.Reorder(random.Random(1), 1), mixed), [1, 0, 0, 2])

    def test_late_frames_stay_in_order(self):
        self.assertEqual(self.through(wires.Delay(), self.frames(2)), [(0.2, 0), (0.21, 1)])
        late = self.through(wires.Jitter(random.Random(1), 0.05), self.frames(200))
        self.assertEqual(late, sorted(late))
        self.assertTrue(all(0 <= due - number / 100 <= 0.05 + 1e-3 for due, number in late))

    def test_a_throttle_lets_so_many_pass(self):
        self.assertEqual(self.through(wires.Throttle(None, frames=10), self.frames(3)), [(0.1, 0), (0.2, 1), (0.3, 2)])
        size = len(self.frames(1)[0].bytes)
        self.assertEqual(self.through(wires.Throttle(None, size=size * 2), self.frames(2)), [(0.5, 0), (1.0, 1)])


class JudgeTests(unittest.TestCase):
    def siege(self, before, after):
        court = types.SimpleNamespace(faults=[])
        siege = lines.Siege.__new__(lines.Siege)
        siege.run = types.SimpleNamespace(totals={0: after}, court=court, noticed={})
        siege.before, siege.slow, siege.explain = {0: before}, 0, lambda began: None
        siege.compare("fault 1 (kill of line 0)", 0.0)
        return court.faults

    def test_whatever_readers_are_told_is_a_fault_unless_they_were_slow(self):
        self.assertEqual(self.siege([8] * 7, [8] * 7), [])
        for place in range(6):
            self.assertIn("fault 1 (kill of line 0) was seen", self.siege([8] * 7, [8 + (place == other) for other in range(7)])[0])
        self.assertEqual(self.siege([8] * 7, [8, 8, 8, 9, 8, 8, 9]), [])

    def test_requests_are_told_apart(self):
        for words, path, query in (
            ("books", "depth", "symbol=BTCUSDT&limit=1000"), ("depth", "depth", "symbol=BTCUSDT&limit=50"), ("trades", "aggTrades", "symbol=A&fromId=7&limit=1000"),
            ("aggTrades", "aggTrades", "symbol=A&limit=1"), ("aggTrades", "aggTrades", "symbol=A&limit=500"),
        ):
            self.assertEqual(lines.kind(path, query), words)

    def test_the_faster_line_is_that_of_each_message(self):
        stretch = jitter.Stretch.__new__(jitter.Stretch)
        stretch.noted = [(0, "a", 1, 10.0, 10.04), (1, "a", 1, 10.001, 10.011), (0, "a", 2, 11.0, 11.005), (1, "a", 2, 11.0, 11.03), (0, "a", 3, 12.0, 12.0)]
        stretch.messages = [("a", 1, 10.012), ("a", 2, 11.007), ("a", 2, 11.5)]
        best, whole, rest, missing = stretch.times()
        rounded = lambda values: [round(value, 4) for value in values]
        self.assertEqual((rounded(best), rounded(whole), rounded(rest), missing), ([0.011, 0.005], [0.012, 0.007], [0.001, 0.002], 1))

    def test_numbers_are_those_of_the_venue(self):
        found = lambda data: int(jitter.NUMBER.search(data)[1])
        self.assertEqual(found(b'{"e":"depthUpdate","U":5,"u":7,"pu":4,"b":[],"a":[["1","2"]]}'), 7)
        self.assertEqual(found(b'{"e":"aggTrade","E":1,"s":"X","a":33,"p":"1"}'), 33)
        self.assertEqual([jitter.numbers(content) for content in ([{"id": 3}, {"id": 4}], {"updateId": 5}, {"lastUpdateId": 6})], [[3, 4], [5], [6]])


if __name__ == "__main__":
    unittest.main()
