"""What the page must never say: that something is live that is not, one price as two, a time by the wrong clock, half a number."""

import asyncio
import json
import socket
import sys
import time

from gate import Gateway


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


WORD = "document.querySelector('#connection')?.textContent"
LIVE = f"{WORD} === 'Live' && /\\d/.test(document.querySelector('#price').textContent)"
LOG = "[...document.querySelectorAll('#log li')].map((item) => item.textContent).join('\\n')"


async def an_unlisted_symbol_is_told_and_not_shown(gateway, gate, browser):
    """`#BTCUSDT` is btcusdt; for `#foo` the page says that there is none, shows another, and is live for that one."""
    tab = await browser.tab(f"{gate.address}#ETHUSDT/5m")
    await tab.until(LIVE)
    expect(await tab.run("document.querySelector('#symbol').textContent") == "ETHUSDT", "an address in capitals is another symbol")
    expect(await tab.run("location.hash") == "#ethusdt/5m", await tab.run("location.hash"))
    expect("efused" not in await tab.run(LOG), await tab.run(LOG))
    await tab.close()
    tab = await browser.tab(f"{gate.address}#foo")
    await tab.until(LIVE)
    words = await tab.run(LOG)
    expect("FOO is not a symbol of this venue" in words and await tab.run("document.querySelector('#symbol').textContent") == "BTCUSDT", words)
    await tab.close()
    return "FOO is told, BTCUSDT is shown"


