"""A venue that is well, beside as many processes that never rest as `--busy` says: nobody may be told that anything is wrong.

With `--control` some streams stall once for a quarter of a minute, which has to be told.
"""

import subprocess
import sys
import time

import ear
import house
import verdict

KINDS = ("depth@100ms", "bookTicker", "aggTrade", "markPrice@1s", "markPrice", "miniTicker", "ticker", "kline_1m")
SETTLE = 15
"""Seconds in which everything comes up, and what is usual is learned."""
ALL = ("!markPrice@arr", "!miniTicker@arr", "!bookTicker", "!assetIndex@arr", "btcusd@assetIndex")


def main(options):
    exchange = house.Exchange(options.executable, "--weight-limit", 100_000_000)
    gateway = house.Gateway(options.executable, exchange, log=options.log)
    streams = [f"{symbol.lower()}@{kind}" for symbol in exchange.symbols(options.symbols) for kind in KINDS] + list(ALL)
    listener = ear.Ear(gateway, streams[:200])
    time.sleep(SETTLE)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    try:
        alarms, ready, began = [], set(), time.monotonic()
        seen, ends, stalled = began, began + options.minutes * 60, False
        while time.monotonic() < ends and not listener.lost:
            time.sleep(1)
            now = time.monotonic()
            for stream in listener.heard:
                for heard in listener.of(stream, seen):
                    if heard.at < now and heard.tells:
                        alarms.append(f"{stream} after {heard.at - began:.0f} s: {heard.name} {heard.data}")
            seen = now
            ready.update(gateway.ask("GET", "/readyz")[:1])
            if options.control and not stalled and ends - now < max(40, options.minutes * 30):
                stalled = True
                exchange.fault("stall", streams=list(listener.heard)[:8], forMs=15_000)
    finally:
        for process in busy:
            process.kill()
    events = sum(len(heard) for heard in listener.heard.values())
    silent = [stream for stream, heard in listener.heard.items() if not any(one.is_data for one in heard)]
    print(f"{options.minutes:g} minutes of {len(listener.heard)} streams beside {options.busy} busy processes: {len(alarms)} false alarms; /readyz {sorted(ready)}")
    faults = [f"told without a reason: {alarm}" for alarm in alarms[:20]] + [f"nothing ever came of {stream}" for stream in silent]
    if ready != {200}:
        faults.append(f"/readyz answered {sorted(ready)}")
    if not events or listener.lost:
        faults.append(f"the reader's connection ended: {listener.lost}")
    listener.end()
    if (status := (gateway.end(), exchange.end())) != (0, 0):
        faults.append(f"the gateway and the exchange ended with {status}")
    return verdict.tell(faults)
