"""The processor time of the page's tab: its share of one core, with 300 symbols, their mark prices every second, and four order books.

    load.py EXECUTABLE [SECONDS]

Counts the renderer process of the tab, in which the page, its worker and the drawing run. Chromium draws without a graphics card here.
"""
import asyncio
import os
import sys

from chromium import EXECUTABLE, Chromium, websockets
from gate import Exchange, Gateway

BOOKS = ["ethusdt@depth", "bnbusdt@depth", "solusdt@depth"]


def seconds_of(process):
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def main():
    if not EXECUTABLE or not websockets:
        print("skipped: Chromium or the Python package websockets is not installed")
        return 0
    executable, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 30
    async with Exchange(executable, "--symbols", "300") as exchange:
        gateway = await Gateway(executable).start(*exchange.options)
        try:
            async with Chromium() as browser:
                tab = await browser.tab(os.environ.get("PAGE", f"http://127.0.0.1:{gateway.port}/") + f"#btcusdt,{','.join(BOOKS)}", width=1440, height=900)
                await tab.until("/^2\\d\\d|^300/.test(document.querySelector('#markets-count')?.textContent) && document.querySelector('.bids td').textContent", 60)
                await asyncio.sleep(10)
                processes = (await browser.call("SystemInfo.getProcessInfo"))["processInfo"]
                renderers = [process["id"] for process in processes if process["type"] == "renderer"]
                before = {process: seconds_of(process) for process in renderers}
                await asyncio.sleep(seconds)
                used = {process: (seconds_of(process) - before[process]) / seconds for process in renderers}
                names = await tab.run("[...document.querySelectorAll('#streams .name')].map((name) => name.textContent)")
                print(f"{sum(used.values()):.1%} of a core over {seconds:.0f} s, {await tab.run('document.querySelector(`#markets-count`).textContent')} symbols, {names}")
                print(f"complaints: {tab.complaints}")
        finally:
            await gateway.end()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
