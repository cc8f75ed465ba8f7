"""freqtrade itself, unmodified, many processes in futures dry-run, with a kill -9 of the gateway in the middle."""

import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import crowd
import examples
import places
import stand

MORE = 1.5
"""How much more than one cold start the venue may see of a restart."""
PATIENCE = 240
"""Seconds that the bots may take until they run: each loads for a minute where 16 share two processors."""
STARTED = 45
"""Seconds after the last bot ran in which the crowd is still starting."""
AROUND = 20
"""Seconds after a kill in which bots may say that the gateway was gone."""
BAD = re.compile(
    r" - (ERROR|CRITICAL) - |^Traceback"
    r"| - WARNING - .*(\b418\b|\b429\b|DDoS|Outdated|Empty candle|[Rr]etrying|[Cc]ould not|Error|returned exception)")
"""A line of the log that tells of trouble."""
STAMP = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})")
FOR_TRADES = ("markPriceKlines", "fundingRate")
"""What freqtrade asks for open trades, which no stream has."""
ONCE = ("fundingRate",)
"""Of those, what holds for an hour once it has rows. The bars' last one is open, so they are asked for again."""
SOCKETS = re.compile(r'^futures_gateway_socket_connections\{form="\w+"\} (\d+)', re.M)
STRATEGY = '''from freqtrade.strategy import IStrategy


class Everything(IStrategy):
    """Enters and leaves all the time, so that books and funding are asked for."""

    INTERFACE_VERSION = 3
    timeframe = "1m"
    can_short = True
    minimal_roi = {"0": 0.002}
    stoploss = -0.05
    startup_candle_count = 30

    def populate_indicators(self, dataframe, metadata):
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        minute = dataframe["date"].dt.minute
        dataframe.loc[minute % 2 == 0, "enter_long"] = 1
        dataframe.loc[minute % 2 == 1, "enter_short"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["date"].dt.minute % 3 == 0, ["exit_long", "exit_short"]] = 1
        return dataframe
'''


def configuration(base, pairs, sockets):
    """What a user writes. What docs/read/bots.md adds for the gateway is the only thing that is ours."""
    side = {"price_side": "same", "use_order_book": True, "order_book_top": 1}
    return {
        "dry_run": True, "trading_mode": "futures", "margin_mode": "isolated", "max_open_trades": 3, "stake_currency": "USDT", "stake_amount": 200,
        "dry_run_wallet": 10_000, "timeframe": "1m", "entry_pricing": side, "exit_pricing": side, "bot_name": "bot", "initial_state": "running",
        "exchange": {"name": "binance", "pair_whitelist": [f"{pair[:-4]}/USDT:USDT" for pair in pairs], "pair_blacklist": [],
                     **examples.freqtrade(base, sockets)},
        "pairlists": [{"method": "StaticPairList"}], "internals": {"process_throttle_secs": 5, "heartbeat_interval": 60},
    }


