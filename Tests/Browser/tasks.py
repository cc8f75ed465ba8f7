"""Fifteen tasks as a trader would do them: with keys and clicks only. Prints the steps and the time of each.

    tasks.py EXECUTABLE

A step is a key, a click, or a word that is typed. The time is that of a script, from the first step until the page shows the result. A person reads as well.
"""
import asyncio
import sys
import time

from chromium import EXECUTABLE, Chromium, websockets
from traders import SYMBOL, key
from truths import LIVE
from venues import ALL_LIVE, cell, three_venues

TEXT = "document.querySelector('{}').textContent"


class Hand:
    """Counts the steps of a task."""

    def __init__(self, tab):
        self.tab, self.steps = tab, 0

    async def press(self, name, modifiers=0):
        self.steps += 1
        code = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}.get(name, 0)
        text = "\r" if name == "Enter" else name if len(name) == 1 and not modifiers else ""
        await key(self.tab, name, text, modifiers=modifiers, code=code)

    async def type(self, text):
        self.steps += 1
        await self.tab.call("Input.insertText", text=text)

    async def click(self, place):
        self.steps += 1
        x, y = await self.tab.until(f"""(() => {{ const one = {place if '(' in place else f"document.querySelector('{place}')"}; if (!one?.checkVisibility()) return null; one.scrollIntoView({{ block: 'nearest' }});
            const {{ left, top, width, height }} = one.getBoundingClientRect(); return [left + width / 2, top + height / 2]; }})()""", 15)
        for kind in ("mousePressed", "mouseReleased"):
            await self.tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def sees(self, script, seconds=20):
        return await self.tab.until(script, seconds)

    async def choose(self, letters):
        """Chooses a symbol with the picker."""
        await self.press("k", modifiers=2)
        await self.sees("document.querySelector('#picker').open")
        await self.type(letters)
        await self.press("Enter")

    async def reads(self, place, pattern):
        """The text of an element once it matches a regular expression."""
        return await self.sees(f"/{pattern}/.test({TEXT.format(place)}) && {TEXT.format(place)}")


async def funding_of_sol(hand):
    """Find the funding of SOL on all venues."""
    await hand.choose("sol")
    rates = f"[{cell('aster', 'funding')}, {cell('binance', 'funding')}]"
    await hand.sees(f"{TEXT.format('#venues-asset')} === 'SOL' && {rates}.every((rate) => /%/.test(rate))")
    return " and ".join(await hand.tab.run(rates))


async def last_price(hand):
    """Say which number is the last price."""
    return await hand.sees(TEXT.format("#price") + f" === {TEXT.format('#middle')} && {TEXT.format('#price')}")


async def set_alert(hand):
    """Set an alert for a price."""
    await hand.press("l")
    await hand.sees("document.querySelector('#alerts').open")
    await hand.type("1")
    await hand.press("Enter")
    words = await hand.sees("document.querySelector('#alert-list li b')?.textContent")
    await hand.press("Escape")
    return words


async def star(hand):
    """Put the symbol on the watchlist."""
    await hand.press("s")
    return await hand.sees("document.querySelector('#star').getAttribute('aria-pressed') === 'true' && document.querySelector('#markets tbody tr').dataset.symbol")


async def hourly_bars(hand):
    """Show bars of one hour."""
    await hand.click("[...document.querySelectorAll('#intervals button')].find((button) => button.textContent === '1h')")
    return await hand.sees("document.querySelector('#intervals [aria-pressed=true]').textContent === '1h' && / C [\\d.,]+/.test(document.querySelector('#legend').textContent) && document.querySelector('#legend').textContent.slice(0, 16)")


async def average(hand):
    """Draw the EMA 20."""
    await hand.press("c")
    await hand.click("#chart-form [value=ema20]")
    await hand.press("Escape")
    return await hand.reads("#legend-studies", "EMA 20 [\\d.,]+")


async def slippage(hand):
    """Find what buying five levels of the book costs."""
    await hand.click("#book-box")
    for _ in range(5):
        await hand.press("ArrowUp")
    return await hand.reads("#book-flow", "Buy .* bp")


async def large_trades(hand):
    """Show only trades of at least 1 K."""
    # The field has the focus after a click or the Tab key.
    hand.steps += 1
    await hand.tab.run("document.querySelector('#least').focus()")
    await hand.press("ArrowDown")
    return await hand.sees("document.querySelector('#least').value === '1000' && [...document.querySelectorAll('#trades tbody tr')].filter((row) => !row.hidden).every((row) => /K|M/.test(row.cells[2].textContent)) && 'all ≥ 1 K'")


async def open_interest(hand):
    """Find how open interest has changed."""
    await hand.click("#derivatives-tabs [data-shows=interest]")
    return await hand.reads("#derivatives-read", "\\d.*USDT")


async def basis(hand):
    """Find the basis of the dated contract, for a year."""
    await hand.choose("btcusdt_")
    return await hand.reads("#basis", "year")


async def cheapest(hand):
    """Find the venue with the lowest price to buy BTC."""
    await hand.choose("btcusdt")
    return await hand.sees(f"{SYMBOL} === 'BTCUSDT' && {TEXT.format('#venues-asset')} === 'BTC' && /\\d/.test({TEXT.format('#venues-ask')}) && {TEXT.format('#venues-ask')}")


async def two_charts(hand):
    """Put ETH beside BTC."""
    await hand.press("n")
    await hand.click("document.querySelectorAll('.pane-symbol')[1]")
    await hand.sees("document.querySelector('#picker').open")
    await hand.type("ethusdt")
    await hand.press("Enter")
    seen = "document.querySelectorAll('#charts .chart')[1]"
    return await hand.sees(f"{seen}.querySelector('[data-part=symbol]').textContent === 'ETHUSDT' && / C [\\d.,]+/.test({seen}.querySelector('[data-part=legend]').textContent) && 'ETHUSDT'")


async def local_time(hand):
    """Show local times."""
    await hand.press("t")
    return await hand.reads("#zone", "local")


async def quiet_screen(hand):
    """Leave only chart and book."""
    for name in "12456":
        await hand.press(name)
    await hand.press("v")
    return await hand.sees("!document.querySelector('[data-panel=markets]').checkVisibility() && document.querySelector('#book').checkVisibility() && 'chart and book'")


async def what_happened(hand):
    """Find when the connection was opened."""
    await hand.press("d")
    return await hand.sees("document.querySelector('#data').checkVisibility() && document.querySelector('#log li:last-child').textContent.slice(0, 40)")


TASKS = [last_price, funding_of_sol, set_alert, star, hourly_bars, average, slippage, large_trades, open_interest, basis, cheapest, two_charts, local_time, quiet_screen, what_happened]


async def main():
    if not EXECUTABLE or not websockets:
        print("skipped: Chromium or the Python package websockets is not installed")
        return 0
    failures = 0
    async with three_venues() as (gate, _), Chromium() as browser:
        tab = await browser.tab(gate.address, width=1440, height=900)
        await tab.until(f"{LIVE} && {ALL_LIVE}", 60)
        await asyncio.sleep(5)
        for task in TASKS:
            hand, began = Hand(tab), time.monotonic()
            try:
                result = await task(hand)
                print(f"{task.__doc__} {hand.steps} steps, {time.monotonic() - began:.1f} s: {result}", flush=True)
            except (TimeoutError, RuntimeError) as error:
                failures += 1
                print(f"FAILED {task.__doc__} {hand.steps} steps: {error!r}", flush=True)
            await tab.run("document.activeElement?.blur(); document.querySelector('dialog[open]')?.close()")
        print(f"complaints: {tab.complaints}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
