"""The checks by a plain client, each before an exchange and a gateway of its own."""

import random
import time

import cuts
import fleet
import hostile
import messages
import same
import stand
import starts

SYMBOLS = 8


class Stage:
    """An exchange, a gateway before it, and the symbols that the checks use."""

    def __init__(self, options, name, listed, *exchange_options):
        self.dice = random.Random(f"{options.seed} {name}")
        self.venue = stand.Venue(options.executable, listed, 100_000_000, "--seed", options.seed % 100_000 + 1, *exchange_options)
        linger = self.dice.choice((0, 2, 60)) if options.linger is None else options.linger
        print(f"{name}: linger {linger} s", flush=True)
        arguments = ["--venue", options.venue, "--lines", options.lines, "--linger", linger]
        if options.direct:
            self.gateway = self.venue
        else:
            self.gateway = stand.Mirror(options.executable, self.venue, *arguments, log=options.log and f"{options.log}.{name}")
        self.symbols = [symbol for symbol in self.venue.symbols(SYMBOLS + 4) if "_" not in symbol][:SYMBOLS]

    def fork(self):
        return random.Random(self.dice.random())

    def end(self):
        codes = [0 if self.gateway is self.venue else self.gateway.end() or 0, self.venue.end() or 0]
        return [f"the gateway and the exchange ended with {codes}"] if any(codes) else []


CHECKS = {
    "frames": (lambda stage, options: same.check(stage, options.frames), (24,)),
    "starts": (lambda stage, options: starts.check(stage, options.starts), (24, "--book-updates", 30)),
    "cuts": (lambda stage, options: cuts.check(stage, options.outages), (24, "--book-updates", 50)),
    "messages": (lambda stage, options: messages.check(stage), (24,)),
    "fleet": (lambda stage, options: fleet.check(stage, 64, 50, 60), (70, "--book-updates", 2)),
    "hostile": (lambda stage, options: hostile.check(stage, options.hostile_seconds), (24, "--book-updates", 100)),
}
"""Each check, and the options of its exchange: the number of symbols, and others."""


def main(options):
    print(f"seed {options.seed}", flush=True)
    faults = []
    for name in options.checks:
        run, exchange = CHECKS[name]
        begun = time.monotonic()
        stage = Stage(options, name, *exchange)
        try:
            found = run(stage, options)
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
            if options.trace:
                raise
        if stage.gateway.process.poll() is not None:
            found.append(f"the gateway ended by itself with {stage.gateway.process.returncode}")
        found += stage.end()
        print(f"{name}: {'passed' if not found else f'FAILED with {len(found)} faults'} in {time.monotonic() - begun:.0f} s", flush=True)
        faults += [f"{name}: {words[:600]}" for words in found[:8]]
    return stand.tell(faults)
