"""Replays a recorded tape for the same clients as at the recording, and compares their messages, books and fills."""

import json
import os
import pathlib
import time

import clients
import clients_of
import house
import places
import stand
import tables
import taping


class Replay(house.Program):
    """A gateway that serves the tape in a folder."""

    def __init__(self, options, *words, wrap=()):
        super().__init__(options.executable, "replay", "--tape", options.folder / "tape", "--venue", "binance", "--port", 0, *words,
                         log=str(options.folder / "replay.log"), wrap=wrap)

    def step(self, milliseconds):
        return self.ask("POST", f"/replay/step?ms={milliseconds}")[1]

    def processor_time(self):
        """Seconds of all its threads on a processor."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
    return strategy(options, places.python("ccxt"), "ccxt", "trader.py")


def nautilus(options):
    clients.newer("nautilus")
    return strategy(options, places.python("nautilus"), "nautilus", "nautilus.py")


def strategy(options, program, library, script):
    """Two replays have identical fills, trades and final books, and the books and trades of the live run."""
    if not program:
        clients_of.say(places.skipped(library))
        return True
    results = []
    for _ in range(2):
        replay, begin = Replay(options, "--stepped"), time.monotonic()
        replay.step(1500)
        results.append(clients_of.Trader(program, replay, taping.SYMBOLS[:2], ["replay", "--step", str(options.step)], script).result())
        replay.end()
        count = {name: sum(map(len, results[-1][name].values())) for name in ("books", "trades")}
        clients_of.say(f"{library} {results[-1]['version']}: {len(results[-1]['fills'])} fills, {count['trades']} trades, {count['books']} books, "
                       f"{results[-1]['reconnects']} reconnects, {results[-1]['undecided']} times without a live book, "
                       f"{time.monotonic() - begin:.0f} s")
    one, other = results
    live = json.loads((options.folder / "live.json").read_text())
    if options.control:
        spoil(other, live)
    # A client may receive several changes of a book together, so only books that both have are compared.
    same = {name: one[name] == other[name] for name in one if name in ("fills", "final", "trades", "bars")}
    same["books"], common = agree(one["books"], other["books"])
    found = {name: [agree(result[name], live[name]) for result in results] for name in ("books", "trades")}
    counts = {name: sum(compared for _, compared in pairs) for name, pairs in found.items()}
    right = {name: all(is_same for is_same, _ in pairs) for name, pairs in found.items()}
    clients_of.say(f"{library}: identical {same}, {common} books at the same update ids; as in the live run {right}, {counts['books']} books and "
                   f"{counts['trades']} trades compared")
    parts = {**same, **{f"live {name}": is_right for name, is_right in right.items()}}
    if options.control:
        # Each comparison must notice its own change.
        return any(parts.values())
    return all(parts.values()) and bool(one["fills"]) and all(counts.values())


def agree(ours, theirs):
    """Whether contents by symbol and id are equal if both have the id, and the number of such contents."""
    pairs = [(content, theirs[symbol][key]) for symbol, contents in ours.items() for key, content in contents.items() if key in theirs[symbol]]
    return all(one == other for one, other in pairs), len(pairs)


def spoil(result, live):
    """Changes one value of each kind."""
    result["fills"][-1][-1] += "0"
    result["final"][taping.SYMBOLS[0]] += "0"
    for contents in (result["books"], result["trades"], result.get("bars", {}), live["books"], live["trades"]):
        values = contents.get(taping.SYMBOLS[0])
        if values:
            values[next(reversed(values))] = "another"


def speed(options):
    """The speed of a replay to one client that reads everything. With a core, the gateway has it alone, and three measurements have a median."""
    wrap, times, passed = (), 1, True
    if options.core is not None:
        wrap, times = ("taskset", "-c", options.core), 3
        os.sched_setaffinity(0, os.sched_getaffinity(0) - {int(options.core)})
    begin = first(options)
    for words in (["--speed", "1000"], ["--speed", "0"]):
        runs = sorted((play_freely(options, words, wrap) for _ in range(times)), key=lambda run: run[1])
        for state, seconds, busy in runs:
            span = (state["time"] - begin) / 1000
            clients_of.say(f"speed {words[-1]}: {span:.0f} s of the past in {seconds:.1f} s ({span / seconds:.0f} times as fast), "
                           f"{state['events'] + state['messages']} events and messages, {(state['events'] + state['messages']) / seconds:.0f} a second, "
                           f"the gateway on a processor for {busy:.1f} s" + (", the median" if times > 1 and state is runs[1][0] else ""))
            passed = passed and state["state"] == "ended"
        clients_of.say(f"load of the machine: {os.getloadavg()[0]:.1f}")
    return passed


def play_freely(options, words, wrap):
    """(the last state, the seconds until then without the second to settle, the gateway's seconds on a processor)"""
    replay = Replay(options, *words, wrap=wrap)
    client, begin = clients_of.Plain(replay, taping.STREAMS), time.monotonic()
    client.take = lambda text: None
    client.start()
    while True:
        state = replay.ask("GET", "/replay")[1]
        if state["state"] in ("ended", "failed"):
            break
        time.sleep(0.05)
    seconds, busy = time.monotonic() - begin - 1, replay.processor_time()
    client.stop()
    replay.end()
    return state, seconds, busy


def first(options):
    replay = Replay(options, "--stepped")
    stand.wait(60, lambda: replay.ask("GET", "/replay")[1]["state"] != "reading")
    time_of_first = replay.ask("GET", "/replay")[1]["time"]
    replay.end()
    return time_of_first


PARTS = {"frames": frames, "ccxt": ccxt, "nautilus": nautilus, "tables": tables.main, "speed": speed}


def main(options):
    results = {}
    for name in options.only:
        passed = PARTS[name](options)
        if options.control and name != "speed":
            clients_of.say(f"control of {name}: " + ("it did not find the change" if passed else "found"))
            passed = not passed
        results[name] = passed
    clients_of.say("; ".join(f"{name}: {'passed' if passed else 'FAILED'}" for name, passed in results.items()))
    return all(results.values())
