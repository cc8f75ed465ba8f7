"""Records a tape of the demo exchange, and what clients of the gateway's sockets were sent meanwhile."""

import json
import random
import threading
import time

import clients_of
import house
import places
import stand

SYMBOLS = ["BTCUSDT", "ETHUSDT", "SOLUSDT", "BNBUSDT", "XRPUSDT"]
STREAMS = [f"{symbol.lower()}@{kind}" for symbol in SYMBOLS for kind in ("depth@100ms", "aggTrade", "kline_1m", "bookTicker", "markPrice@1s")]
CUTS = (("drop", {}), ("stall", {"forMs": 12_000}), ("blackhole", {"forMs": 8_000}), ("refuse", {"forMs": 4_000}), ("drop", {"afterBytes": 3_000}))


def cut(exchange, dice, options, stopped):
    """Faults of the exchange at random times. `refuse` alone ends no connection, so one is dropped with it."""
    pause = options.minutes * 60 / (options.cuts + 1)
    for number in range(options.cuts):
        if stopped.wait(pause * dice.uniform(0.7, 1.2)):
            return
        name, parameters = CUTS[number % len(CUTS)]
        exchange.fault(name, **parameters)
        if name == "refuse":
            exchange.fault("drop")
        clients_of.say(f"cut {number}: {name} {parameters}")


def main(options):
    options.folder.mkdir(parents=True, exist_ok=True)
    dice, stopped = random.Random(options.seed), threading.Event()
    exchange = stand.Venue(options.executable, 24, 100_000_000, "--perpetuals-only", "--seed", options.seed % 1000)
    gateway = house.Gateway(
        options.executable, exchange, "--venue", "binance", "--tape-directory", options.folder / "tape", "--tape-messages", "--pinned",
        ",".join([*STREAMS, "!markPrice@arr@1s"]), log=str(options.folder / "gateway.log"))
    # Every stream is on the tape before its first reader comes.
    stand.wait(60, lambda: sum(row["state"] == "live" for row in gateway.ask("GET", "/streams")[1]["active"]) == len(STREAMS) + 1)
    time.sleep(3)
    plain = clients_of.Plain(gateway, STREAMS)
    plain.start()
    trader = None
    program = places.python("ccxt")
    if program:
        trader = clients_of.Trader(program, gateway, SYMBOLS[:2], ["live", "--seconds", str(int(options.minutes * 60))])
    else:
        clients_of.say(places.skipped("ccxt"))
    cutting = threading.Thread(target=cut, args=(exchange, dice, options, stopped), daemon=True)
    cutting.start()
    time.sleep(options.minutes * 60)
    stopped.set()
    live = trader.result() if trader else None
    plain.stop()
    gateway.end()
    exchange.end()
    (options.folder / "frames.json").write_text(json.dumps(plain.frames))
    if live:
        (options.folder / "live.json").write_text(json.dumps(live))
    clients_of.say(f"recorded {options.minutes} minutes: {sum(map(len, plain.frames.values()))} messages of {len(plain.frames)} streams, "
         f"{plain.ends} ends of the plain client's socket"
         + (f", {sum(map(len, live['books'].values()))} books of ccxt.pro" if live else ""))
    return bool(plain.frames)
