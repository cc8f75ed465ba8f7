"""Plain HTTP for many bots in one process."""

import asyncio

import stand


class Wire:
    """One kept connection. It connects when it is asked first, and again after it was lost."""

    def __init__(self, host, port, patience=40):
        self.host, self.port, self.patience, self.reader, self.writer = host, port, patience, None, None
        self.turn = asyncio.Lock()

    async def ask(self, target):
        """The answer, once those asked for before have come. A lost connection is an OSError."""
        async with self.turn:
            return await self._within_patience(target)

    async def _within_patience(self, target):
        try:
            return await asyncio.wait_for(self._ask(target), self.patience)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, ValueError) as error:
            self.close()
            raise OSError(f"{type(error).__name__} {error}") from None

    async def _ask(self, target):
        is_kept = self.writer is not None
        if not is_kept:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port, limit=1 << 22)
        self.writer.write(f"GET {target} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n".encode())
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (OSError, asyncio.IncompleteReadError):
            if not is_kept:
                raise
            self.close()
            return await self._ask(target)
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return stand.Reply(int(first.split()[1]), headers, body)

    def close(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None
