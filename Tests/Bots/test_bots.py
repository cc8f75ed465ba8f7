"""Whether the checks find what is wrong, and nothing in what is right."""

import collections
import pathlib
import random
import tempfile
import unittest

import calls
import equal
import frozen
import liar
import record
import stand
import targets
import trade
from stand import Reply

KIND = {"content-type": "application/json"}
DEPTH = "/fapi/v1/depth?symbol=BTCUSDT&limit=5"
BOOK = b'{"lastUpdateId":7,"E":1795365811205,"T":1795365811205,"bids":[["108360.5","0.080"]],"asks":[["108360.6","0.055"]]}'
BARS = b'[[1795365780000,"1.0","2.0","0.5","1.5","10",1795365839999,"15.0",3,"5","7.5","0"]]'


def reply(body, status=200, headers=KIND):
    return Reply(status, headers, body)


class EqualTests(unittest.TestCase):
    def differ(self, ours, theirs=BOOK, target=DEPTH, **more):
        return equal.difference(target, reply(ours, **more), reply(theirs))

    def test_an_answer_that_differs_in_its_clocks_alone_is_equal(self):
        self.assertIsNone(self.differ(BOOK.replace(b"1795365811205", b"1795365811999")))
        self.assertIsNone(self.differ(b'{"serverTime":1795365811205}', b'{"serverTime":1795365811999}', "/fapi/v3/time"))

    def test_one_byte_more_less_or_other_is_told(self):
        for spoiled in (liar.digit(BOOK), liar.order(BOOK), BOOK + b"\n", BOOK[:-1], BOOK.replace(b":7", b":8"), BOOK.replace(b'"0.080"', b'"0.08"')):
            self.assertIn("byte", self.differ(spoiled))

    def test_status_and_kind_count(self):
        self.assertIn("status 400 for 200", self.differ(BOOK, status=400))
        self.assertIn("Content-Type", self.differ(BOOK, headers={"content-type": "text/html"}))
        self.assertIsNone(self.differ(BOOK, headers={"content-type": "application/json; charset=utf-8"}))

    def test_a_clock_that_is_no_time_is_told(self):
        for spoiled in (BOOK.replace(b"1795365811205", b"17"), BOOK.replace(b'"T":1795365811205', b'"T":"1795365811205"')):
            self.assertIsNotNone(self.differ(spoiled))

    def test_no_other_member_is_left_out(self):
        bars = "/fapi/v1/klines?symbol=BTCUSDT&interval=1m"
        self.assertIsNotNone(self.differ(BARS.replace(b"839999", b"839998"), BARS, bars))
        ticker = b'{"symbol":"BTCUSDT","bidPrice":"1.0","time":1795365811205}'
        self.assertIsNotNone(self.differ(ticker.replace(b"205", b"206"), ticker, "/fapi/v1/ticker/bookTicker?symbol=BTCUSDT"))

    def test_headers_that_an_answer_lacks_are_told(self):
        whole = {"x-mbx-used-weight-1m": "3", "x-feed-age-ms": "12", "x-feed-source": "stream", "x-feed-state": "live"}
        self.assertIsNone(equal.lacking(reply(BOOK, headers=whole)))
        for name in whole:
            self.assertIn(name, equal.lacking(reply(BOOK, headers={one: value for one, value in whole.items() if one != name})))
        self.assertIn("x-feed-age-ms", equal.lacking(reply(BOOK, headers=whole | {"x-feed-age-ms": "-1"})))


class JudgeTests(unittest.TestCase):
    def judge(self, venue, mirror, second=30.0):
        venue, mirror = iter(venue), iter(mirror)
        judge = equal.Judge(sleep=lambda _: None, clock=lambda: second)
        return judge.judge(lambda: next(venue), lambda: next(mirror), lambda one, other: None if one == other else f"{one} for {other}"), judge.summary()

    def test_what_the_venue_says_before_or_after_is_right(self):
        self.assertEqual(self.judge([1], [1]), (None, {"equal": 1, "moved": 0, "turned": 0}))
        self.assertEqual(self.judge([1, 2], [2]), (None, {"equal": 0, "moved": 1, "turned": 0}))

    def test_what_the_venue_never_says_is_wrong(self):
        self.assertEqual(self.judge([1, 1], [0])[0], "0 for 1")

    def test_a_venue_that_moves_is_asked_again_but_not_for_ever(self):
        self.assertIsNone(self.judge([1, 2, 3], [0, 3])[0])
        self.assertEqual(self.judge(range(1, 20), [0] * 9)[0], "0 for 9")

    def test_a_bar_that_begins_may_be_a_second_late(self):
        self.assertEqual(self.judge([2, 2, 2], [1, 2], second=60.5), (None, {"equal": 0, "moved": 0, "turned": 1}))
        self.assertEqual(self.judge([2, 2, 2], [1, 1], second=60.5)[0], "1 for 2")


