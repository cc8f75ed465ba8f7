"""A venue of one symbol whose mark price comes at an exact rate: each frame says when it was due (`i`, monotonic nanoseconds) and which it is (`T`)."""

import asyncio
import base64
import hashlib
import json
import multiprocessing
import time
import urllib.parse

STREAM = "btcusdt@markPrice"
INFO = {"timezone": "UTC", "rateLimits": [{"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": 2400}], "symbols": [
    {"symbol": "BTCUSDT", "pair": "BTCUSDT", "contractType": "PERPETUAL", "status": "TRADING", "baseAsset": "BTC", "quoteAsset": "USDT",
     "pricePrecision": 2, "quantityPrecision": 3, "filters": []}]}


def frame(text):
    data = text.encode()
    return bytes([0x81, len(data)]) + data if len(data) < 126 else b"\x81\x7e" + len(data).to_bytes(2, "big") + data


class Paced:
    def __init__(self, rate, leaves_out):
        self.rate, self.leaves_out, self.count, self.sockets = rate, leaves_out, 0, {}

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1")
                target = head.split(" ")[1]
                if "\r\nupgrade: websocket" in head.lower():
                    key = next(line.split(":")[1].strip() for line in head.split("\r\n") if line.lower().startswith("sec-websocket-key:"))
                    accept = base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()
                    writer.write(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
                    return await self.listen(reader, writer, urllib.parse.parse_qs(urllib.parse.urlsplit(target).query))
                body = INFO if "exchangeInfo" in target else self.row() if "premiumIndex" in target else {}
                text = json.dumps(body)
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.sockets.pop(writer, None)
            writer.close()

    def row(self):
        return {"symbol": "BTCUSDT", "markPrice": "1.0", "indexPrice": str(time.monotonic_ns()), "estimatedSettlePrice": "1.0", "lastFundingRate": "0.0001",
                "interestRate": "0.0001", "nextFundingTime": self.count, "time": time.time_ns() // 1_000_000}

    async def listen(self, reader, writer, query):
        names = self.sockets[writer] = {name for value in query.get("streams", ()) for name in value.split("/")}
        while True:
            head = await reader.readexactly(2)
            length = head[1] & 127
            if length == 126:
                length = int.from_bytes(await reader.readexactly(2), "big")
            mask = await reader.readexactly(4)
            data = bytes(byte ^ mask[place & 3] for place, byte in enumerate(await reader.readexactly(length)))
            if head[0] & 15 == 8:
                return
            if head[0] & 15 == 9:
                writer.write(bytes([0x8A, length]) + data)
            if head[0] & 15 == 1:
                message = json.loads(data)
                names.update(message.get("params", ()) if message["method"] == "SUBSCRIBE" else ())
                writer.write(frame(json.dumps({"result": None, "id": message["id"]})))

    async def pace(self):
        begin, number = time.monotonic_ns(), 0
        while True:
            due = begin + number * 1_000_000_000 // self.rate
            await asyncio.sleep(max(0, (due - time.monotonic_ns()) / 1e9))
            number += 1
            self.count += 1
            if self.leaves_out and number % self.leaves_out == 0:
                continue
            data = f'{{"e":"markPriceUpdate","E":{time.time_ns() // 1_000_000},"s":"BTCUSDT","p":"1.0","i":"{due}","P":"1.0","r":"0.0001","T":{self.count}}}'
            for writer, names in self.sockets.items():
                if STREAM in names:
                    writer.write(frame(f'{{"stream":"{STREAM}","data":{data}}}'))


async def run(pipe, *settings):
    venue = Paced(*settings)
    server = await asyncio.start_server(venue.serve, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await venue.pace()


class Venue:
    """In a process of its own. `leaves_out` n: every n-th frame is not sent."""

    def __init__(self, rate, leaves_out=None):
        ours, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=lambda: asyncio.run(run(theirs, rate, leaves_out)), daemon=True)
        self.process.start()
        self.host, self.port = "127.0.0.1", ours.recv()

    def end(self):
        self.process.kill()
        self.process.join()
