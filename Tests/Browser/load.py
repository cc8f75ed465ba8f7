"""The cost of the page's tab: its share of one core and its frames, with many symbols, their mark prices every second, and four order books.

    load.py EXECUTABLE [SECONDS [SYMBOLS]]

Counts the renderer process of the tab, in which the page, its worker and the drawing run. Chromium draws without a graphics card here. Frames are counted
while the table of markets scrolls.
"""
import asyncio
import os
import sys

from chromium import EXECUTABLE, Chromium, websockets
from gate import Exchange, Gateway

BOOKS = ["ethusdt@depth", "bnbusdt@depth", "solusdt@depth"]
# Frames a second, and the longest times between two frames, ms.
FRAMES = """new Promise((done) => { const times = []; const scroll = document.querySelector('#markets-scroll');
    const look = (now) => { times.push(now); scroll.scrollTop += 7; if (scroll.scrollTop + scroll.clientHeight >= scroll.scrollHeight - 8) scroll.scrollTop = 0;
        if (now - times[0] < 10_000) return requestAnimationFrame(look);
        const waits = times.slice(1).map((time, place) => time - times[place]).sort((a, b) => b - a);
        done(`${(waits.length / 10).toFixed(1)} a second, longest ${waits.slice(0, 5).map(Math.round).join(', ')} ms, ${waits.filter((wait) => wait > 25).length} of ${waits.length} late`); };
    requestAnimationFrame(look); })"""


def seconds_of(process):
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def main():
    if not EXECUTABLE or not websockets:
        print("skipped: Chromium or the Python package websockets is not installed")
        return 0
    executable, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 30
    symbols = sys.argv[3] if len(sys.argv) > 3 else "300"
    async with Exchange(executable, "--symbols", symbols) as exchange:
        gateway = await Gateway(executable).start(*exchange.options)
        try:
            async with Chromium() as browser:
                tab = await browser.tab(os.environ.get("PAGE", f"http://127.0.0.1:{gateway.port}/") + f"#btcusdt,{','.join(BOOKS)}", width=1440, height=900)
                await tab.until(f"Number(document.querySelector('#markets-count')?.textContent) > {int(symbols) * 0.9} && document.querySelector('.bids td').textContent", 60)
                await asyncio.sleep(10)
                processes = (await browser.call("SystemInfo.getProcessInfo"))["processInfo"]
                renderers = [process["id"] for process in processes if process["type"] == "renderer"]
                before = {process: seconds_of(process) for process in renderers}
                await asyncio.sleep(seconds)
                used = {process: (seconds_of(process) - before[process]) / seconds for process in renderers}
                names = await tab.run("[...document.querySelectorAll('#streams .name')].map((name) => name.textContent)")
                print(f"{sum(used.values()):.1%} of a core over {seconds:.0f} s, {await tab.run('document.querySelector(`#markets-count`).textContent')} symbols, {names}")
                print(f"frames while the table scrolls: {await tab.run(FRAMES)}")
                print(f"complaints: {tab.complaints}")
        finally:
            await gateway.end()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
