"""Virtual environments with the bots' packages from PyPI, under .build/bots. The two packages named `binance` cannot share one."""

import fcntl
import subprocess
import sys

import stand

PACKAGES = {
    "ccxt": ("ccxt==4.5.90", "python-binance==1.0.37"),
    "connector": ("binance-futures-connector==4.2.0",),
    "freqtrade": ("freqtrade==2026.9", "ccxt==4.5.90"),
    "sdk": ("binance-sdk-derivatives-trading-usds-futures==18.1.0",),
    "unicorn": ("unicorn-binance-websocket-api==2.16.1", "unicorn-binance-local-depth-cache==2.14.0"),
    "nautilus": ("nautilus_trader==1.231.0",),
    "cryptofeed": ("cryptofeed==2.4.1",),
    "polars": ("polars==2.1.0",),
    "duckdb": ("duckdb==2.0.1",),
    "hftbacktest": ("hftbacktest==2.4.4",),
}


def python(name):
    """The Python of the environment with these packages, made if it is not there; None where it cannot be made."""
    rooms = stand.ROOT / ".build/bots"
    rooms.mkdir(parents=True, exist_ok=True)
    # `make test` runs two programs side by side that need the same environment.
    with open(rooms / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return made(name, rooms / name)


def made(name, home):
    program = home / "bin/python"
    wanted = PACKAGES[name]
    probe = "import importlib.metadata as m\n" + "\n".join(f"assert m.version({package!r}) == {version!r}" for package, version in
                                                              (one.split("==") for one in wanted))
    if program.exists() and subprocess.run([program, "-c", probe], capture_output=True).returncode == 0:
        return program
    for command in ([sys.executable, "-m", "venv", home], [program, "-m", "pip", "install", "-q", *wanted]):
        if subprocess.run(command, capture_output=True).returncode != 0:
            return None
    return program


def skipped(name):
    return f"skipped: {' and '.join(PACKAGES[name])} cannot be installed from PyPI"