class LiarTests(unittest.TestCase):
    def test_each_lie_spoils_an_answer_and_an_honest_relay_none(self):
        right, wrong = reply(BARS), reply(b'{"code":-1121,"msg":"Invalid symbol."}', 400)
        for lie in ("", *liar.LIES):
            teller, spoiled = liar.Liar(None, lie), 0
            later = reply(BARS.replace(b'"1.5"', b'"1.6"')), reply(BOOK.replace(b":7", b":9"))
            asked = [("klines", right), ("klines", later[0]), ("depth", reply(BOOK)), ("depth", later[1]), ("klines", wrong)]
            for number, (name, answer) in enumerate(asked):
                teller.answers = 200 + number
                spoiled += teller.spoiled(name, name, answer) != (answer.status, answer.body)
            teller.end()
            self.assertEqual(bool(spoiled), bool(lie), lie)

    def test_a_bar_that_was_invented_follows_the_last(self):
        self.assertIn(b"1795365840000", liar.invented(BARS))


class CallTests(unittest.TestCase):
    def test_values_are_compared_to_the_last_member(self):
        self.assertIsNone(calls.differ({"a": [1.0, None, float("nan")]}, {"a": [1.0, None, float("nan")]}))
        for ours, theirs, place in (({"a": [1, 2]}, {"a": [1, 3]}, ".a[1]"), ({}, {"a": 1}, ".a is missing"), ({"a": 1}, {}, ".a is too much"),
                                    ([1], [1, 2], ": 1 for 2"), (1, 1.0, ": 1 for 1.0"), (("BadSymbol", "x"), ("BadRequest", "x"), "[0]")):
            self.assertIn(place, calls.differ(ours, theirs))


class TargetTests(unittest.TestCase):
    def test_the_same_seed_makes_the_same_requests_and_all_paths_come_up(self):
        one, other = (targets.Targets(random.Random(3), ["BTCUSDT", "币安人生USDT"], 1_795_365_811_205) for _ in range(2))
        made = [one.next() for _ in range(3000)]
        self.assertEqual(made, [other.next() for _ in range(3000)])
        self.assertEqual({stand.endpoint(target) for target in made},
                         {*targets.FAPI, *(f"futures/data/{name}" for name in targets.DATA)})
        self.assertTrue(all(target.isascii() and " " not in target for target in made))

    def test_each_path_has_a_right_request(self):
        made = list(targets.Targets(random.Random(1), ["BTCUSDT"], 1_795_365_811_205).each())
        self.assertEqual(len(made), len(targets.FAPI) + len(targets.DATA))

    def test_what_is_asked_for_and_its_weight(self):
        for target, name, weight in (
            ("/fapi/v1/klines?symbol=A&limit=499", "klines", 2), ("/fapi/v3/klines?symbol=A", "klines", 5), ("/k/KEY/fapi/v1/time", "time", 1),
            ("/fapi/v1/klines?limit=1500", "klines", 10), ("/fapi/v1/depth?limit=5&symbol=A", "depth", 2), ("/fapi/v1/ticker/24hr", "ticker/24hr", 40),
            ("/fapi/v1/depth?limit=1000&symbol=A", "depth", 20), ("/fapi/v1/ticker/24hr?symbol=A", "ticker/24hr", 1),
            ("/futures/data/basis?pair=A", "futures/data/basis", 1), ("/api/v3/exchangeInfo", "api/v3/exchangeInfo", 1),
            ("/binance/fapi/v1/depth?limit=5&symbol=A", "depth", 2), ("/k/KEY/binance/fapi/v1/time", "time", 1),
        ):
            self.assertEqual((stand.endpoint(target), stand.weight(target)), (name, weight), target)

    def test_what_the_gateway_asks_for_itself_is_told_from_what_bots_cause(self):
        class Side:
            asked = lambda self: collections.Counter({
                "/fapi/v1/exchangeInfo": 2, "/fapi/v1/depth?symbol=A&limit=1000": 3, "/fapi/v1/klines?symbol=A&interval=1m&limit=2": 4,
                "/fapi/v1/klines?symbol=A&limit=499": 5})
            spent = lambda self: collections.Counter(audit=20, refill=20, silence=4, content=20, mirror=10)

        self.assertEqual(stand.Account(Side(), Side()).for_bots, 20 + 10)
        self.assertEqual(stand.Account(Side(), Side()).since(stand.Account(Side(), Side())).for_bots, 0)


