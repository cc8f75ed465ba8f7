"""Rotations under load: readers see data and nothing else."""

import time

import kills


def main(options):
    run = kills.Run(options)
    print(f"seed {options.seed}: {len(run.streams)} books, {options.readers} readers, a rotation every {options.rotate_after} s, {options.rotations} of them", flush=True)
    if not run.listen(time.monotonic() + 60, run.all_valid):
        run.faults.append("the books did not come up within 60 s")
    run.connected_at = 0.0
    end = time.monotonic() + options.rotate_after * (options.rotations + 0.5)
    while time.monotonic() < end and not run.faults:
        run.listen(min(end, time.monotonic() + 300))
        print(f"{run.checked} books compared, {len(run.faults)} faults", flush=True)
    status, _ = run.gateway.ask("GET", "/streams/" + run.streams[0] + "/status")
    metrics = run.end()
    for reader, done in run.done.items():
        if done[1] or done[2] or done[3]:
            run.faults.append(f"reader {reader} was told of {done[2]} outages and {done[1]} recoveries")
    if run.connected_at:
        run.faults.append("a connect was told")
    counts = {name.removeprefix("futures_gateway_feed_"): int(value) for name, value in metrics.items() if "{" not in name}
    rotations = counts["rotations_total"]
    if rotations < options.rotations:
        run.faults.append(f"only {rotations} rotations")
    print(f"{rotations} rotations, {sum(done[0] for done in run.done.values())} events, {run.checked} books equal to the venue's; gateway: {counts}")
    for fault in run.faults:
        print("FAULT", fault)
    return not run.faults and status == 200
