"""Ten thousand readers of one stream at a steady rate, counted by the benchmarks' reader. With `--control` the venue leaves frames out."""

import json
import os
import pathlib
import subprocess

import house
import paced
import verdict

PACKAGE = pathlib.Path(__file__).resolve().parents[2]


def tool():
    """The benchmarks' reader, built; None if it does not build."""
    build = ["swift", "build", "-c", "release", "--package-path", PACKAGE, "--product", "crowd"]
    tools = os.environ | {"WITH_TOOLS": "1"}
    if subprocess.run(build, stdout=subprocess.DEVNULL, env=tools).returncode:
        return None
    folder = subprocess.run([*build, "--show-bin-path"], capture_output=True, text=True, check=True, env=tools).stdout.strip()
    return f"{folder}/crowd"


def measured(crowd, gateway, readers, seconds):
    """What so many readers of a paced venue's stream saw; in words if they ended otherwise."""
    command = [crowd, gateway.port, paced.STREAM, "--readers", readers, "--seconds", seconds, "--sequence", "nextFundingTime",
               "--stamp", "indexPrice", "--pid", gateway.process.pid]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return f"the readers ended with {done.returncode}: {done.stdout}{done.stderr}"


def main(options):
    if not (crowd := tool()):
        return verdict.tell(["the benchmarks' reader does not build"])
    venue = paced.Venue(options.rate, options.leaves_out)
    gateway = house.Gateway(options.executable, venue, log=options.log)
    seen = measured(crowd, gateway, options.readers, options.seconds)
    status = gateway.end()
    venue.end()
    if isinstance(seen, str):
        return verdict.tell([seen])
    due = options.readers * options.rate * options.seconds
    print(f"{seen['readers']} readers, {options.rate} events/s each, {options.seconds} s: {seen['events']} of about {due:.0f} deliveries,", end=" ")
    print(f"{seen['missing']} missing, {seen['repeated']} repeated, {seen['disordered']} out of order, {seen['ended']} readers ended;", end=" ")
    print(f"p50 {seen['p50Ms']} ms, p99 {seen['p99Ms']} ms; {seen['kibPerReader']:.1f} KiB a reader; {seen['cores']:.2f} cores")
    faults = [f"{seen[name]} {name}" for name in ("missing", "repeated", "disordered", "ended") if seen[name]]
    if status:
        faults.append(f"the gateway ended with {status}")
    if seen["events"] <= 0.98 * due:
        faults.append(f"only {seen['events']} of about {due:.0f} deliveries")
    if seen["p99Ms"] >= 250:
        faults.append(f"p99 {seen['p99Ms']} ms")
    if seen["kibPerReader"] >= 20 and options.readers >= 5000:
        faults.append(f"{seen['kibPerReader']:.1f} KiB a reader")
    return verdict.tell(faults)
