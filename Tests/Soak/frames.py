"""The venue's messages as they came, read by hftbacktest: its book is the one that readers were told, at every update."""

import glob
import gzip
import json
import shutil
import subprocess
import tempfile
import time

import house
import restarts

LEVELS = 10
"""Levels of a side that are compared."""


def frames(pattern):
    """The update ids of a recording, each with the time of its message, in order; and the time of the first complete book."""
    updates, begun = [], None
    for path in sorted(glob.glob(pattern)):
        with gzip.open(path, "rt") as lines:
            for line in lines:
                at, _, message = line.partition(" ")
                message = json.loads(message)
                if "lastUpdateId" in message and begun is None:
                    begun = int(at)
                elif message.get("data", {}).get("e") == "depthUpdate":
                    updates.append((int(at), message["data"]["u"]))
    return updates, begun


def told(executable, tape, stream):
    """The book after each update that readers were told, by update id."""
    books, book = {}, {"bids": {}, "asks": {}}
    lines = subprocess.run([executable, "tape", "cat", tape, "--stream", stream], capture_output=True, text=True, check=True).stdout
    for line in lines.splitlines():
        event = json.loads(line)
        if event["event"] not in ("update", "fetch"):
            continue
        if event["kind"] == "full":
            book = {"bids": {}, "asks": {}}
        for side, levels in book.items():
            for price, quantity in event["content"][side]:
                if float(quantity):
                    levels[float(price)] = float(quantity)
                else:
                    levels.pop(float(price), None)
        books[event["content"]["lastUpdateId"]] = {side: sorted(levels.items(), reverse=side == "bids")[:LEVELS] for side, levels in book.items()}
    return books


def differences(file, updates, begun, books, tick, step):
    """How many books of hftbacktest were compared, and at which update ids they differ."""
    from hftbacktest import BacktestAsset, HashMapMarketDepthBacktest
    from hftbacktest.data.utils import binancefutures

    events = binancefutures.convert(file)
    asset = (BacktestAsset().data([events]).linear_asset(1.0).constant_order_latency(0, 0).risk_adverse_queue_model().no_partial_fill_exchange()
             .trading_value_fee_model(0, 0).tick_size(tick).lot_size(step))
    player = HashMapMarketDepthBacktest([asset])
    compared, differing = 0, []
    for at, update in updates:
        if player.elapse(at - player.current_timestamp):
            break
        if at < begun or update not in books:
            continue
        book, depth = books[update], player.depth(0)
        theirs = [depth.bid_qty_at_tick(round(price / tick)) for price, _ in book["bids"]] + [
            depth.ask_qty_at_tick(round(price / tick)) for price, _ in book["asks"]]
        ours = [quantity for _, quantity in book["bids"] + book["asks"]]
        tops = [depth.best_bid_tick, depth.best_ask_tick] == [round(book[side][0][0] / tick) for side in ("bids", "asks")]
        if not tops or any(abs(mine - other) > 1e-9 for mine, other in zip(ours, theirs)):
            differing.append(update)
        compared += 1
    return compared, differing


async def siege(options):
    faults = restarts.Faults()
    directory = tempfile.mkdtemp(prefix="tape-")
    venue = house.Exchange(options.executable, "--book-updates", options.rate, "--seed", options.seed % 100_000 + 1)
    symbols = venue.symbols(options.books)
    _, listing = venue.ask("GET", "/fapi/v1/exchangeInfo")
    filters = {row["symbol"]: {kind["filterType"]: kind for kind in row["filters"]} for row in listing["symbols"]}
    pinned = ",".join(f"{symbol.lower()}@{kind}" for symbol in symbols for kind in ("depth@100ms", "trade", "bookTicker"))
    gateway = house.Gateway(options.executable, venue, "--tape-directory", directory, "--tape-frames-bytes", 1 << 30, "--pinned", pinned)
    time.sleep(options.seconds)
    gateway.end()
    venue.end()
    total = 0
    for symbol in symbols:
        pattern = f"{directory}/frames/{symbol.lower()}_*.gz"
        joined = f"{directory}/{symbol}.gz"
        with open(joined, "wb") as whole:
            for path in sorted(glob.glob(pattern)):
                with open(path, "rb") as part:
                    shutil.copyfileobj(part, whole)
        updates, begun = frames(pattern)
        if options.control:
            forget(joined, updates[len(updates) // 2])
        if begun is None:
            faults.note(f"{symbol}: no complete book among {len(updates)} messages")
            continue
        tick, step = float(filters[symbol]["PRICE_FILTER"]["tickSize"]), float(filters[symbol]["LOT_SIZE"]["stepSize"])
        books = told(options.executable, directory, f"{symbol.lower()}@depth@100ms")
        compared, differing = differences(joined, updates, begun, books, tick, step)
        total += compared
        if differing:
            faults.note(f"{symbol}: the book differs at {len(differing)} of {compared} update ids, first at {differing[0]}")
        if compared < len(updates) - 5:
            faults.note(f"{symbol}: only {compared} of {len(updates)} messages could be compared")
    shutil.rmtree(directory, ignore_errors=True)
    print(f"hftbacktest's books of {len(symbols)} symbols were compared with ours at {total} update ids, {LEVELS} levels a side")
    return faults


def forget(path, update):
    """Takes a message out of a recording."""
    with gzip.open(path, "rt") as lines:
        kept = [line for line in lines if f'"u":{update[1]},' not in line]
    with gzip.open(path, "wt") as file:
        file.writelines(kept)


def main(options):
    return restarts.carry_out(options, siege, needs="hftbacktest")
