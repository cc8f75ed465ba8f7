"""Runs of `soak` with a safety off: what they need, and whether they ended as they have to."""

import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "Tests/Faults"))

import faults as planted


def build_unsafe():
    """The executable whose safeties UNSAFE switches off: a copy of the tree, with the faults of Tests/Faults/faults.txt."""
    tree = ROOT / ".build/unsafe"
    tree.mkdir(parents=True, exist_ok=True)
    for old in tree.iterdir():
        if old.is_dir() and old.name != ".build":
            shutil.rmtree(old)
        elif old.is_file():
            old.unlink()
    for name in subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    planted.plant_switched(tree)
    build = ["swift", "build", "-c", "release", "--package-path", tree, "--product", "futures-gateway"]
    subprocess.run(build, check=True)
    return subprocess.run([*build, "--show-bin-path"], capture_output=True, text=True, check=True).stdout.strip() + "/futures-gateway"


def judge(row, status, output):
    """(whether the control noticed that the safety was off, and by the fault it has to show; in words). `status` None: it did not end in time."""
    faults = [line[6:] for line in output.splitlines() if line.startswith("FAULT ")]
    if status is None:
        return False, "it did not end in time"
    if "Traceback (most recent call last)" in output or "did not start" in output:
        return False, "it broke: " + output.strip().splitlines()[-1]
    if status == 0:
        return False, "NOT NOTICED"
    if not faults:
        return False, f"it ended with {status} and names no fault"
    if not re.search(row.fault, faults[0]):
        return False, f"another fault: {faults[0]}"
    return True, f"fails: {faults[0]}"
