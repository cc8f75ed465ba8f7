"""One client library, unmodified, that follows streams through the gateway. It runs inside the environment that has the library.

    driver.py CLIENT GATEWAY EXCHANGE --seconds N --symbols BTCUSDT,ETHUSDT

GATEWAY and EXCHANGE are HOST:PORT. The last line of the output is the verdict as JSON.
"""

import argparse
import asyncio
import faulthandler
import logging
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
from drivers import ccxt_pro, cryptofeed_feed, nautilus, python_binance, sdk, unicorn  # noqa: E402
from drivers.verdict import Logs, Verdict  # noqa: E402

# Files of this folder must not hide the libraries' own modules.
sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != HERE]

RUNS = {
    "binanceusdm": ("ccxt", lambda verdict: asyncio.run(ccxt_pro.ccxt(verdict, "binanceusdm"))),
    "aster": ("ccxt", lambda verdict: asyncio.run(ccxt_pro.ccxt(verdict, "aster"))),
    "sdk": ("binance-sdk-derivatives-trading-usds-futures", lambda verdict: asyncio.run(sdk.sdk(verdict))),
    "python-binance": ("python-binance", lambda verdict: asyncio.run(python_binance.python_binance(verdict))),
    "unicorn": ("unicorn-binance-local-depth-cache", lambda verdict: asyncio.run(unicorn.unicorn(verdict))),
    "cryptofeed": ("cryptofeed", cryptofeed_feed.cryptofeed),
    "nautilus": ("nautilus_trader", nautilus.nautilus),
}

if __name__ == "__main__":
    faulthandler.enable()
    parser = argparse.ArgumentParser()
    parser.add_argument("client", choices=list(RUNS))
    parser.add_argument("gateway")
    parser.add_argument("exchange")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--symbols", type=lambda text: text.split(","), default=["BTCUSDT", "ETHUSDT"])
    given = parser.parse_args()
    package, run = RUNS[given.client]
    judged = Verdict(given, package)
    logging.getLogger().addHandler(Logs(judged))
    try:
        run(judged)
    except Exception as failure:
        traceback.print_exc()
        judged.error(f"{type(failure).__name__}: {failure}")
    judged.finish([])