class Bot:
    def __init__(self, folder, number, python):
        self.log = folder / f"bot{number}.log"
        # Two that make the folders of one user at once fail.
        home = folder / f"user{number}"
        (home / "strategies").mkdir(parents=True, exist_ok=True)
        (home / "strategies/everything.py").write_text(STRATEGY)
        command = [python.parent / "freqtrade", "trade", "--userdir", home, "-c", folder / "config.json", "-s", "Everything",
                   "--db-url", "sqlite://"]
        environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()} | {"OMP_NUM_THREADS": "1", "COLUMNS": "400"}
        self.process = subprocess.Popen(
            ["nice", "-n", "5", *map(str, command)], stdout=open(self.log, "w"), stderr=subprocess.STDOUT, env=environment, cwd=folder)

    def lines(self):
        """(time, line) of the log."""
        at = 0.0
        for line in self.log.read_text(errors="replace").splitlines():
            if found := STAMP.match(line):
                at = time.mktime(time.strptime(found[1], "%Y-%m-%d %H:%M:%S")) + int(found[2]) / 1000
            yield at, line

    def trades(self):
        text = self.log.read_text(errors="replace")
        return len(re.findall(r"'type': entry_fill", text)), len(re.findall(r"'type': exit_fill", text))

    def is_running(self):
        return "state='RUNNING'" in self.log.read_text(errors="replace")

    def beats(self):
        """When it said that it lives."""
        return [at for at, line in self.lines() if "heartbeat" in line]

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def pause(seconds, bots):
    """Waits; says which bots have ended before their time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(1)
    return [number for number, bot in enumerate(bots) if bot.process.poll() is not None]


def late(bots):
    """The numbers of those that do not run in time."""
    stand.wait(PATIENCE, lambda: all(bot.is_running() or bot.process.poll() is not None for bot in bots), 1)
    return [number for number, bot in enumerate(bots) if not bot.is_running()]


def resyncs(gateway):
    """What the gateway says went wrong with its books, for a weight that nobody asked for."""
    _, listing = gateway.ask("GET", "/streams")
    for name in (stream["stream"] for stream in listing["active"] if "@depth" in stream["stream"]):
        _, told = gateway.ask("GET", f"/streams/{name}/status")
        for incident in told.get("incidents", []):
            print(f"{name}: {json.dumps(incident)}", flush=True)


def open_sockets(gateway):
    return sum(map(int, SOCKETS.findall(gateway.ask("GET", "/metrics")[1])))


def tell_sockets(bots, before, after):
    """How many sockets were open before the restart and at the end, and how often bots took bars from REST instead."""
    instead = sum(bot.log.read_text(errors="replace").count("falling back to REST") for bot in bots)
    print(f"sockets: {before} before the restart, {after} at the end; bots fell back to REST {instead} times", flush=True)
    return [f"{count} sockets {when} for {len(bots)} bots" for when, count in (("before the restart", before), ("at the end", after))
            if count < len(bots)]


def repeated(asked, has_rows, keeps=ONCE):
    """The repeated requests whose first answer was still valid. The gateway keeps an empty answer for only 10 s, because the venue may add rows."""
    return {target: times for target, times in asked.items() if stand.endpoint(target) in keeps and times > 1 and has_rows(target)}


def main(options):
    python = places.python("freqtrade")
    if python is None:
        print(places.skipped("freqtrade"))
        return True
    print(f"seed {options.seed}", flush=True)
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="bots-"))
    folder.mkdir(parents=True, exist_ok=True)
    venue = stand.Venue(options.executable, options.symbols, 2400)
    pairs = [symbol for symbol in venue.symbols(options.symbols) if "_" not in symbol and symbol.endswith("USDT")][:options.pairs]
    gateway = crowd.make(options, venue)
    port = gateway.port
    (folder / "config.json").write_text(json.dumps(configuration(f"http://{gateway.host}:{port}", pairs, options.sockets), indent=1))
    before, bots = stand.Account(venue, gateway), []
    begin = time.time()
    for number in range(options.bots):
        bots.append(Bot(folder, number, python))
        time.sleep(1.5)
    faults = [f"bot {number} did not start within {PATIENCE} s" for number in late(bots)]
    faults += [f"bot {number} ended" for number in pause(STARTED, bots)]
    started_at, started = time.time(), stand.Account(venue, gateway)
    half = options.minutes * 30
    faults += [f"bot {number} ended" for number in pause(half, bots)]
    # A minute of its own for the restart: the venue counts weight by the minute.
    time.sleep(max(0, 62 - time.time() % 60))
    killed_at, killed = time.time(), stand.Account(venue, gateway)
    if options.mirror == "gateway":
        sockets = open_sockets(gateway)
        resyncs(gateway)
        gateway.signal(signal.SIGKILL)
        gateway.process.wait()
        gateway = stand.Mirror(options.executable, venue, port=port, log=options.log)
    faults += [f"bot {number} ended" for number in pause(60, bots)]
    restarted = stand.Account(venue, gateway)
    faults += [f"bot {number} ended" for number in pause(max(0, half - 60), bots)]
    ended_at, ended = time.time(), stand.Account(venue, gateway)
    if options.mirror == "gateway":
        resyncs(gateway)
        if options.sockets:
            faults += tell_sockets(bots, sockets, open_sockets(gateway))
    for bot in bots:
        bot.process.poll() is None and bot.process.send_signal(signal.SIGINT)
    for bot in bots:
        bot.end()
    lengths = killed_at - started_at, ended_at - killed_at - 60
    first = started.since(before), killed.since(started)
    if options.mirror == "gateway":
        # The new process counts from zero.
        killed.spent.clear()
    parts = first, (restarted.since(killed), ended.since(restarted))
    line = venue.line()
    faults += tell_weights(parts, lengths, lambda target: bool(json.loads(line.ask(target).body)))
    line.close()
    faults += tell_logs(bots, killed_at, ended_at)
    print(f"{options.bots} freqtrade processes of {len(pairs)} pairs, {(ended_at - begin) / 60:.1f} minutes in all", flush=True)
    codes = [gateway.end() or 0, venue.end()]
    if any(codes):
        faults.append(f"the gateway and the exchange ended with {codes}")
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return stand.tell(faults)


def contents(part):
    """The requests of complete books and bars in a part. Requests of two bars or fewer levels only check a silence or a book."""
    return {target for target in part.asked
            if stand.endpoint(target) == "depth" and "limit=1000" in target or stand.endpoint(target) == "klines" and not target.endswith("limit=2")}


def tell_weights(parts, seconds, has_rows):
    """Prints the venue's requests, and returns faults. In each run, the gateway may request each content once, also long after its start.

    `parts` is a start and the time after it, for each of the two runs.
    """
    faults, starts = [], []
    for name, (start, later), length in zip(("before the restart", "after it"), parts, seconds):
        begun = contents(later) - contents(start)
        trades = collections.Counter({target: times for target, times in later.asked.items() if stand.endpoint(target) in FOR_TRADES})
        starts.append(start.for_bots + stand.cost({target: 1 for target in begun}))
        caused = later.for_bots - stand.cost(trades) - stand.cost({target: 1 for target in begun})
        print(f"start {name}: weight {starts[-1]} for bots: {start.for_bots} at once ({stand.by_endpoint(start.asked)}), the rest for {len(begun)} contents later")
        print(f"{name}, {length / 60:.1f} minutes: {later.told()}; for their open trades, which no stream has, {stand.by_endpoint(trades)}; "
              f"{len(begun)} contents were begun; the rest is {caused}", flush=True)
        if caused > 0:
            faults.append(f"{name} bots caused weight {caused} at the venue: {dict(later.asked.most_common(8))}")
        if twice := repeated(trades, has_rows):
            faults.append(f"{name} the venue was asked twice: {dict(list(twice.items())[:3])}")
    print(f"the restart weighed {starts[1] / max(1, starts[0]):.2f} of the cold start", flush=True)
    if starts[1] > MORE * starts[0]:
        faults.append(f"the restart weighed {starts[1]}, the cold start {starts[0]}")
    return faults


def tell_logs(bots, killed_at, ended_at):
    """What the bots said of errors, and that they traded and went on."""
    faults, around, entries, exits, kinds = [], 0, 0, 0, collections.Counter()
    for number, bot in enumerate(bots):
        for at, line in bot.lines():
            found = BAD.search(line)
            if not found or at > ended_at:
                continue
            if killed_at - 1 <= at <= killed_at + AROUND:
                around += 1
                kinds[re.sub(r"[\d.]+", "N", line[26:].split(" - ", 1)[-1])[:70]] += 1
            else:
                faults.append(f"bot {number}: {line[:260]}")
        filled = bot.trades()
        entries, exits = entries + filled[0], exits + filled[1]
        if not filled[0]:
            faults.append(f"bot {number} never traded")
        if not any(at > killed_at + AROUND for at in bot.beats()):
            faults.append(f"bot {number} did not go on after the restart")
    print(f"logs: {len(faults)} faults; {around} lines in the {AROUND} s in which the gateway was gone and came back {dict(kinds.most_common(4))}; "
          f"{entries} entries and {exits} exits filled", flush=True)
    return faults