async def an_instrument_refused_in_part_is_not_live(gateway, gate, browser):
    """If one stream of the shown instrument cannot be had, the word is not Live, and no raw text of the gateway breaks the layout."""
    tab = await browser.tab(gate.address)
    await tab.until(LIVE)
    # As when a symbol is settled, or a key does not permit it: the list of symbols was another one when the page was opened.
    await tab.run("import('./web/client.js').then(({ Feed }) => { const status = Feed.prototype.status;"
                  " Feed.prototype.status = function (name) { return name === 'btcusdt@depth' ? { ...status.call(this, name), error: 'x'.repeat(300) } : status.call(this, name); }; return true; })")
    await tab.until(f"{WORD} === 'Partly live'")
    words = await tab.run("document.querySelector('#health').textContent")
    expect("1 stream refused" in words, words)
    expect(await tab.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window")
    await tab.close()
    return words


async def times_are_the_venues_and_of_one_zone(gateway, gate, browser):
    """With a clock that is an hour fast in Tokyo the countdown is the venue's, and chart, trades and log have one zone."""
    tab = await browser.tab("about:blank")
    await tab.call("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")
    await tab.call("Page.addScriptToEvaluateOnNewDocument", source="{ const now = Date.now; Date.now = () => now() + 3_600_000; }")
    await tab.call("Page.navigate", url=gate.address)
    await tab.until(LIVE)
    await tab.until("/:/.test(document.querySelector('#countdown').textContent) && document.querySelector('#trades tbody td:nth-child(3)') !== null")
    shown = await tab.run("document.querySelector('#countdown').textContent")
    due = (await gateway.get("streams/btcusdt@markPrice"))["content"]["nextFundingTime"] / 1000 - time.time()
    hours, minutes, seconds = map(int, shown.split(":"))
    expect(abs(hours * 3600 + minutes * 60 + seconds - due) < 5, f"{shown}, and it is {due:.0f} s")
    moment = await tab.run("document.querySelector('#trades tbody td:nth-child(3)').textContent")
    hours, minutes, seconds = map(int, moment.split(":"))
    apart = abs(hours * 3600 + minutes * 60 + seconds - time.time() % 86400)
    expect(min(apart, 86400 - apart) < 60, f"{moment} is not UTC")
    await tab.close()
    return f"{shown} to the funding, a trade at {moment}"


async def one_last_price_is_shown(gateway, gate, browser):
    """In no frame do the header, the title and the chosen row say different prices."""
    tab = await browser.tab(gate.address)
    await tab.until(LIVE + " && document.querySelector('#markets tbody tr') !== null")
    # One that the table shows.
    await tab.run("document.querySelector('#markets tbody tr td').click()")
    await tab.until(LIVE + " && document.querySelector('#markets [aria-current=true]') !== null")
    await tab.run("""(() => { window.frames = 0; window.apart = [];
        const look = () => { frames++;
          const [header, row] = ['#price', '#markets [aria-current=true] td:nth-child(2)'].map((place) => document.querySelector(place).textContent);
          if (header !== row || !document.title.includes(header)) apart.push([header, row, document.title]);
          requestAnimationFrame(look); };
        requestAnimationFrame(look); window.prices = new Set();
        new MutationObserver(() => prices.add(document.querySelector('#price').textContent)).observe(document.querySelector('#price'), { childList: true, characterData: true, subtree: true });
        return true; })()""")
    # A scroll draws the table at once.
    for step in range(40):
        await tab.run(f"document.querySelector('#markets-scroll').scrollTop = {step % 2}")
        await asyncio.sleep(0.2)
    frames, prices, apart = await tab.run("[frames, prices.size, apart]")
    expect(frames > 50 and prices > 3, f"{frames} frames, {prices} prices")
    expect(not apart, f"{len(apart)} of {frames}: {apart[:3]}")
    await tab.close()
    return f"{frames} frames, {prices} prices, none apart"


async def unverified_is_the_gateways(gateway, gate, browser):
    """Pings and other streams of a connection are evidence, also for a stream without an event for long."""
    tab = await browser.tab(gate.address)
    await tab.until(LIVE)
    await asyncio.sleep(12)
    worst = 0
    for _ in range(10):
        shown = await tab.run("document.querySelector('#unverified').textContent")
        told = (await gateway.get("streams"))["active"]
        gateways = max(one.get("unverifiedMs", 0) for one in told if "@openInterest" not in one["stream"] and "!funding" not in one["stream"])
        seconds = 0 if shown == "< 1 s" else float(shown.split()[0])
        worst = max(worst, seconds - gateways / 1000)
        await asyncio.sleep(0.5)
    expect(worst < 4.5, f"{worst:.1f} s more than the gateway's")
    await tab.close()
    return f"at most {worst:.1f} s above the gateway's"


async def a_page_opened_while_the_venue_is_down_says_so(_, __, browser):
    """Not Connecting for ever: what is wrong, and by itself live once the venue answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gateway = await Gateway(sys.argv[1]).start(f"--rest-url=http://127.0.0.1:{port}", f"--ws-url=ws://127.0.0.1:{port}")
    try:
        tab = await browser.tab(f"http://127.0.0.1:{gateway.port}/")
        await tab.until(f"{WORD} === 'Venue down' && document.body.dataset.level === 'bad'", 40)
        words = await tab.run("document.querySelector('#health').textContent")
        log = await tab.run(LOG)
        expect("Venue connected" not in log, log)
        process = await asyncio.create_subprocess_exec(
            sys.argv[1], "demo-exchange", "--port", str(port), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
        try:
            await tab.until(LIVE, 90)
        finally:
            process.terminate()
            await process.wait()
        await tab.close()
        return words
    finally:
        await gateway.end()


async def no_number_is_cut(gateway, gate, browser):
    """At no usual width does a cell with digits have less room than they need; names may be cut."""
    found = {}
    for width in (390, 820, 1024, 1280, 1440, 1920):
        tab = await browser.tab(f"{gate.address}#btcusdt,btcusdt@fundingRate,btcusdt@markPrice,1000pepeusdt@markPrice,ethusdt@bookTicker", width=width, height=1000)
        await tab.until(LIVE + " && document.querySelectorAll('#streams tbody tr').length > 8")
        await tab.until("[...document.querySelectorAll('#streams tbody tr')].some((row) => /fundingRate/.test(row.textContent) && /%/.test(row.cells[1].textContent))")
        await asyncio.sleep(2)
        cut = await tab.run("""[...document.querySelectorAll('td, dd, .price, #middle')].filter((cell) => /\\d/.test(cell.textContent) && cell.checkVisibility()
            && !cell.querySelector('.name') && !cell.matches('#markets td:first-child, .refused td') && cell.scrollWidth > cell.clientWidth + 1 && getComputedStyle(cell).overflow !== 'visible')
            .map((cell) => `${cell.closest('[id]').id}: ${cell.textContent} ${cell.scrollWidth}>${cell.clientWidth}`)""")
        if cut:
            found[width] = cut[:6]
        rate = await tab.run("[...document.querySelectorAll('#streams tbody tr')].find((row) => /fundingRate/.test(row.textContent)).cells[1].textContent")
        expect("%" in rate and "funding rate" in rate, rate)
        await tab.close()
    expect(not found, json.dumps(found, ensure_ascii=False))
    return "none at six widths"


TRUTHS = [an_unlisted_symbol_is_told_and_not_shown, an_instrument_refused_in_part_is_not_live, times_are_the_venues_and_of_one_zone, one_last_price_is_shown,
          unverified_is_the_gateways, a_page_opened_while_the_venue_is_down_says_so, no_number_is_cut]
