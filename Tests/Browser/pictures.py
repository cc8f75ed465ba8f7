"""Pictures of the live page in each of its states, light, dark and at a phone's width, for people to look at.

    pictures.py EXECUTABLE DIRECTORY
"""
import asyncio
import json
import os
import sys
import tempfile

from chromium import Chromium
from gate import Exchange, Gateway

SIZES = {"1440": dict(width=1440, height=900), "2560": dict(width=2560, height=1440), "phone": dict(width=390, height=844, scale=2)}
VIEWS = {f"{name}{'-dark' if dark else ''}": size | {"dark": dark} for name, size in SIZES.items() for dark in (False, True)}


async def main():
    executable, directory = sys.argv[1], sys.argv[2]
    os.makedirs(directory, exist_ok=True)
    exchange = await Exchange(executable).__aenter__()
    fault = exchange.fault
    gateway = await Gateway(executable).start(*exchange.options)
    try:
        async with Chromium() as browser:
            tabs = {name: await browser.tab(f"http://127.0.0.1:{gateway.port}/", **view) for name, view in VIEWS.items()}

            async def pictures(state):
                for name, tab in tabs.items():
                    await tab.picture(f"{directory}/{state}-{name}.png", whole=False)

            await asyncio.sleep(60)
            await tabs["1440"].call("Input.dispatchMouseEvent", type="mouseMoved", x=850, y=360)
            await pictures("live")
            await tabs["1440"].call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
            await fault(fault="stall", forMs=16_000)
            await asyncio.sleep(14)
            await pictures("stale")
            await asyncio.sleep(5)
            await fault(fault="refuse", forMs=14_000)
            await fault(fault="drop")
            await asyncio.sleep(8)
            await pictures("recovering")
            await asyncio.sleep(14)
            await pictures("recovered")
            for tab in tabs.values():
                await tab.run("document.querySelector('#pause').click()")
            await asyncio.sleep(2)
            await pictures("paused")
            for tab in tabs.values():
                await tab.run("document.querySelector('#pause').click()")
            await asyncio.sleep(2)
            await gateway.end()
            await asyncio.sleep(4)
            await pictures("lost")
            for tab in tabs.values():
                print(tab.complaints)
            with tempfile.NamedTemporaryFile("w", suffix=".json") as keys:
                json.dump({"reader": {"hash": "0" * 64, "streams": ["*"]}}, keys)
                keys.flush()
                gateway = await Gateway(executable, "--keys", keys.name).start()
                tabs = {name: await browser.tab(f"http://127.0.0.1:{gateway.port}/", **view) for name, view in VIEWS.items()}
                for name, tab in tabs.items():
                    await tab.until("document.querySelector('#access')?.hidden === false")
                await pictures("key")
                for name, tab in tabs.items():
                    await tab.run("document.querySelector('#key').value = 'wrong'; document.querySelector('#access').requestSubmit()")
                    await tab.until("document.querySelector('#access-error').textContent")
                await pictures("key-wrong")
                await gateway.end()
                gateway = await Gateway(executable).start("--rest-url=http://127.0.0.1:9", "--ws-url=ws://127.0.0.1:9")
                tabs = {name: await browser.tab(f"http://127.0.0.1:{gateway.port}/", **view) for name, view in VIEWS.items()}
                for name, tab in tabs.items():
                    await tab.until("document.querySelector('#connection')?.textContent === 'Venue down'", 60)
                await pictures("empty")
    finally:
        await gateway.end()
        await exchange.__aexit__()


asyncio.run(main())
