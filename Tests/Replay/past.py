"""Replays a recorded tape for the same clients as at the recording, and compares their messages, books and fills."""

import json
import time

import clients_of
import house
import places
import stand
import taping

PARTS = ("frames", "ccxt", "speed")


class Replay(house.Program):
    """A gateway that serves the tape in a folder."""

    def __init__(self, options, *words):
        super().__init__(options.executable, "replay", "--tape", options.folder / "tape", "--venue", "binance", "--port", 0, *words,
                         log=str(options.folder / "replay.log"))

    def step(self, milliseconds):
        return self.ask("POST", f"/replay/step?ms={milliseconds}")[1]


def play(replay, step):
    """Lets the whole tape pass in steps. A closed socket is back before more time passes."""
    while True:
        stand.wait(20, lambda: replay.ask("GET", "/replay")[1]["subscriptions"] == len(taping.STREAMS), 0.005)
        state = replay.step(step)
        if state["state"] != "playing":
            return state


def frames(options):
    """Every message that the live client was sent comes again, with the same bytes and in the same order."""
    live = json.loads((options.folder / "frames.json").read_text())
    if options.control:
        name = next(iter(live))
        live[name][len(live[name]) // 2] += " "
    replay = Replay(options, "--stepped")
    # The first streams of the tape have begun.
    replay.step(1500)
    client = clients_of.Plain(replay, taping.STREAMS)
    client.start()
    stand.wait(10, lambda: client.is_open)
    state = play(replay, 500)
    # The step has returned when the kernel had everything.
    count = -1
    while count != client.count:
        count = client.count
        time.sleep(0.5)
    client.stop()
    replay.end()
    missing, more, turned = 0, 0, 0
    for name, texts in live.items():
        places_of = {text: place for place, text in enumerate(client.frames[name])}
        found = [places_of[text] for text in texts if text in places_of]
        missing += len(texts) - len(found)
        for text in [text for text in texts if text not in places_of][:2]:
            clients_of.say(f"missing: {text[:200]}")
        turned += sum(1 for before, after in zip(found, found[1:]) if after < before)
        more += len(client.frames[name]) - len(found)
    total = sum(map(len, live.values()))
    clients_of.say(f"frames: {total} messages of {len(live)} streams were sent live; {missing} of them missing, {turned} out of order in the replay; {more} more, "
         f"sent live while the client was not connected; {client.ends} ends of the socket; {state['messages']} messages replayed")
    return total > 0 and missing == 0 and turned == 0 and state["state"] == "ended"


def ccxt(options):
    """Two replays have identical fills, trades and final books, and the books of the live run at the same update ids."""
    program = places.python("ccxt")
    if not program:
        clients_of.say(places.skipped("ccxt"))
        return True
    results = []
    for _ in range(2):
        replay, begin = Replay(options, "--stepped"), time.monotonic()
        replay.step(1500)
        results.append(clients_of.Trader(program, replay, taping.SYMBOLS[:2], ["replay", "--step", str(options.step)]).result())
        replay.end()
        clients_of.say(f"ccxt.pro {results[-1]['version']}: {len(results[-1]['fills'])} fills, {sum(map(len, results[-1]['trades'].values()))} trades, "
             f"{results[-1]['reconnects']} reconnects, {results[-1]['undecided']} times without a live book, {time.monotonic() - begin:.0f} s")
    one, other = results
    live = json.loads((options.folder / "live.json").read_text())
    if options.control:
        other["fills"][-1][-1] += "0"
        ids = live["books"][taping.SYMBOLS[0]]
        for identity in ids:
            ids[identity] = "another"
    same = {name: one[name] == other[name] for name in ("fills", "final", "trades")}
    compared = wrong = 0
    for result in results:
        for symbol, books in result["books"].items():
            for identity, book in books.items():
                if identity in live["books"][symbol]:
                    compared += 1
                    wrong += book != live["books"][symbol][identity]
    # The control has changed the other comparisons too.
    passed = all(same.values()) and bool(one["fills"]) and compared > 0 and wrong == 0
    clients_of.say(f"ccxt.pro: identical {same}; {compared} books compared with the live run's at the same update id, {wrong} differ")
    return passed


def speed(options):
    """How fast the tape can be replayed to one client that reads everything."""
    results = []
    for words in (["--speed", "1000"], ["--speed", "0"]):
        replay = Replay(options, *words)
        client, begin = clients_of.Plain(replay, taping.STREAMS), time.monotonic()
        client.take = lambda text: None
        client.start()
        while True:
            _, state = replay.ask("GET", "/replay")
            if state["state"] in ("ended", "failed"):
                break
            time.sleep(0.05)
        # A second to settle passes first.
        seconds = time.monotonic() - begin - 1
        client.stop()
        replay.end()
        results.append((words[-1], state, seconds))
    for word, state, seconds in results:
        passed = state["time"] - first(options)
        clients_of.say(f"speed {word}: {passed / 1000:.0f} s of the past in {seconds:.1f} s ({passed / 1000 / seconds:.0f} times as fast), "
             f"{(state['events'] + state['messages']) / seconds:.0f} events and messages a second")
    return all(state["state"] == "ended" for _, state, _ in results)


def first(options):
    replay = Replay(options, "--stepped")
    stand.wait(60, lambda: replay.ask("GET", "/replay")[1]["state"] != "reading")
    time_of_first = replay.ask("GET", "/replay")[1]["time"]
    replay.end()
    return time_of_first


def main(options):
    results = {}
    for name in options.only:
        passed = globals()[name](options)
        if options.control and name != "speed":
            clients_of.say(f"control of {name}: " + ("it did not find the change" if passed else "found"))
            passed = not passed
        results[name] = passed
    clients_of.say("; ".join(f"{name}: {'passed' if passed else 'FAILED'}" for name, passed in results.items()))
    return all(results.values())
