"""How long after a stream's last byte its readers are told, for every way in which a venue falls silent."""

import random

import outages
import verdict

FAULTS = ("blackhole", "frozen", "half-open", "forgotten", "stalled")
TICKING = ("depth@100ms", "depth20@100ms")
"""Kinds of which ten frames come in a second; their readers are told within three."""
PERIODS = {"markPrice@1s": 1, "markPrice": 3, "assetIndex": 3}
"""Seconds, of what comes by the clock. What comes with the market has the longest gap that was seen for its period."""
PATIENCE = 25
"""Seconds for which what is late is waited for."""


def bound(trial, slack=0):
    """Within how many seconds of its last byte a stream's readers have to be told."""
    kind = outages.kind(trial.stream)
    if kind in TICKING:
        return 3 + slack
    return (2 * PERIODS[kind] + 2 if kind in PERIODS else 2 * trial.gap + 3) + slack


def main(options):
    results = outages.run(options.faults, work, options)
    faults = []
    for name in options.faults:
        if results[name] is None:
            faults.append(f"{name}: the trials ended before their time")
            continue
        trials, others = results[name]
        print(f"--- {name}: {len(trials)} trials" + (f", {others} streams beside them were told something" if others else ""))
        for kind, group in outages.by(trials, lambda trial: outages.kind(trial.stream)).items():
            times = [trial.told.at - max(trial.last[0], trial.fetched) for trial in group if trial.told and trial.last]
            bounds = sorted({round(bound(trial, options.slack), 1) for trial in group})
            print(f"{name}, {kind}: {outages.percentiles(times) if times else 'never told'} of {len(times)}, at most {bounds[0]:g} to {bounds[-1]:g} s")
            faults += filter(None, (wrong(trial, options.slack) for trial in group))
        if len(trials) < options.trials:
            faults.append(f"{name}: only {len(trials)} of {options.trials} trials")
    return verdict.tell(faults)


def work(fault, say, options):
    """(trials, how many of the streams that the fault did not meet were told something)"""
    scene, trials = outages.Scene(options, fault, random.Random(f"{options.seed} {fault}"), options.trials), []
    try:
        scene.settle(options.warm)
        while len(trials) < options.trials:
            new = scene.round(PATIENCE, 0)
            trials += new
            late = [words for trial in new if (words := wrong(trial, options.slack))]
            say(f"{len(trials)} trials" + (f", {len(late)} of the last wrong: {late[0]}" if late else ""))
            if late:
                break
    finally:
        scene.end()
    return trials, scene.others


def wrong(trial, slack=0):
    """What is wrong with a trial; None where nothing is."""
    if not trial.last:
        return f"{trial.fault}: {trial.stream}: the venue sent nothing before"
    if trial.alarm:
        return f"{trial.fault}: {trial.stream}: {trial.alarm.name} was told while all was well"
    if not trial.told:
        return f"{trial.fault}: {trial.stream}: not told within {PATIENCE} s"
    # What comes with the market is verified as long as REST confirms it.
    is_confirmed = trial.confirmed and outages.kind(trial.stream) not in (*TICKING, *PERIODS)
    took = trial.told.at - max(trial.last[0], trial.fetched, trial.confirmed if is_confirmed else 0)
    if took > bound(trial, slack):
        return f"{trial.fault}: {trial.stream}: told {took:.2f} s after its last byte or confirmation (at most {bound(trial, slack):.1f} s)"
    if not outages.is_back(trial.since):
        return f"{trial.fault}: {trial.stream}: not back within {outages.BACK} s"
    return None
