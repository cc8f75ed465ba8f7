"""The pictures in docs/pictures: the page live, with a lost line, in an outage and on a phone, and `watch` in a terminal.

    docs_pictures.py EXECUTABLE
"""
import asyncio
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios

from chromium import Chromium
from gate import Exchange, Gateway, Wire

FOLDER = os.path.join(os.path.dirname(__file__), "../../docs/pictures")
ROWS, COLUMNS = 14, 112
COLOURS = {"31": "#f08b84", "32": "#56c7a3", "33": "#e8bd63", "2": "#a0a2a8", "90": "#a0a2a8"}


def screen(text):
    """What a terminal shows after what a program wrote, as HTML: cursor to a place, erasing, and colours are all that `watch` uses."""
    cells, style, row, column = [[(" ", "")] * COLUMNS for _ in range(ROWS)], "", 0, 0
    for sequence, kind, plain in re.findall(r"\x1b\[([?\d;]*)([A-Za-z])|([^\x1b])", text):
        numbers = [int(number) for number in re.findall(r"\d+", sequence)]
        if plain == "\n":
            row = row + 1
        elif plain == "\r":
            column = 0
        elif plain:
            if row < ROWS and column < COLUMNS:
                cells[row][column] = (plain, style)
            column += 1
        elif kind == "H":
            row, column = [(numbers + [1, 1])[index] - 1 for index in (0, 1)]
        elif kind == "A":
            row = max(0, row - (numbers or [1])[0])
        elif kind == "K" and row < ROWS:
            cells[row][column:] = [(" ", "")] * (COLUMNS - column)
        elif kind == "J":
            below = 0 if numbers[:1] == [2] else row
            cells[below:] = [[(" ", "")] * COLUMNS for _ in range(ROWS - below)]
        elif kind == "m":
            codes = re.findall(r"\d+", sequence) or ["0"]
            style = "" if codes == ["0"] else style + "".join(f"color:{COLOURS[code]};" if code in COLOURS else "font-weight:600;" if code == "1" else "" for code in codes)
    return "\n".join("".join(f'<span style="{style}">{html.escape(cell)}</span>' for cell, style in line) for line in cells)


async def watch(executable, url):
    """What `watch` shows after some seconds."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    streams = ["btcusdt@markPrice@1s", "btcusdt@depth", "ethusdt@aggTrade", "solusdt@bookTicker", "!markPrice@arr@1s"]
    process = subprocess.Popen([executable, "watch", *streams, "--url", url], stdin=follower, stdout=follower, stderr=subprocess.DEVNULL, env=os.environ | {"TERM": "xterm-256color"})
    os.set_blocking(leader, False)
    written = b""
    for _ in range(70):
        await asyncio.sleep(0.1)
        try:
            written += os.read(leader, 1 << 20)
        except BlockingIOError:
            pass
    process.terminate()
    process.wait()
    os.close(follower)
    os.close(leader)
    return screen(written.decode(errors="replace"))


async def main():
    executable = sys.argv[1]
    os.makedirs(FOLDER, exist_ok=True)

    async with Exchange(executable) as exchange, Wire(exchange.port) as wire, Chromium() as browser:
        rest, _ = exchange.options
        gateway = await Gateway(executable).start(rest, f"--ws-url=ws://127.0.0.1:{wire.port}")
        url = f"http://127.0.0.1:{gateway.port}/"

        async def picture(tab, name):
            await tab.picture(f"{FOLDER}/{name}.png")

        try:
            shown = await watch(executable, url)
            terminal = await browser.tab("about:blank", width=880, height=285, dark=True)
            page = f'<meta charset=utf-8><body style="margin:12px;background:#15161a;color:#e6e6e3"><pre style="margin:0;font:12.5px/1.45 DejaVu Sans Mono,monospace">{shown}</pre>'
            frame = (await terminal.call("Page.getFrameTree"))["frameTree"]["frame"]["id"]
            await terminal.call("Page.setDocumentContent", frameId=frame, html=page)
            await asyncio.sleep(0.5)
            await picture(terminal, "watch")
            light = await browser.tab(url, width=1440, height=860)
            dark = await browser.tab(url, width=1440, height=860, dark=True)
            phone = await browser.tab(url, width=390, height=844, dark=True)
            await light.until("document.querySelector('#lines')?.textContent === '2 of 2' && document.querySelectorAll('#trades tbody tr').length > 5")
            await asyncio.sleep(12)
            await picture(light, "page")
            await picture(phone, "page-phone")
            wire.cut(1)
            await light.until("document.querySelector('#lines').textContent === '1 of 2' && document.querySelector('#health').textContent", 20)
            await picture(light, "page-line")
            wire.cut()
            await dark.until("document.querySelector('#lines').textContent === '0 of 2'", 30)
            await asyncio.sleep(6)
            await picture(dark, "page-outage")
        finally:
            await gateway.end()


asyncio.run(main())
