"""What a trader does with the page: chooses symbols, keeps a watchlist, sets alerts."""

import asyncio
import sys
import time

from gate import Exchange, Gateway
from truths import LIVE, LOG, expect

SYMBOL = "document.querySelector('#symbol').textContent"
ROWS = "[...document.querySelectorAll('#markets tbody tr')].filter((row) => !row.hidden).map((row) => row.dataset.symbol)"
PROGRESS = "JSON.parse(localStorage.getItem('futures-gateway alerts'))[0].after"
FIRED = "document.querySelector('#fired').textContent"


async def key(tab, name, text="", modifiers=0, code=0):
    for kind in ("keyDown", "keyUp"):
        await tab.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, text=text if kind == "keyDown" else "", modifiers=modifiers, windowsVirtualKeyCode=code)


async def opened(browser, address, **view):
    tab = await browser.tab(address, **view)
    await tab.until(LIVE + " && document.querySelector('#markets tbody tr') !== null", 60)
    return tab


async def set_alert(tab, kind, value):
    """Opens the dialog, and adds an alert whose value a script computes."""
    await key(tab, "l", "l")
    await tab.until("document.querySelector('#alerts').open")
    await tab.run(f"document.querySelector('#alert-kind').value = '{kind}'; document.querySelector('#alert-value').value = String({value});"
                  " document.querySelector('#alert-add').requestSubmit(); true")
    words = await tab.run("document.querySelector('#alert-error').textContent || document.querySelector('#alert-list li').textContent")
    await close(tab)
    return words


async def close(tab):
    await tab.run("document.querySelector('#alerts').close()")
    await tab.until("document.activeElement === document.body")


async def the_watchlist_stays_and_the_picker_chooses(gateway, gate, browser):
    """A star puts a symbol on top, also in another tab and after a reload; Ctrl-K, two letters and Enter choose a symbol; the chosen row is always in view."""
    tab = await opened(browser, gate.address, width=1440, height=620)
    other = await opened(browser, gate.address)
    last = (await tab.run(ROWS))[-2]
    await tab.run(f"document.querySelector('#markets tr[data-symbol=\"{last}\"] .star').click()")
    for each in (tab, other):
        await each.until(f"{ROWS}[0] === '{last}'", 5)
    await other.close()
    await tab.call("Page.reload")
    await tab.until(LIVE + f" && {ROWS}[0] === '{last}'")
    expect(await tab.run(SYMBOL) == "BTCUSDT", "a star chose another symbol")
    await key(tab, "k", modifiers=2)
    await tab.until("document.querySelector('#picker').open")
    await tab.call("Input.insertText", text="dog")
    await tab.until("document.querySelector('#picks [aria-selected=true]').dataset.symbol === 'DOGEUSDT'")
    expect(await tab.run("/\\d/.test(document.querySelector('#picks li').children[1].textContent)"), "the list has no price")
    await key(tab, "Enter", "\r", code=13)
    await tab.until(f"{SYMBOL} === 'DOGEUSDT' && document.querySelector('#book-state').textContent === 'Live'")
    seen = """(() => { const box = document.querySelector('#markets-scroll').getBoundingClientRect();
        return [...document.querySelectorAll('#markets tr[data-symbol=DOGEUSDT]')].some((row) => { const { top, bottom } = row.cells[0].getBoundingClientRect();
            return !row.hidden && bottom > top && top >= box.top && bottom <= box.bottom + 1; }); })()"""
    for top in (0, 120, 10_000):
        await tab.run(f"document.querySelector('#markets-scroll').scrollTop = {top}; true")
        await asyncio.sleep(0.3)
        expect(await tab.run(seen), f"the chosen row is out of sight at {top}")
    await key(tab, "s", "s")
    await tab.until("document.querySelector('#star').getAttribute('aria-pressed') === 'true'")
    await tab.run("document.querySelector('#filter').value = 'starred'; document.querySelector('#filter').dispatchEvent(new Event('input')); true")
    expect(set(await tab.run(ROWS)) == {last, "DOGEUSDT"}, await tab.run(ROWS))
    for name, interval in ((".", "5m"), (",", "1m")):
        await key(tab, name, name)
        await tab.until(f"document.querySelector('#intervals [aria-pressed=true]').textContent === '{interval}'")
    await key(tab, "?", "?")
    await tab.until("document.querySelector('#keys').open")
    await key(tab, "?", "?")
    await tab.until("!document.querySelector('#keys').open")
    expect(not tab.complaints, tab.complaints)
    await tab.close()
    return f"{last} and DOGEUSDT"


