"""Planned changes of the venue connection under load: readers see data and nothing else. With `--control` the venue cuts it instead."""

import time

import cutter
import stage

KINDS = ("depth@100ms", "aggTrade", "trade", "bookTicker", "markPrice@1s")


def main(options):
    run = stage.Stage(options, KINDS, gateway=("--rotate-after", 86_400 if options.control else options.rotate_after))
    print(f"seed {options.seed}: {len(run.streams)} streams, a rotation every {options.rotate_after} s, {options.readers} readers", flush=True)
    run.require(60, run.all_valid, "the streams did not come up")
    run.listen(time.monotonic() + 5)
    before = dict(run.totals)
    sockets, lone = len(run.cutter.accepted), 0
    for number in range(1, options.rotations + 1):
        if options.control:
            run.listen(time.monotonic() + options.rotate_after)
            run.cutter.strike(cutter.Strike("now", "fin"))
        done = lambda: len(run.cutter.accepted) >= sockets + number
        if not run.require(2 * options.rotate_after + 15, done, f"rotation {number} did not come"):
            break
        most = 0
        until = time.monotonic() + 12
        while time.monotonic() < until and not run.court.faults:
            run.listen(time.monotonic() + 0.01)
            most = max(most, run.cutter.open_web_sockets())
            if most > 1 and run.cutter.open_web_sockets() == 1:
                break
        lone += most < 2
        if run.cutter.open_web_sockets() != 1:
            run.court.faults.append(f"{run.cutter.open_web_sockets()} connections are open after rotation {number}")
        run.listen(time.monotonic() + 3)
        for reader, totals in run.totals.items():
            if totals != before[reader]:
                run.court.faults.append(f"reader {reader}: rotation {number} was seen: {before[reader]} became {totals}")
        if run.court.faults:
            break
        if number % 5 == 0 or number <= 3:
            print(f"{number} rotations, {lone} without an overlap seen, {run.court.summary()}", flush=True)
    run.listen(time.monotonic() + 2)
    run.end()
    print(f"{len(run.cutter.accepted) - sockets} rotations, {run.events()} events read")
    return run.verdict()
