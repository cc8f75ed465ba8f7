"""A gateway of aster, binance and hyperliquid."""

import json
import tempfile

import house

COINS = ("BTC", "ETH", "HYPE", "kPEPE")
"""The coins of the simulated Hyperliquid that its REST lists."""


def gateway(options, aster, binance, hyperliquid, *more):
    """A gateway of the three venues, each of which is a program with a `host` and a `port`."""
    place = f"{binance.host}:{binance.port}"
    upstreams = {"binance": {"kind": "futures", "restURLs": [f"http://{place}"], "webSocketURLs": [f"ws://{place}"]},
                 "hyperliquid": {"kind": "hyperliquid", "url": f"ws://{hyperliquid.host}:{hyperliquid.port}/ws"}}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(upstreams, file)
        file.flush()
        return house.Gateway(options.executable, aster, "--venue", "aster,binance,hyperliquid", "--upstreams", file.name, *more, log=options.log)
