"""The venue with the fault: each fault, and its end."""

import asyncio
import json
import multiprocessing
import signal
import time

import house
import paced
import stand

RETRY_AFTER = 5
"""Seconds that the venue asks a banned address to wait."""
OVERWHELMING = 20
"""How many times as fast the flood of the control is: more than the gateway's thread can read."""


class Simulated(stand.Venue):
    """The simulated exchange. It can be started again at the same port."""

    streams = [f"{symbol}@{kind}" for symbol in ("btcusdt", "ethusdt", "bnbusdt") for kind in ("bookTicker", "aggTrade", "depth@100ms")] + [
        "btcusdt@markPrice@1s", "btcusdt@openInterest@10s"]

    def __init__(self, options):
        self.arguments = (options.executable, "demo-exchange", "--weight-limit", 100_000_000, "--seed", options.seed % 100_000 + 2, "--port")
        house.Program.__init__(self, *self.arguments, 0)

    def start_again(self):
        house.Program.__init__(self, *self.arguments, self.port)


class Killed(Simulated):
    """The process ends, and starts again."""

    def begin(self, gateway):
        self.process.kill()
        self.process.wait()

    def heal(self):
        self.start_again()


class Stalled(Simulated):
    """The sockets stay open and are silent."""

    def begin(self, gateway):
        self.signal(signal.SIGSTOP)

    def heal(self):
        self.signal(signal.SIGCONT)


class Banned(Simulated):
    """REST is answered 418 with Retry-After, on the connections that are open. Sockets are closed, and new connections are reset."""

    def begin(self, gateway):
        self.fault("rateLimit", status=418, retryAfter=RETRY_AFTER)
        # The gateway must learn of the ban before its connections end.
        gateway.ask("GET", "/binance/fapi/v1/trades?symbol=BTCUSDT")
        self.fault("drop", code=1008)
        self.fault("refuse")

    def heal(self):
        self.ask("POST", "/control/clear")


class Flood(paced.Paced):
    """A venue of one mark price. During a flood it sends `rate` frames a second, otherwise ten."""

    TICK = 0.001
    ROOM = 1 << 22
    """Bytes that may wait for a gateway that does not read them."""

    async def pace(self):
        begin, sent, self.flooding = time.monotonic(), 0, False
        while True:
            await asyncio.sleep(self.TICK if self.flooding else 0.1)
            now = time.monotonic()
            due = min(int((now - begin) * self.rate), self.rate // 10) if self.flooding else 1
            begin = now if due else begin
            frames = b"".join(paced.frame(self.text(number)) for number in range(self.count, self.count + due))
            self.count += due
            for writer, names in self.sockets.items():
                if paced.STREAM in names and writer.transport.get_write_buffer_size() < self.ROOM:
                    writer.write(frames)

    def text(self, number):
        now, price = time.time_ns() // 1_000_000, f"{number}.5"
        event = {"e": "markPriceUpdate", "E": now, "s": "BTCUSDT", "p": price, "i": "1.0", "P": "1.0", "r": "0.0001", "T": number}
        return json.dumps({"stream": paced.STREAM, "data": event}, separators=(",", ":"))


async def _flood(pipe, rate):
    venue = Flood(rate, None)
    server = await asyncio.start_server(venue.serve, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    asyncio.get_running_loop().add_reader(pipe.fileno(), lambda: setattr(venue, "flooding", pipe.recv()))
    await venue.pace()


class Flooded:
    """The process of a `Flood`."""

    streams = [paced.STREAM]

    def __init__(self, options):
        rate = options.rate * (OVERWHELMING if options.control else 1)
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=lambda: asyncio.run(_flood(theirs, rate)), daemon=True)
        self.process.start()
        self.host, self.port = "127.0.0.1", self.pipe.recv()

    def begin(self, gateway):
        self.pipe.send(True)

    def heal(self):
        self.pipe.send(False)

    def end(self):
        self.process.kill()
        self.process.join()
