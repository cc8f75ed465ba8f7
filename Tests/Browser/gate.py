"""A gateway and an exchange as programs, and a gate in front of it that counts, cuts and refuses."""
import asyncio
import json
import mimetypes
import os
import pathlib
import socket
import urllib.error
import urllib.parse
import urllib.request


# Another folder may be named, with a changed page, to see a check fail.
NAMED = os.environ.get("WEB_FROM_DISK", "")
WEB = pathlib.Path(NAMED) if "/" in NAMED else pathlib.Path(__file__).resolve().parents[2] / "Sources/FuturesGateway/Web"
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


class Disk:
    """Serves the files of the page from the source folder, and passes all other requests on to a gateway. For quick turns without a build: set WEB_FROM_DISK=1."""

    def __init__(self, gateway):
        self.gateway = gateway

    async def start(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            if self.gateway.process.returncode is not None:
                return writer.transport.abort()
            path = head.split(" ")[1].split("?")[0]
            name = {"/": "index.html", "/client.js": "client.js"}.get(path) or (path.removeprefix("/web/") if path.startswith("/web/") else None)
            if name and (WEB / name).is_file():
                body = b"export * from './web/client.js';\n" if path == "/client.js" else (WEB / name).read_bytes()
                kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0]
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Security-Policy: {POLICY}\r\nCache-Control: no-store\r\nAccess-Control-Allow-Origin: *\r\n"
                             f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
                await writer.drain()
                return writer.close()
            await forward(head, reader, writer, self.gateway.inner)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()


async def forward(head, reader, writer, port, flows=None):
    """Sends a request whose head was read to the gateway at a port, and its response back."""
    back, forth = await asyncio.open_connection("127.0.0.1", port)
    lines = [line for line in head.split("\r\n") if not line.lower().startswith("connection:")]
    forth.write("\r\n".join([lines[0], "Connection: close", *lines[1:]]).encode())
    await asyncio.gather(pass_on(back, writer, flows), pass_on(reader, forth, flows))


async def pass_on(reader, writer, flows=None):
    """Copies one direction of a connection, while the event `flows` is set."""
    try:
        while data := await reader.read(65536):
            if flows:
                await flows.wait()
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


class Gateway:
    """`futures-gateway serve --demo`, ended and started again at one port."""

    def __init__(self, executable, *options):
        self.executable, self.options, self.source, self.port, self.process = executable, options, ("--demo",), 0, None
        self.key, self.inner, self.disk = None, 0, None

    async def start(self, *source):
        """Serves the embedded exchange, or what `source` names."""
        self.source = source or self.source
        # The port of an ended program may be held for a moment by its last connections.
        for _ in range(50):
            self.process = await asyncio.create_subprocess_exec(
                self.executable, "serve", *self.source, "--port", str(self.inner), *self.options,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
            line = (await asyncio.wait_for(self.process.stdout.readline(), 30)).decode()
            if "http://" in line:
                self.port = self.inner = int(line.rsplit(":", 1)[1])
                if os.environ.get("WEB_FROM_DISK"):
                    self.disk = self.disk or await Disk(self).start()
                    self.port = self.disk
                return self
            await self.process.wait()
            await asyncio.sleep(0.1)
        raise RuntimeError("the gateway does not start")

    async def end(self, graceful=False):
        if self.process.returncode is None:
            (self.process.terminate if graceful else self.process.kill)()
        return await self.process.wait()

    async def get(self, path):
        """A JSON answer; None for an error."""
        def read():
            try:
                headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
                request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", headers=headers)
                with urllib.request.urlopen(request, timeout=10) as answer:
                    return json.load(answer)
            except (urllib.error.URLError, OSError):
                return None
        return await asyncio.to_thread(read)

    async def readers(self, stream):
        answer = await self.get(f"streams/{urllib.parse.quote(stream)}/status")
        return answer and answer["readers"]


class Exchange:
    """`futures-gateway demo-exchange`, whose faults a test chooses. `options` point a gateway to it."""

    def __init__(self, executable, *options):
        self.executable, self.flags = executable, options

    async def __aenter__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = await asyncio.create_subprocess_exec(
            self.executable, "demo-exchange", "--port", str(self.port), *self.flags, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
        await self.process.stdout.readline()
        self.options = f"--rest-url=http://127.0.0.1:{self.port}", f"--ws-url=ws://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_):
        self.process.terminate()
        await self.process.wait()

    async def fault(self, **body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/control/fault", json.dumps(body).encode(), method="POST")
        await asyncio.to_thread(lambda: urllib.request.urlopen(request).read())


class Wire:
    """Passes bytes on to a port. If connections are cut, it refuses new ones until it is mended. `port` is its own."""

    def __init__(self, target):
        self.target, self.open, self.is_cut = target, [], False

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.cut()
        self.server.close()

    def cut(self, count=None):
        """Cuts as many of the oldest connections, or all."""
        self.is_cut = True
        for writer in self.open[:count]:
            writer.transport.abort()

    def mend(self):
        self.is_cut = False

    async def _serve(self, reader, writer):
        if self.is_cut:
            return writer.transport.abort()
        back, forth = await asyncio.open_connection("127.0.0.1", self.target)
        self.open.append(writer)
        try:
            await asyncio.gather(pass_on(reader, forth), pass_on(back, writer))
        finally:
            self.open.remove(writer)


class Gate:
    """Passes connections on to a gateway. Keeps the targets of all requests and the heads of those for events; can cut connections, hold them up and answer in the gateway's place."""

    def __init__(self, gateway):
        self.gateway, self.heads, self.targets, self.open, self.answer = gateway, [], [], set(), None
        # The beginning of a path, and the status and the body that it is answered with.
        self.replies = {}
        self.flows = asyncio.Event()
        self.flows.set()

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/"
        return self

    async def __aexit__(self, *_):
        self.server.close()
        self.flows.set()
        self.cut(None)

    def cut(self, path="/events?"):
        """Cuts the connections whose request begins with this path; all, where it is None."""
        for writer, target in list(self.open):
            if path is None or target.startswith(path):
                writer.transport.abort()

    async def _serve(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except (asyncio.IncompleteReadError, ConnectionError):
            return writer.close()
        target = head.split(" ")[1]
        self.targets.append(target)
        entry = (writer, target)
        self.open.add(entry)
        try:
            if target.startswith("/events?"):
                self.heads.append(head)
                if self.answer:
                    writer.write(f"HTTP/1.1 {self.answer} Made up\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
                    await writer.drain()
                    return writer.close()
            for path, (status, body) in self.replies.items():
                if target.startswith(path):
                    writer.write(f"HTTP/1.1 {status} Made up\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
                    await writer.drain()
                    return writer.close()
            await forward(head, reader, writer, self.gateway.port, self.flows)
        except OSError:
            writer.close()
        finally:
            self.open.discard(entry)


def header(head, name):
    """A header field of a request's head."""
    for line in head.split("\r\n")[1:]:
        field, _, value = line.partition(":")
        if field.lower() == name.lower():
            return value.strip()
    return None
