"""The venue freezes and its REST is refused: from its bound on, every answer is a refusal, and no bot is given an old candle or book as current."""

import asyncio
import collections
import json
import re
import time

import liar
import stand
import wire

WAYS = {
    "blackhole": [{"fault": "blackhole"}],
    "stalled": [{"fault": "stall"}, {"fault": "restStatus", "status": 503, "body": "{}"}],
    "hanging": [{"fault": "stall"}, {"fault": "restHang"}],
}
"""blackhole: nothing is read or sent any more, REST included. stalled: sockets live and pings are answered, no data come, and REST is refused.
hanging: so, and REST never answers."""
TARGETS = {
    "depth?symbol=BTCUSDT&limit=5": (3, r'"E":(\d+)'),
    "depth?symbol=ETHUSDT&limit=1000": (3, r'"E":(\d+)'),
    "klines?symbol=BTCUSDT&interval=1m&limit=499": (8, None),
    "klines?symbol=BTCUSDT&interval=1m": (8, None),
    "klines?symbol=ETHUSDT&interval=5m&limit=10": (8, None),
    "ticker/bookTicker?symbol=BTCUSDT": (8, r'"time":(\d+)'),
    "ticker/bookTicker": (8, None),
    "ticker/24hr?symbol=BTCUSDT": (8, r'"closeTime":(\d+)'),
    "ticker/24hr": (8, None),
    "ticker/price?symbol=BTCUSDT": (8, r'"time":(\d+)'),
    "premiumIndex?symbol=BTCUSDT": (6, r'"time":(\d+)'),
    "premiumIndex": (6, None),
    "aggTrades?symbol=BTCUSDT&limit=10": (8, r'"T":(\d+)'),
    "trades?symbol=BTCUSDT&limit=10": (8, r'"time":(\d+)'),
}
"""What bots act on, each with the seconds after which it is refused once the venue is frozen (freshness.md), and where it tells its own time."""
SLACK = 1
"""Seconds more that a busy machine and a request under way are given."""
WAIT = 9
"""Seconds that a refusal may take: the clients wait for ten."""
BACK = 30
"""Seconds within which all is answered again once the venue is back."""
EACH = 0.25


class Answer:
    def __init__(self, target, asked, at, reply):
        self.target, self.asked, self.at, self.status, self.headers = target, asked, at, reply.status, reply.headers
        self.words = reply.body[:160]
        pattern = TARGETS[target][1]
        times = [int(found) / 1000 for found in re.findall(pattern.encode(), reply.body)] if pattern and reply.status == 200 else []
        self.age = at - max(times) if times else None
        self.candle = None
        if self.status == 200 and target.startswith("klines"):
            self.candle = int(re.match(rb"\[(\d+)", reply.body[reply.body.rindex(b"["):])[1]) / 1000


    def told(self):
        """What the answer says of itself, and how it begins."""
        return f"{({name: value for name, value in self.headers.items() if name.startswith('x-feed')})} {self.words[:100]!r}"


async def poll(mirror, target, until, answers):
    line = wire.Wire(mirror.host, mirror.port, 30)
    while time.time() < until[0]:
        asked = time.time()
        try:
            reply = await line.ask("/fapi/v1/" + target)
            answers.append(Answer(target, asked, time.time(), reply))
        except OSError as error:
            answers.append(f"{target}: {error}")
        await asyncio.sleep(EACH)
    line.close()


async def freeze(venue, mirror, way, warm, seconds):
    """Bots poll while the venue is well, frozen, and well again; (answers, when it froze, when it was well again)."""
    answers, until = [], [time.time() + 3600]
    tasks = [asyncio.create_task(poll(mirror, target, until, answers)) for target in TARGETS]
    await asyncio.sleep(warm)
    for fault in WAYS[way]:
        await asyncio.to_thread(venue.fault, fault["fault"], **{name: value for name, value in fault.items() if name != "fault"})
    begin = time.time()
    await asyncio.sleep(seconds)
    end = time.time()
    await asyncio.to_thread(venue.ask, "POST", "/control/clear")
    while time.time() < end + BACK and len(returned(answers, end)) < len(TARGETS):
        await asyncio.sleep(1)
    until[0] = time.time() + 1
    await asyncio.gather(*tasks)
    return answers, begin, end