async def an_alert_fires_also_in_a_hidden_tab(gateway, gate, browser):
    """In a hidden tab, only the alert's stream is active. A trade fires the alert once. The dialog refuses a value that is not a number."""
    tab = await opened(browser, gate.address)
    words = await set_alert(tab, "price", "'12,x'")
    expect("Enter a number" in words, words)
    last = "Number(document.querySelector('#alert-value').value || document.querySelector('#price').textContent.replaceAll(',', ''))"
    far, near = await set_alert(tab, "price", "1"), await set_alert(tab, "price", f"({last} + 0.4).toFixed(1)")
    expect("≤ 1" in far, far)
    # The price may have passed the value by the time of the click.
    side = "≥" if "≥" in near else "≤"
    await tab.hide(True)
    client = await tab.run("new Promise((done) => import('./web/client.js').then(({ Feed }) => { const feed = new Feed(); feed.addEventListener('connection', () => done(feed.connection.client)); }))")
    paused, end = [], time.monotonic() + 10
    while "btcusdt@depth" not in paused and time.monotonic() < end:
        await asyncio.sleep(0.1)
        paused = (await gateway.get(f"events/{client}"))["paused"]
    expect("btcusdt@depth" in paused and "btcusdt@aggTrade" not in paused, paused)
    await tab.until(f"{FIRED}.includes('{side}')", 90)
    await asyncio.sleep(3)
    expect(await tab.run("document.querySelectorAll('#fired p').length") == 1, await tab.run(FIRED))
    await tab.hide(False)
    await tab.until(LIVE)
    reached, wanted = await tab.run("(() => { const [, value, price] = document.querySelector('#fired p').textContent.replaceAll(',', '').match(/[≥≤] ([\\d.]+): ([\\d.]+)/); return [price, value]; })()")
    expect(float(reached) >= float(wanted) if side == "≥" else float(reached) <= float(wanted), (reached, wanted))
    expect("Alert" in await tab.run(LOG), await tab.run(LOG))
    before = await tab.run(PROGRESS)
    # After a reload, the page does not report a fired alert again, and continues behind the checked trades.
    await tab.call("Page.reload")
    await tab.until(LIVE)
    await asyncio.sleep(3)
    expect(not await tab.run(FIRED) and await tab.run("document.querySelector('#alerts-open').textContent") == "Alerts 1", await tab.run(FIRED))
    after = await tab.run(PROGRESS)
    expect(after > before, (before, after))
    expect(not tab.complaints, tab.complaints)
    await tab.close()
    return f"{reached} for {wanted}"


