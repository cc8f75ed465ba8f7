"""Bars of seconds through outages and restarts: those that polars makes of the exported trades, or marked as incomplete."""

import asyncio
import bisect
import shutil
import signal
import subprocess
import tempfile

import cutter
import house
import restarts

LENGTHS = ("1s", "5s", "15s", "30s")
FIGURES = ("open", "high", "low", "close", "volume", "quoteVolume", "takerBuyVolume", "takerBuyQuoteVolume")


def exported(executable, directory, stream):
    """The rows of all values and changes of a stream on the tape, in order."""
    import polars as pl

    path = f"{directory}/{stream}.ndjson"
    subprocess.run([executable, "tape", "export", directory, "--stream", stream, "--output", path], capture_output=True, check=True)
    return pl.scan_ndjson(path, infer_schema_length=None).filter(pl.col("event").is_in(["update", "fetch"])).select(pl.col("content").explode()).unnest("content")


def made(trades, length):
    """The bars that polars makes of trades."""
    import polars as pl

    quote, taker = pl.col("price") * pl.col("qty"), ~pl.col("isBuyerMaker")
    return trades.group_by_dynamic(pl.from_epoch("time", time_unit="ms").alias("start"), every=length).agg(
        open=pl.first("price"), high=pl.max("price"), low=pl.min("price"), close=pl.last("price"), volume=pl.sum("qty"), quoteVolume=quote.sum(),
        takerBuyVolume=pl.col("qty").filter(taker).sum(), takerBuyQuoteVolume=quote.filter(taker).sum(), firstId=pl.first("id"), lastId=pl.last("id"),
        count=(pl.col("lastTradeId") - pl.col("firstTradeId") + 1).sum(),
    ).with_columns(openTime=pl.col("start").dt.epoch("ms"))


def compare(executable, directory, symbol, faults, control):
    """How many bars are equal, marked, still open, and missing in a hole."""
    import polars as pl

    trades = exported(executable, directory, f"{symbol}@aggTrade").unique("id").sort("id").with_columns(pl.col("price", "qty").cast(pl.Float64)).collect()
    if control:
        trades = trades.filter(pl.col("id") != trades["id"][len(trades) // 2])
    equal, marked, still, lacking = 0, 0, 0, 0
    for length in LENGTHS:
        truth = {row["openTime"]: row for row in made(trades, length).to_dicts()}
        # What is told last of a bar is what it is.
        ours = {row["openTime"]: row for row in exported(executable, directory, f"{symbol}@bar_{length}").collect().to_dicts()}
        for start, bar in sorted(ours.items()):
            if not bar["isComplete"]:
                marked += 1
            elif not bar["isClosed"]:
                still += 1
            elif (true := truth.get(start)) is None:
                faults.note(f"{symbol}@bar_{length}: no trade is of the bar {start}")
            else:
                wrong = [name for name in FIGURES if abs(float(bar[name]) - true[name]) > 1e-9 * max(1, abs(true[name]))]
                wrong += [name for name in ("firstId", "lastId", "count") if bar[name] != true[name]]
                if wrong:
                    faults.note(f"{symbol}@bar_{length}: the bar {start} differs in {wrong}: {bar} for {true}")
                equal += not wrong
        # The bars begin with the oldest trade that REST told for them, which trades alone may not have.
        starts = sorted(ours)
        for start in truth:
            place = bisect.bisect(starts, start)
            if place == 0 or start in ours:
                continue
            ends = starts[place - 1:place + 1]
            # A hole that could not be filled has no bars, and both of its ends are marked.
            if len(ends) == 2 and not any(ours[end]["isComplete"] for end in ends):
                lacking += 1
            else:
                faults.note(f"{symbol}@bar_{length}: the bar {start} is missing, and {ends} are not both marked")
    return equal, marked, still, lacking


async def siege(options):
    faults = restarts.Faults()
    directory = tempfile.mkdtemp(prefix="tape-")
    venue = house.Exchange(options.executable, "--book-updates", options.rate, "--seed", options.seed % 100_000 + 1)
    between = cutter.Cutter(venue.host, venue.port)
    symbols = [symbol.lower() for symbol in venue.symbols(options.markets)]
    pinned = ",".join(f"{symbol}@{kind}" for symbol in symbols for kind in ("aggTrade", *(f"bar_{length}" for length in LENGTHS)))
    arguments = ["--tape-directory", directory, "--pinned", pinned]
    gateway = house.Gateway(options.executable, between, *arguments)
    pause, kills = options.minutes * 60 / (options.outages + options.kills + 1), 0
    ends = ["outage"] * options.outages + ["kill"] * options.kills
    options.dice.shuffle(ends)
    for end in ends:
        await asyncio.sleep(pause)
        if end == "outage":
            between.strike(cutter.Strike("now", options.dice.choice(("reset", "fin"))))
            continue
        gateway.signal(signal.SIGKILL)
        await asyncio.get_running_loop().run_in_executor(None, gateway.process.wait)
        gateway, kills = house.Gateway(options.executable, between, *arguments), kills + 1
    await asyncio.sleep(pause)
    gateway.end()
    venue.end()
    told = [compare(options.executable, directory, symbol, faults, options.control) for symbol in symbols]
    equal, marked, still, lacking = map(sum, zip(*told))
    shutil.rmtree(directory, ignore_errors=True)
    if marked > len(symbols) * len(LENGTHS) * (1 + 2 * kills):
        faults.note(f"{marked} bars are marked as incomplete, though an outage can be filled in")
    print(f"{options.outages} outages and {kills} kills in {options.minutes:g} minutes: {equal} closed bars of {len(symbols)} symbols equal those of polars, "
          f"{marked} are marked as incomplete, {lacking} lie in holes between such, {still} were still open")
    return faults


def main(options):
    return restarts.carry_out(options, siege, needs="polars")
