"""What docs/read/bots.md tells users to write, run as it stands but for the address."""

import json
import pathlib
import re
import shutil
import subprocess

import places
import stand

PAGE = stand.ROOT / "docs/read/bots.md"
ADDRESS = "http://127.0.0.1:8080"
AFTER = {
    "ccxt.binanceusdm": ("ccxt", "import ccxt", "rows = exchange.fetch_ohlcv('BTC/USDT:USDT', '1m', limit=3)"),
    "ccxt.aster": ("ccxt", "import ccxt", "rows = exchange.fetch_ohlcv('BTC/USDT:USDT', '1m', limit=3)"),
    "Client(ping": ("ccxt", "from binance.client import Client", "rows = client.futures_klines(symbol='BTCUSDT', interval='1m', limit=3); "
                    "client.futures_open_interest_hist(symbol='BTCUSDT', period='5m')"),
    "UMFutures(": ("connector", "from binance.um_futures import UMFutures", "rows = client.klines('BTCUSDT', '1m', limit=3)"),
}
"""By what a block holds: its environment, what comes before it, and a call after it that makes three `rows`."""
READ = ("nautilus_trader", "BinanceDataClientConfig")


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.S)


def freqtrade(base):
    """The part of freqtrade's `exchange` that the page gives, for another address."""
    return json.loads("{" + blocks("json")[0].replace(ADDRESS, base) + "}")


def main(options):
    venue = stand.Venue(options.executable)
    mirror = stand.Mirror(options.executable, venue, log=options.log) if options.mirror == "gateway" else venue
    base, faults, run = f"http://{mirror.host}:{mirror.port}", [], 0
    for block in blocks("python"):
        known = next((AFTER[word] for word in AFTER if word in block), None)
        if known is None:
            if not any(word in block for word in READ):
                faults.append(f"nothing is known about the example {block[:60]!r}")
            continue
        place, before, after = known
        python = places.python(place)
        if python is None:
            print(places.skipped(place), flush=True)
            continue
        script = "\n".join([before, block.replace(ADDRESS, base), after, "assert len(rows) == 3, rows"])
        done = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=60)
        run += 1
        if done.returncode:
            faults.append(f"{block.splitlines()[0]}: {done.stderr.strip().splitlines()[-1]}")
    for block in blocks("sh"):
        if block.startswith("curl") and shutil.which("curl"):
            done = subprocess.run(["sh", "-c", block.replace(ADDRESS, base)], capture_output=True, text=True, timeout=60)
            run += 1
            if " 200 " not in done.stdout.split("\n")[0] or not done.stdout.endswith("]]"):
                faults.append(f"{block.strip()}: {done.stdout[:160]!r}")
    print(f"{run} examples of {pathlib.Path(PAGE).relative_to(stand.ROOT)} run, {len(faults)} fail", flush=True)
    for server in {mirror, venue}:
        server.end()
    return stand.tell(faults)
