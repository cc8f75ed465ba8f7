"""Whether `recover` says what an outage was: how long, since when it was known, and what was missed; for every way in which a venue goes away.

An outage began with the last byte that the stream's socket delivered, or the stream itself where only streams fell silent, and ended with the data
that came next. `downMs` may not be less than that, nor 50 ms more than from the stream's own last frame. Where a stream alone fell silent, what REST
was asked for since then is evidence too, but for trades never beyond the first that was missed.
"""

import random
import time

import outages
import verdict

RESOLUTION = 0.005
"""Of what is compared: the gateway's stamps are whole milliseconds, and the kernel takes a moment to hand over."""
HEARING = 0.25
"""Seconds by which a reader on a busy machine may hear one event later than another."""
MORE = 0.05
PATIENCE = 45
"""Seconds within which readers have to be told at all."""


def main(options):
    results = outages.run(options.faults, work, options)
    faults = []
    for name in options.faults:
        if results[name] is None:
            faults.append(f"{name}: the outages ended before their time")
            continue
        judged = [(trial, *judge(trial)) for trial in results[name]]
        more = sorted(value for _, value, _ in judged if value is not None)
        right = sum(not words for *_, words in judged)
        if more:
            print(f"{name}: {right} of {len(judged)} receipts right; downMs {more[0] * 1000:+.0f} to {more[-1] * 1000:+.0f} ms of the time from the last byte")
        faults += [f"{name}: {trial.stream}: {words[0]}" for trial, _, words in judged if words]
        if len(judged) < options.outages:
            faults.append(f"{name}: only {len(judged)} of {options.outages} outages")
    return verdict.tell(faults)


def work(fault, say, options):
    """The trials."""
    scene, trials = outages.Scene(options, fault, random.Random(f"{options.seed} {fault}"), options.outages), []
    try:
        scene.settle(options.warm)
        while len(trials) < options.outages:
            new = scene.round(PATIENCE, scene.dice.uniform(0, 2))
            trials += new
            wrong = [f"{trial.stream}: {words[0]} ({story(trial)})" for trial in new if (words := judge(trial)[1])]
            say(f"{len(trials)} outages" + (f", {len(wrong)} of the last {len(new)} wrong: {wrong[0]}" if wrong else ""))
            if wrong:
                break
    finally:
        scene.end()
    return trials


def judge(trial):
    """(seconds by which `downMs` is more than the time from the last byte, None where that cannot be said; what is wrong)"""
    told, events = trial.told, trial.since
    start = trial.last_of_socket if trial.fault in outages.OF_SOCKETS else trial.last
    if not start:
        return None, ["the venue sent nothing before"]
    if trial.alarm:
        return None, [f"{trial.alarm.name} was told while all was well"]
    if not told:
        return None, [f"not told within {PATIENCE} s"]
    place = next((place for place, heard in enumerate(events) if heard.name == "recover"), None)
    if place is None:
        return None, ["no recover came"]
    recover, receipt = events[place], events[place].data
    if receipt["result"] != "success":
        return None, [f"not recovered: {receipt}"]
    # What the gateway had later than the cutter gave it counts from then: it could not know before.
    begin = heard = max(start[1], min(trial.stamp or 0, start[1] + MORE))
    if trial.asked:
        begin = max(begin, min(trial.asked, first_missed(trial) or trial.asked))
    stamp = data_of(told.at, events, place)
    if stamp and stamp > recover.at + MORE:
        return None, [f"it was said to be back {stamp - recover.at:.2f} s before its data came"]
    ends = min(stamp or recover.at - MORE, recover.at)
    down, wrong = receipt["downMs"] / 1000, []
    if down < ends - begin - RESOLUTION:
        wrong.append(f"downMs {receipt['downMs']} of an outage of {(ends - begin) * 1000:.0f} ms")
    # Other data on a socket are evidence for a stream as long as nothing speaks against it: a gateway that had a reason may count from the stream's own.
    since = min(trial.last[0], start[0])
    if down > recover.at - since + MORE:
        wrong.append(f"downMs {receipt['downMs']} of an outage of {(recover.at - since) * 1000:.0f} ms")
    if (detected := receipt.get("detectedMs")) is None:
        wrong.append("no detectedMs")
    elif detected > receipt["downMs"] or abs(detected / 1000 - (recover.at - told.at)) > HEARING:
        wrong.append(f"detectedMs {detected} of {(recover.at - told.at) * 1000:.0f} ms, downMs {receipt['downMs']}")
    if outages.kind(trial.stream) == "aggTrade" and receipt["missed"] != (missed := missing(trial)):
        wrong.append(f"missed {receipt['missed']}, and it was {missed}")
    return down - (ends - heard) if stamp else None, wrong


def data_of(told, events, place):
    """When the gateway had the data that ended the outage: what follows the recover, or what was fetched before it; None where that was old data,
    because there were no newer."""
    if events[place].data["method"] == "backfill":
        stamps = [heard.received for heard in events[:place] if heard.name == "fetch"][-1:]
    else:
        stamps = [heard.received for heard in events[place:] if heard.is_data][:1]
    return next((stamp for stamp in stamps if stamp > told), None)


def story(trial):
    """What happened when, in seconds from the fault on."""
    ends = next((heard.at for heard in reversed(trial.since) if heard.name == "recover"), trial.began) + 0.2
    words = [(trial.last[1], "its last frame")] if trial.last else []
    words += [(trial.last_of_socket[1], "its socket's last byte")] if trial.last_of_socket else []
    for heard in trial.since:
        if heard.at < ends:
            told = {name: heard.data[name] for name in ("state", "reason", "downMs", "detectedMs", "method", "missed", "kind") if name in heard.data}
            words.append((heard.at, f"{heard.name} {told}"))
    return "; ".join(f"{at - trial.began:+.3f} {what}" for at, what in sorted(words)[-14:])


def first_missed(trial):
    """When the first trade was made that came only after the word, by this program's clock; None where no ids tell it."""
    before = [identity for heard in trial.events if heard.is_data and heard.at < trial.told.at for identity in heard.data["ids"]]
    after = {identity: made for heard in trial.events if heard.is_data for identity, made in heard.data["ids"].items() if before and identity > max(before)}
    return after[min(after)] / 1000 - time.time() + time.monotonic() if after else None


def missing(trial):
    """Trades between the last before the fault and the last known that the reader was never given; the venue numbers them without a hole."""
    ids = [identity for heard in trial.events if heard.is_data for identity in heard.data["ids"]]
    before = [identity for heard in trial.events if heard.is_data and heard.at < trial.told.at for identity in heard.data["ids"]]
    return max(ids) - max(before) - len({identity for identity in ids if identity > max(before)}) if before else None
