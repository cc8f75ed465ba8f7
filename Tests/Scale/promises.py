"""What a cluster promises: the command of `scale` that shows it, and the same with the safety off, with the fault that this has to show."""

import dataclasses
import importlib.util

import engine
import matrix

_described = importlib.util.spec_from_file_location("soak_promises", engine.TESTS / "Soak/promises.py")
soak = importlib.util.module_from_spec(_described)
_described.loader.exec_module(soak)


def row(*words, **more):
    return dataclasses.replace(soak.Row(*words, **more), program="scale")


def fault(name, case):
    what, _, due = case.__doc__.partition(" | ")
    return row(f"{what[0].upper()}{what[1:]}: {due}", f"faults {name}", None, rf"{name}: .*", is_light=name != "long-gone")


ROWS = [
    row("Whichever process is killed, no event is lost silently, repeated, out of order or wrong", "kills --kills 1000 --minutes 60", None,
        r"\d+ kills \(.*|\d+ resumes at .*|\d+ books equal .*|from the kill of .*", r"silent loss|a change before complete data|after \d+|a hole", control="--control",
        less="kills --kills 30 --readers 60 --stay 5"),
    row("The same within twenty minutes", "kills --kills 300 --minutes 20", None,
        r"\d+ kills \(.*|\d+ resumes at .*|\d+ books equal .*|from the kill of .*", r"silent loss|a change before complete data|after \d+|a hole", control="--control",
        less="kills --kills 30 --readers 60 --stay 5"),
    row("Another ingest takes over 1.2 s after the last sign of life, and values are live within 3 s", "takeover --takeovers 20", None,
        r"from the last sign .*|others used .*"),
    row("A hot standby has live values of all streams 1.5 s after the last sign of life, also of more books than the weight gives",
        "takeover --takeovers 5 --hot --weight 600", None, r"from the last sign .*|others used .*", r"values of all streams came after \d+",
        control="--control", less="takeover --takeovers 1 --hot --weight 600"),
    row("The log adds at most 1 ms at p50 and 5 ms at p99, at 20,000 events/s", "latency --rate 20000", None, r"alone: .*|cluster: .*|added by .*|\d+ messages of .*"),
    row("The log adds at most 1 ms at p50 and 5 ms at p99, at 2,000 events/s", "latency --rate 2000", None, r"alone: .*|cluster: .*|added by .*|\d+ messages of .*"),
    row("An edge makes at least 0.95 of the deliveries of a gateway alone in the same processor time", "deliveries", None,
        r"alone: .*|edge: .*|in the same processor time .*"),
    row("Another edge costs the servers at most 20 us a message, and each of eight edges at most 5 % more time per event than a single one", "edges", None,
        r"\d+ edges: .*|a further edge costs .*"),
    row("If an edge dies, all of its readers resume exactly at another one, soon after their own retry", "crowd --readers 15000 --kills 60", None,
        r"\d+ proxies.*|\d+ edges of three were killed .*"),
    row("A distant region reads a mirror of the log, with the same ids and bytes", "regions", None, r"the far edge's readers .*|a reader that goes .*|the link was .*|the ingest was .*"),
    row("Servers of a version that is too old are refused, with their version in the message", "versions", None, r"nats-server [\d.]+: .*"),
    *(fault(name, case) for name, case in matrix.CASES.items()),
]