class FrozenTests(unittest.TestCase):
    """A freeze of twenty seconds, from 1000 to 1020."""

    def answers(self, last_good=1002.0, status=503, headers={"retry-after": "1"}, words=b'{"code":-1001,"msg":"x"}', age=0.1):
        made = []
        for target in frozen.TARGETS:
            at = 980.0
            while at < 1040:
                is_good = at < last_good or at > 1021
                one = frozen.Answer(target, at, at + 0.01, Reply(404, {}, b""))
                one.status, one.headers, one.words = (200, {}, b"") if is_good else (status, headers, words)
                one.age = age if is_good and frozen.TARGETS[target][1] else None
                made.append(one)
                at += 0.25
        return made

    def judge(self, **more):
        return frozen.judge(self.answers(**more), 1000.0, 1020.0, {})

    def test_refusals_from_the_bound_on_are_right(self):
        self.assertEqual(self.judge(), [])

    def test_an_answer_after_its_bound_is_not(self):
        self.assertIn("as current", self.judge(last_good=1019)[0])

    def test_a_refusal_has_its_shape(self):
        self.assertIn("a refusal is 500", self.judge(status=500)[0])
        self.assertIn("a refusal is 503", self.judge(words=b'{"code":-1003,"msg":"x"}')[0])
        self.assertIn("a refusal is 503", self.judge(words=b"<html>")[0])
        self.assertIn("Retry-After", self.judge(headers={})[0])

    def test_what_is_old_by_its_own_time_is_told(self):
        made = self.answers()
        for one in made:
            if one.status == 200 and one.age is not None and 1001 < one.asked < 1002:
                one.age = 30
        self.assertIn("by its own time", frozen.judge(made, 1000.0, 1020.0, {})[0])


class LogTests(unittest.TestCase):
    def test_bad_lines_are_found_and_usual_ones_are_not(self):
        begin = "2026-11-22 16:47:01,611 - freqtrade."
        for line in ("exchange.common - WARNING - fetch_order_book() returned exception: \"Could not get order book\". Retrying still for 4 times.",
                     "worker - ERROR - Error: x, retrying in 30 seconds...", "x - WARNING - 418 I'm a teapot", "strategy - WARNING - Outdated history for pair"):
            self.assertTrue(trade.BAD.search(begin + line), line)
        for line in ("worker - INFO - Bot heartbeat. PID=429", "wallets - INFO - Wallets synced.", "x - WARNING - Currently no pairlist change"):
            self.assertFalse(trade.BAD.search(begin + line), line)
        self.assertFalse(trade.BAD.search("2026-11-22 16:47:01,429 - freqtrade.wallets - WARNING - x"))

    def test_a_repeated_request_is_a_fault_while_its_answer_is_valid(self):
        asked = {"/fapi/v1/fundingRate?symbol=A&startTime=1": 2, "/fapi/v1/fundingRate?symbol=B&startTime=1": 1, "/fapi/v1/time": 9}
        self.assertEqual(list(trade.repeated(asked, lambda target: True)), ["/fapi/v1/fundingRate?symbol=A&startTime=1"])
        self.assertEqual(trade.repeated(asked, lambda target: False), {})

    def test_late_contents_count_for_the_start_and_repeated_ones_are_faults(self):
        bars, book, mark = ("/fapi/v1/klines?symbol=A&interval=1m&limit=499", "/fapi/v1/depth?symbol=A&limit=1000", "/fapi/v1/markPriceKlines?symbol=A&limit=2")
        quiet = part({bars: 1})
        late = part({book: 2, mark: 3}, audit=20)
        self.assertEqual(trade.tell_weights(((quiet, late), (quiet, late)), (60, 60), lambda target: True), [])
        again = part({bars: 1, mark: 3})
        self.assertEqual(len(trade.tell_weights(((quiet, again), (quiet, again)), (60, 60), lambda target: True)), 2)
        heavy = part({bars: 5})
        self.assertEqual(len(trade.tell_weights(((quiet, late), (heavy, late)), (60, 60), lambda target: True)), 0)
        self.assertEqual(len(trade.tell_weights(((quiet, part({})), (heavy, part({}))), (60, 60), lambda target: True)), 1)


def part(asked, **spent):
    made = object.__new__(trade.stand.Account)
    made.asked, made.spent = collections.Counter(asked), collections.Counter(spent)
    return made


class RecordTests(unittest.TestCase):
    def test_a_row_takes_the_place_of_the_one_before_and_a_bar_stays_in_its_cell(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "RESULTS.md")
            for said in ("first", "second | half"):
                record.write(path, "crowd", ("crowd", "passed", said, "abc", "now"))
            record.write(path, "frozen", ("frozen", "FAILED", "x", "abc", "now"))
            rows = [line for line in path.read_text().splitlines() if line.startswith("| `")]
            self.assertEqual(rows, ["| `crowd` | passed | second \\| half | abc | now |", "| `frozen` | FAILED | x | abc | now |"])

    def test_a_command_is_recorded_without_where_to(self):
        self.assertEqual(record.without_record("crowd --record x.md --bots 3"), "crowd --bots 3")


if __name__ == "__main__":
    unittest.main()