async def data_that_is_not_live_is_an_alert(_, __, browser):
    """A frozen venue is told after ten seconds, and that its data is live again; meanwhile an alert says that it is not watched, and no old row looks current."""
    async with Exchange(sys.argv[1]) as exchange:
        gateway = await Gateway(sys.argv[1]).start(*exchange.options)
        try:
            tab = await opened(browser, f"http://127.0.0.1:{gateway.port}/", width=1440, height=620)
            await set_alert(tab, "funding", "5")
            await tab.run("document.querySelector('#alert-data').click(); document.querySelector('#markets-scroll').scrollTop = 10_000; true")
            await asyncio.sleep(1)
            await exchange.fault(fault="stall", forMs=25_000)
            await tab.until("document.querySelector('#markets tfoot').matches('.aged')", 12)
            await tab.until(f"{FIRED}.includes('Data of BTCUSDT is not live')", 25)
            await key(tab, "l", "l")
            words = await tab.until("document.querySelector('#alert-list li').textContent")
            expect("Not watched" in words, words)
            await tab.run("document.querySelector('#alert-list button').focus()")
            await asyncio.sleep(2.5)
            expect(await tab.run("document.activeElement === document.querySelector('#alert-list button')"), "a button of the list lost the focus")
            await close(tab)
            await tab.until(f"{FIRED}.includes('Data of BTCUSDT is live again')", 60)
            expect(await tab.run("document.querySelectorAll('#fired p').length") == 2, await tab.run(FIRED))
            await tab.close()
            return words
        finally:
            await gateway.end()



LEGEND = "document.querySelector('#legend-studies')?.textContent"
HATCHED = "[...document.querySelectorAll('#chart-hatch i')].map((area) => area.getBoundingClientRect().width)"
# Whether the chart's canvas has a pixel of a study's colour.
PAINTED = """((name) => {
    const probe = document.createElement('i');
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
    probe.remove();
    return [...document.querySelectorAll('#chart canvas')].some((canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        for (let at = 0; at < data.length; at += 4) if (wanted.every((value, part) => Math.abs(data[at + part] - value) < 3) && data[at + 3] > 250) return true;
        return false;
    });
})('study-1')"""


async def the_chart_has_studies_and_keeps_outages(_, __, browser):
    """Studies are drawn, named with their values, and kept by the browser; the time without data stays hatched after an outage, in each shape of the bars."""
    async with Exchange(sys.argv[1]) as exchange:
        gateway = await Gateway(sys.argv[1]).start(*exchange.options)
        try:
            tab = await opened(browser, f"http://127.0.0.1:{gateway.port}/#btcusdt/5s", width=1440, height=900)
            expect(not await tab.run(PAINTED) and await tab.run(LEGEND) == "", "a study that nobody chose is drawn")
            await key(tab, "c", "c")
            await tab.until("document.querySelector('#chart-options').open")
            for name in ("ema20", "rsi", "vwap"):
                await tab.run(f"document.querySelector('#chart-form [value={name}]').click()")
            await tab.run("document.querySelector('#chart-options').close()")
            await tab.until(f"/EMA 20 [\\d,.]+.*RSI 14 [\\d.]+/.test({LEGEND})", 15)
            expect(await tab.run(PAINTED), "the average is not drawn")
            await tab.call("Page.reload")
            await tab.until(f"/EMA 20 [\\d,.]+.*RSI 14 [\\d.]+/.test({LEGEND})", 30)
            await tab.until(LIVE)
            expect(await tab.run(HATCHED) == [], "hatched without an outage")
            # Only after some trades does the gateway know how long their silence is usual.
            await asyncio.sleep(15)
            await exchange.fault(fault="stall", forMs=25_000)
            await tab.until(f"{HATCHED}.length === 1", 30)
            await tab.until(LIVE, 60)
            for shape in ("line", "heikinAshi", "candles"):
                await tab.run(f"document.querySelector('#chart-form [value={shape}]').click()")
                await asyncio.sleep(1)
                widths = await tab.run(HATCHED)
                expect(len(widths) == 1 and 20 < widths[0] < 300, f"{shape}: the outage is {widths} wide")
                words = await tab.run("document.querySelector('#legend').textContent")
                expect(("Heikin-Ashi" in words) == (shape == "heikinAshi"), words)
            expect(not tab.complaints, tab.complaints)
            legend = await tab.run(LEGEND)
            await tab.close()
            return legend
        finally:
            await gateway.end()


TRADERS = [the_watchlist_stays_and_the_picker_chooses, an_alert_fires_also_in_a_hidden_tab, data_that_is_not_live_is_an_alert,
           the_chart_has_studies_and_keeps_outages]
