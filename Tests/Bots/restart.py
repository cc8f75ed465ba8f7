"""The gateway is killed under a crowd and started again: the whole crowd returns at once, and the venue sees no burst."""

import asyncio
import signal
import time

import crowd
import stand

MORE = 1.5
"""How much more than one cold start the venue may see of a restart."""
BACK = 10
"""Seconds within which all bots have all candles again."""


def main(options):
    print(f"seed {options.seed}", flush=True)
    venue = stand.Venue(options.executable, options.symbols, 2400)
    mirror = crowd.make(options, venue)
    port, before = mirror.port, venue.asked()
    bots = crowd.Crowd(mirror, crowd.plain(venue, options.pairs), options.bots, options.seed)
    new = []

    def again():
        """Kills and starts anew, on the same port."""
        if options.mirror == "gateway":
            mirror.signal(signal.SIGKILL)
            mirror.process.wait()
            new.append(stand.Mirror(options.executable, venue, port=port, log=options.log))

    async def play():
        took = await bots.start()
        await bots.rest()
        await asyncio.sleep(2)
        cold = venue.asked() - before
        running = asyncio.create_task(bots.run(options.seconds))
        await asyncio.sleep(options.seconds / 2)
        # A minute of its own for each start: the venue counts weight by the minute.
        await asyncio.sleep(max(0, 62 - time.time() % 60))
        bots.may_be_cut, counted, begin = True, venue.asked(), time.monotonic()
        await asyncio.to_thread(again)
        down = time.monotonic() - begin
        back = await bots.candles()
        await bots.rest()
        await asyncio.sleep(2)
        bots.may_be_cut = False
        warm = venue.asked() - counted
        await running
        return took, cold, down, back, warm

    took, cold, down, back, warm = asyncio.run(play())
    weights = stand.cost(cold), stand.cost(warm)
    print(f"{options.bots} bots of {len(bots.pairs)} pairs: a cold start of {took:.2f} s and weight {weights[0]} ({stand.by_endpoint(cold)})",
          flush=True)
    print(f"killed and back after {down:.2f} s; all bots had all candles {back:.2f} s later; weight {weights[1]} ({stand.by_endpoint(warm)}), "
          f"{weights[1] / max(1, weights[0]):.2f} of a cold start; {bots.said()}", flush=True)
    faults = list(bots.faults)
    if weights[1] > MORE * weights[0]:
        faults.append(f"a restart weighed {weights[1]}, a cold start {weights[0]}")
    if back > BACK:
        faults.append(f"all bots had all candles only after {back:.1f} s")
    for server in new or [mirror]:
        server.end()
    venue.end()
    return stand.tell(faults)
