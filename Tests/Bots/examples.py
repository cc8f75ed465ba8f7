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
CCXT = """
async def watched():
    try:
        return [await exchange.watch_ticker("BTC/USDT:USDT") for _ in range(3)]
    finally:
        await exchange.close()
rows = asyncio.run(watched())"""
PYTHON_BINANCE = """
async def read():
    client = AsyncClient()
    async with BinanceSocketManager(client).symbol_mark_price_socket("BTCUSDT") as socket:
        rows = [await socket.recv() for _ in range(3)]
    await client.close_connection()
    return rows
rows = asyncio.run(read())"""
SDK = """
rows = []
async def read():
    client = DerivativesTradingUsdsFutures(config_ws_streams=config)
    connection = await client.websocket_streams.create_connection()
    stream = await connection.mark_price_stream(symbol="btcusdt", update_speed="1s")
    stream.on("message", rows.append)
    while len(rows) < 3:
        await asyncio.sleep(0.1)
    await connection.close_connection(close_session=True)
asyncio.run(read())
rows = rows[:3]"""
UNICORN = """
manager.create_stream("markPrice", "btcusdt", output="dict")
rows, deadline = [], time.monotonic() + 40
while len(rows) < 3 and time.monotonic() < deadline:
    row = manager.pop_stream_data_from_stream_buffer()
    rows += [row] if row else []
manager.stop_manager()"""
SOCKETS = {
    "ccxt.pro.binanceusdm": ("ccxt", "import asyncio, ccxt.pro", "ccxt.binanceusdm", CCXT),
    "ccxt.pro.aster": ("ccxt", "import asyncio, ccxt.pro", "ccxt.aster", CCXT),
    "BinanceSocketManager": ("ccxt", "import asyncio\nfrom binance import AsyncClient, BinanceSocketManager", None, PYTHON_BINANCE),
    "ConfigurationWebSocketStreams": (
        "sdk", "import asyncio\nfrom binance_common.configuration import ConfigurationWebSocketStreams\n"
        "from binance_sdk_derivatives_trading_usds_futures.derivatives_trading_usds_futures import DerivativesTradingUsdsFutures\nconfig = \\", None, SDK),
    "BinanceWebSocketApiManager": ("unicorn", "import time\nfrom unicorn_binance_websocket_api import BinanceWebSocketApiManager\nmanager = \\", None, UNICORN),
}
"""The same for sockets, and the block of the page with the REST addresses, if the client needs them."""
READ = ("nautilus_trader", "BinanceDataClientConfig")


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.S)


def freqtrade(base, sockets=False):
    """The members of freqtrade's `exchange` on the page, for another address. `sockets` adds the members that enable sockets."""
    given = {}
    for block in blocks("json")[:2 if sockets else 1]:
        text = block.replace(ADDRESS, base).replace(ADDRESS.replace("http", "ws"), base.replace("http", "ws"))
        given |= json.loads("{" + text + "}")
    return given


def main(options):
    venue = stand.Venue(options.executable)
    mirror = stand.Mirror(options.executable, venue, log=options.log) if options.mirror == "gateway" else venue
    base, faults, run = f"http://{mirror.host}:{mirror.port}", [], 0
    page = blocks("python")
    for block in page:
        known = next((AFTER[word] for word in AFTER if word in block), None)
        socket = next((SOCKETS[word] for word in SOCKETS if word in block), None)
        if known is None and socket is None:
            if not any(word in block for word in READ):
                faults.append(f"nothing is known about the example {block[:60]!r}")
            continue
        place, before, after = known or (*socket[:2], socket[3])
        if place in ("sdk", "unicorn") and options.few:
            continue
        if socket and socket[2]:
            # The block with the REST addresses, without its first line, which makes the exchange.
            rest = next(one for one in page if socket[2] in one)
            block += rest.partition("\n")[2]
        python = places.python(place)
        if python is None:
            print(places.skipped(place), flush=True)
            continue
        block = block.replace(ADDRESS, base).replace(ADDRESS.replace("http", "ws"), base.replace("http", "ws"))
        script = "\n".join([before, block, after, "assert len(rows) == 3, rows"])
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
