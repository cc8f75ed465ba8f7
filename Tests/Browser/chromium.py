"""Drives a headless Chromium through the DevTools protocol: start, tabs, scripts, screenshots."""
import asyncio
import base64
import itertools
import json
import os
import shutil
import tempfile

try:
    import websockets
except ImportError:
    websockets = None

EXECUTABLE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """One browser with a profile of its own. Use as an asynchronous context manager."""

    async def __aenter__(self):
        self.profile = tempfile.mkdtemp()
        arguments = ["--headless=new", "--remote-debugging-port=0", f"--user-data-dir={self.profile}", "--no-first-run", "--disable-gpu",
                     "--hide-scrollbars", "--disable-dev-shm-usage", "--disable-background-networking"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        self.process = await asyncio.create_subprocess_exec(
            EXECUTABLE, *arguments, "about:blank", stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL)
        async with asyncio.timeout(60):
            while b"ws://" not in (line := await self.process.stderr.readline()):
                if not line:
                    raise RuntimeError("Chromium ended at its start")
        self.drain = asyncio.create_task(self._discard())
        address = line[line.index(b"ws://"):].strip().decode()
        self.socket = await websockets.connect(address, max_size=None)
        self.numbers, self.waiting, self.listeners = itertools.count(1), {}, {}
        self.reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_):
        self.reader.cancel()
        await self.socket.close()
        if self.process.returncode is None:
            self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), 10)
        except TimeoutError:
            # A browser that was stopped often may not end by itself.
            self.process.kill()
            await self.process.wait()
        self.drain.cancel()
        shutil.rmtree(self.profile, ignore_errors=True)

    async def _discard(self):
        while await self.process.stderr.readline():
            pass

    async def _read(self):
        async for text in self.socket:
            message = json.loads(text)
            if future := self.waiting.pop(message.get("id"), None):
                future.set_result(message)
            elif listener := self.listeners.get((message.get("sessionId"), message.get("method"))):
                listener(message["params"])

    async def call(self, method, session=None, **parameters):
        number = next(self.numbers)
        future = self.waiting[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        await self.socket.send(json.dumps(message))
        answer = await asyncio.wait_for(future, 60)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    async def tab(self, url, **view):
        """Opens a tab in its own window; `view` as in `Tab.view`."""
        target = (await self.call("Target.createTarget", url="about:blank", newWindow=True))["targetId"]
        session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        tab = Tab(self, target, session)
        self.listeners[session, "Runtime.exceptionThrown"] = lambda event: tab.complaints.append(
            event["exceptionDetails"].get("exception", {}).get("description") or event["exceptionDetails"]["text"])
        self.listeners[session, "Log.entryAdded"] = lambda event: tab.complaints.append(
            f"{event['entry']['text']} {event['entry'].get('url', '')}") if event["entry"]["level"] == "error" else None
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable", session)
        if view:
            await tab.view(**view)
        await self.call("Page.navigate", session, url=url)
        return tab


class Tab:
    def __init__(self, browser, target, session):
        self.browser, self.target, self.session, self.complaints = browser, target, session, []

    async def call(self, method, **parameters):
        return await self.browser.call(method, self.session, **parameters)

    async def view(self, width=1440, height=1000, dark=False, scale=1):
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    async def run(self, script):
        """Evaluates a script, promises awaited, and returns its value."""
        result = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", result["exceptionDetails"]["text"]))
        return result["result"].get("value")

    async def until(self, script, seconds=30):
        """Waits until a script's value is true, and returns it."""
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            if value := await self.run(script):
                return value
            await asyncio.sleep(0.05)
        raise TimeoutError(script)

    async def hide(self, isHidden):
        """Lets the page believe that its tab went to the background, or came back."""
        await self.run(f"""Object.defineProperty(document, 'visibilityState', {{ configurable: true, get: () => '{'hidden' if isHidden else 'visible'}' }});
            document.dispatchEvent(new Event('visibilitychange'))""")

    async def picture(self, path, whole=False):
        answer = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))

    async def close(self):
        await self.browser.call("Target.closeTarget", targetId=self.target)
