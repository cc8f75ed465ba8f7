"""Binance's own SDK, with a book that the driver keeps."""

import asyncio

from .verdict import Joined, RECONNECT


async def sdk(verdict):
    from binance_common.configuration import ConfigurationRestAPI, ConfigurationWebSocketStreams
    from binance_sdk_derivatives_trading_usds_futures.derivatives_trading_usds_futures import DerivativesTradingUsdsFutures
    base = verdict.options.gateway
    client = DerivativesTradingUsdsFutures(
        config_rest_api=ConfigurationRestAPI(api_key="", api_secret="", base_path=f"http://{base}"),
        config_ws_streams=ConfigurationWebSocketStreams(stream_url=f"ws://{base}", reconnect_delay=1000, reconnect_attempts=10))
    rest = client.rest_api
    ended = asyncio.Event()

    def fetch(symbol):
        reply = rest.order_book(symbol=symbol, limit=1000).data()
        return {"lastUpdateId": reply.last_update_id, "bids": reply.bids, "asks": reply.asks}

    def plain(data):
        return data.to_dict() if hasattr(data, "to_dict") else dict(data)

    async def follow(connection):
        connection.on_connection("close", lambda *words: ended.set())
        # After the venue's notice the library opens the connection and its streams again by itself.
        connection.on_connection("reconnect", lambda *words: verdict.reconnected())
        for symbol in verdict.options.symbols:
            book = Joined(verdict, symbol, lambda symbol=symbol: fetch(symbol))
            stream = await connection.aggregate_trade_streams(symbol=symbol.lower())
            stream.on("message", lambda data, symbol=symbol: verdict.trade(symbol, plain(data)["a"]))
            stream = await connection.diff_book_depth_streams(symbol=symbol.lower(), update_speed="100ms")
            stream.on("message", lambda data, book=book: book.take(plain(data)))
        first = verdict.options.symbols[0].lower()
        for kind, call, given in (("ticker", connection.individual_symbol_ticker_streams, {"symbol": first}),
                                  ("mark price", connection.mark_price_stream, {"symbol": first, "update_speed": "1s"}),
                                  ("bids and asks", connection.individual_symbol_book_ticker_streams, {"symbol": first}),
                                  ("ohlcv", connection.kline_candlestick_streams, {"symbol": first, "interval": "1m"}),
                                  ("tickers", connection.all_market_tickers_streams, {}),
                                  ("liquidations", connection.all_market_liquidation_order_streams, {})):
            stream = await call(**given)
            stream.on("message", lambda data, kind=kind: verdict.event(kind))

    # The library only reports the end of a connection without a notice.
    while verdict.left > 2:
        ended.clear()
        try:
            connection = await client.websocket_streams.create_connection()
            await follow(connection)
            await asyncio.wait_for(ended.wait(), verdict.left - 2)
        except asyncio.TimeoutError:
            listed = await connection.list_subscribe()
            verdict.note(f"LIST_SUBSCRIPTIONS: {str(listed)[:100]}")
            break
        except Exception as error:
            if not RECONNECT.search(f"{type(error).__name__} {error}"):
                verdict.error(f"{type(error).__name__}: {error}")
        verdict.reconnected()
        try:
            await connection.close_connection()
        except Exception as error:
            verdict.note(f"close_connection: {error}")
        await asyncio.sleep(1)
    verdict.finish(["trades", "books", "ticker", "mark price", "bids and asks", "ohlcv", "tickers"])