def returned(answers, end):
    """What was asked for and answered once the venue was well again."""
    return {answer.target for answer in answers if not isinstance(answer, str) and answer.asked > end and answer.status == 200}


def judge(answers, begin, end, usual):
    """What is wrong with the answers of one freeze. `usual` is what is added to: how old answers are in a market that is well, by target."""
    faults = [answer for answer in answers if isinstance(answer, str)]
    for target, (bound, _) in TARGETS.items():
        own = [answer for answer in answers if not isinstance(answer, str) and answer.target == target]
        before = [answer for answer in own if answer.at < begin and answer.status == 200]
        if not before:
            faults.append(f"{target} was not answered before the freeze: {(own[0].status, own[0].words) if own else 'nothing'}")
            continue
        usual[target] = max([usual.get(target, 0), *(answer.age for answer in before if answer.age is not None)])
        frozen = [answer for answer in own if begin < answer.asked and answer.at < end]
        if late := [answer for answer in frozen if answer.status == 200 and answer.asked > begin + bound + SLACK]:
            faults.append(f"{target} is answered as current {late[-1].asked - begin:.1f} s after the venue froze "
                          f"({len(late)} answers after {bound} s): {late[-1].told()}")
        old = [answer for answer in frozen if answer.status == 200 and answer.age is not None and answer.age > usual[target] + bound + SLACK]
        if old:
            faults.append(f"{target}: an answer is {max(answer.age for answer in old):.1f} s old by its own time")
        for answer in frozen:
            length = 300 if "5m" in target else 60
            if answer.candle is not None and answer.candle < (answer.asked - bound - SLACK) // length * length:
                begun, told = (time.strftime("%H:%M:%S", time.gmtime(at)) for at in (answer.candle, answer.at))
                faults.append(f"{target}: the last candle is that of {begun} at {told}")
                break
        refused = [answer for answer in frozen if answer.status != 200]
        if words := next((words for answer in refused if (words := misshapen(answer))), None):
            faults.append(f"{target}: {words}")
        if slow := [answer for answer in refused if answer.at - answer.asked > WAIT]:
            faults.append(f"{target}: a refusal took {max(answer.at - answer.asked for answer in slow):.1f} s")
        if not refused and end - begin > bound + 2 * SLACK:
            faults.append(f"{target} was never refused")
        fresh = [answer for answer in own if answer.age is None or answer.age < usual[target] + bound]
        back = [answer for answer in fresh if answer.asked > end and answer.status == 200]
        if not back:
            faults.append(f"{target} is not back {BACK} s after the venue")
    return faults


def misshapen(answer):
    """What is wrong with a refusal."""
    try:
        shape = json.loads(answer.words)
    except ValueError:
        shape = {}
    if answer.status != 503 or not isinstance(shape, dict) or shape.get("code") != -1001 or not shape.get("msg"):
        return f"a refusal is {answer.status} {answer.words!r}"
    return None if answer.headers.get("retry-after", "").isdigit() else f"a refusal has Retry-After {answer.headers.get('retry-after')}"


def main(options):
    print(f"seed {options.seed}", flush=True)
    faults, usual = [], {}
    for way in options.ways:
        venue = stand.Venue(options.executable, options.symbols)
        mirror = stand.Mirror(options.executable, venue, log=options.log) if options.mirror == "gateway" else liar.Liar(venue, "keeps")
        answers, begin, end = asyncio.run(freeze(venue, mirror, way, options.warm, options.seconds))
        wrong = judge(answers, begin, end, usual)
        good = [answer for answer in answers if not isinstance(answer, str)]
        last = collections.defaultdict(float)
        for answer in good:
            if answer.status == 200 and begin < answer.asked and answer.at < end:
                last[answer.target.split("?")[0]] = max(last[answer.target.split("?")[0]], answer.asked - begin)
        counts = collections.Counter(answer.status for answer in good if begin < answer.asked and answer.at < end)
        print(f"{way} for {options.seconds:g} s: {len(good)} answers, of those while frozen {dict(counts)}; the last good one s after the freeze: "
              + ", ".join(f"{name} {seconds:.1f}" for name, seconds in sorted(last.items())), flush=True)
        faults += [f"{way}: {words}" for words in wrong]
        mirror.end()
        venue.end()
    return stand.tell(faults)
