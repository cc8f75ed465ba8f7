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
    row("Whatever is killed, nothing is lost in silence, told twice, out of order or wrong", "kills --kills 1000 --minutes 60", None,
        r"\d+ kills \(.*|\d+ resumes at .*|\d+ books equal .*|from the kill of .*", r"silent loss|a change before complete data|after \d+|a hole", control="--control",
        less="kills --kills 30 --readers 60 --stay 5"),
    *(fault(name, case) for name, case in matrix.CASES.items()),
]
