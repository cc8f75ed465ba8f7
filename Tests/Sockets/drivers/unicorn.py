"""unicorn-binance-websocket-api and its local depth cache."""

import asyncio
import time

from .verdict import FRESH, strict


async def unicorn(verdict):
    from unicorn_binance_local_depth_cache import BinanceLocalDepthCacheManager
    from unicorn_binance_rest_api import BinanceRestApiManager
    from unicorn_binance_websocket_api import BinanceWebSocketApiManager
    base, exchange = verdict.options.gateway, "binance.com-futures"
    uris = {"websocket_base_uri": f"ws://{base}/", "restful_base_uri": f"http://{base}/", "websocket_api_base_uri": f"ws://{base}/"}

    class Rest(BinanceRestApiManager):
        """The constructor asks the spot exchange for its time, before any URL can be set."""

        def get_server_time(self):
            return {"serverTime": int(time.time() * 1000)}

        def get_used_weight(self, *words, **more):
            """Without the header X-MBX-USED-WEIGHT it returns None, and the depth cache fails on that."""
            used = super().get_used_weight(*words, **more)
            if used is None:
                verdict.error("/api/v3/ping has no header X-MBX-USED-WEIGHT, so the depth cache cannot start (TypeError at manager.py:598)")
            return used or {"status_code": 200, "timestamp": time.time(), "weight": 1}
    rest = Rest(exchange=exchange, warn_on_update=False, disable_colorama=True)
    rest.API_URL, rest.FUTURES_URL, rest.FUTURES_DATA_URL = f"http://{base}/api", f"http://{base}/fapi", f"http://{base}/futures/data"
    depth = BinanceLocalDepthCacheManager(exchange=exchange, ubra_manager=rest, warn_on_update=False, disable_colorama=True, init_interval=0.5,
                                          init_time_window=2)
    own = depth._process_stream_signals

    def signals(signal_type=None, stream_id=None, data_record=None, error_msg=None):
        if signal_type == "DISCONNECT":
            verdict.note(f"disconnected: {error_msg}")
            verdict.reconnected()
        if signal_type == "STREAM_UNREPAIRABLE":
            verdict.error(f"{signal_type}: {error_msg}")
        return True

    def both(**words):
        signals(**words)
        return own(**words)
    depth.ubwa.stop_manager()
    depth.ubwa = BinanceWebSocketApiManager(exchange=exchange, enable_stream_signal_buffer=True, process_stream_signals=both, warn_on_update=False,
                                            disable_colorama=True, close_timeout_default=2, ping_timeout_default=10, ping_interval_default=20, **uris)
    web = BinanceWebSocketApiManager(exchange=exchange, enable_stream_signal_buffer=True, process_stream_signals=signals, warn_on_update=False,
                                     disable_colorama=True, output_default="dict", **uris)

    def take(message):
        if "error" in message or "code" in message:
            return verdict.error(f"an answer: {message}")
        if "stream" not in message:
            return verdict.note("answers")
        data, kind = message["data"], message["stream"].partition("@")[2]
        if kind == "aggTrade":
            verdict.trade(data["s"], data["a"])
        else:
            verdict.event({"kline_1m": "ohlcv", "markPrice": "mark price", "bookTicker": "bids and asks"}.get(kind, kind))

    lower = [symbol.lower() for symbol in verdict.options.symbols]
    web.create_stream(["aggTrade", "kline_1m", "markPrice", "ticker"], lower, process_stream_data=take)
    web.create_stream(["bookTicker"], lower, process_stream_data=take)
    depth.create_depthcache(markets=verdict.options.symbols)
    out_since = {symbol: time.monotonic() for symbol in verdict.options.symbols}
    while verdict.left > 1:
        await asyncio.sleep(0.1)
        for symbol in verdict.options.symbols:
            market, state = symbol.lower(), depth.depth_caches.get(symbol.lower(), {})
            if not state.get("is_synchronized"):
                continue
            before = state["last_update_id"]
            bids, asks = dict(state["bids"]), dict(state["asks"])
            if state.get("is_synchronized") and before == depth.depth_caches[market]["last_update_id"]:
                # The library's thread changes the sides before the update id. It gets time to complete such a change, which the look below finds.
                await asyncio.sleep(0.005)
                if bids and asks:
                    out_since[symbol] = time.monotonic()
                    tops = strict.sides({k: v for k, v in bids.items() if float(v)}, {k: v for k, v in asks.items() if float(v)}, 20)
                    unchanged = before == depth.depth_caches[market]["last_update_id"] and tops == strict.sides(
                        {k: v for k, v in dict(state["bids"]).items() if float(v)}, {k: v for k, v in dict(state["asks"]).items() if float(v)}, 20)
                    if unchanged:
                        verdict.book(symbol, before, *tops)
    for symbol, since in out_since.items():
        if time.monotonic() - since > FRESH:
            verdict.error(f"the depth cache of {symbol} is not synchronized since {time.monotonic() - since:.0f} s")
    verdict.note(f"restarts of depth caches: {sum(depth.get_restart_count(symbol) for symbol in verdict.options.symbols)}")
    verdict.finish(["trades", "books", "ohlcv", "mark price", "ticker", "bids and asks"])
