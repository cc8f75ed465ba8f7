"""A network between two programs that can fail: a TCP proxy that falls silent, comes back, or is slow."""

import asyncio
import threading


class Wire:
    """Leads to a port of this machine from `port`. While it is held nothing goes either way and nobody is told, as if a cable were pulled.

    `delay` is in seconds, one way.
    """

    loop = None

    def __init__(self, port, target, delay=0.0):
        self.port, self.target, self.delay = port, target, delay
        self.open = None
        if not Wire.loop:
            Wire.loop = asyncio.new_event_loop()
            threading.Thread(target=Wire.loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(self.listen(), Wire.loop).result()

    async def listen(self):
        self.open = asyncio.Event()
        self.open.set()
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", self.port)

    async def accept(self, near, writer):
        try:
            far, other = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            return writer.transport.abort()
        ways = [asyncio.create_task(self.carry(near, other)), asyncio.create_task(self.carry(far, writer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for end in (writer, other):
            end.transport.abort()

    async def carry(self, source, sink):
        """What is on its way stays in order, however long it takes."""
        on_its_way = asyncio.Queue(64)

        async def arrive():
            while True:
                due, data = await on_its_way.get()
                await asyncio.sleep(max(0, due - self.loop.time()))
                await self.open.wait()
                sink.write(data)
                await sink.drain()

        arriving = asyncio.create_task(arrive())
        try:
            while data := await source.read(1 << 16):
                await self.open.wait()
                if self.delay:
                    await on_its_way.put((self.loop.time() + self.delay, data))
                else:
                    sink.write(data)
                    await sink.drain()
        except OSError:
            pass
        finally:
            arriving.cancel()

    def hold(self):
        self.loop.call_soon_threadsafe(self.open.clear)

    def release(self):
        self.loop.call_soon_threadsafe(self.open.set)
