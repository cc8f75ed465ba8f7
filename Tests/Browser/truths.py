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
    await tab.until("/:/.test(document.querySelector('#countdown').textContent) && document.querySelector('#trades tbody td:nth-child(4)') !== null")
    shown = await tab.run("document.querySelector('#countdown').textContent")
    due = (await gateway.get("streams/btcusdt@markPrice"))["content"]["nextFundingTime"] / 1000 - time.time()
    hours, minutes, seconds = map(int, shown.split(":"))
    expect(abs(hours * 3600 + minutes * 60 + seconds - due) < 5, f"{shown}, and it is {due:.0f} s")
    moment = await tab.run("document.querySelector('#trades tbody td:nth-child(4)').textContent")
    hours, minutes, seconds = map(int, moment.split(":"))
    apart = abs(hours * 3600 + minutes * 60 + seconds - time.time() % 86400)
    expect(min(apart, 86400 - apart) < 60, f"{moment} is not UTC")
    await tab.close()
    return f"{shown} to the funding, a trade at {moment}"


# Notes each frame in which the five last prices differ.
FIVE = """(() => { window.seen = { frames: 0, updates: 0, apart: [] }; let before = '';
    const texts = ['#price', '#chart-last b', '#markets [aria-current=true] td:nth-child(2)', '#middle'];
    const look = () => {
        seen.frames += 1;
        const prices = [...texts.map((place) => document.querySelector(place)?.textContent), document.title.match(/[\\d.,]+/)?.[0]];
        if (prices[0] !== before) seen.updates += 1;
        before = prices[0];
        if (new Set(prices).size > 1) seen.apart.push(prices);
        requestAnimationFrame(look);
    };
    requestAnimationFrame(look); return true; })()"""


async def one_last_price_is_shown(gateway, gate, browser):
    """In no frame do the header, the chart, the chosen row, the ladder and the title say different prices, over 200 changes, also while the table is scrolled."""
    tab = await browser.tab(gate.address)
    await tab.until(LIVE + " && document.querySelector('#markets tbody tr') !== null", 60)
    await tab.until("document.querySelector('#markets [aria-current=true]') !== null && !document.querySelector('#chart-last').hidden", 30)
    await tab.run(FIVE)
    for step in range(1500):
        await tab.run(f"document.querySelector('#markets-scroll').scrollTop = {step % 2}")
        await asyncio.sleep(0.2)
        if await tab.run("seen.updates") >= 200:
            break
    frames, updates, apart = await tab.run("[seen.frames, seen.updates, seen.apart]")
    expect(updates >= 200, f"{updates} prices in {frames} frames")
    expect(not apart, f"{len(apart)} of {frames}: {apart[:3]}")
    await tab.close()
    return f"{frames} frames, {updates} prices, none apart"


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


# Every element whose text has less room than it needs, and everything that is wider than the window.
CUT = """[...document.querySelectorAll('body *')].filter((one) => one.checkVisibility() && !one.closest('.plot') && !one.matches('.hidden, canvas, option, input')).filter((one) => {
        const { overflowX, textOverflow, display } = getComputedStyle(one);
        const hides = overflowX !== 'visible' || textOverflow === 'ellipsis';
        const sticksOut = one.getBoundingClientRect().right > innerWidth + 1;
        return (hides && display !== 'inline' && one.scrollWidth > one.clientWidth + 1) || sticksOut;
    }).map((one) => `${one.closest('[id]')?.id} ${one.tagName}.${one.className}: ${one.textContent.trim().slice(0, 60)} ${one.scrollWidth}>${one.clientWidth}`)"""
# Makes every decimal of the venue much larger, or much smaller with more digits.
GROW = "(text) => `98765${text}`"
SHRINK = "(text) => `0.0000${text.replace('.', '').slice(0, 8)}`"
CHANGE = """(async () => {
    const { Feed, StreamContent } = await import('./web/client.js');
    const change = (value) => {
        if (typeof value === 'string') return /^\\d+\\.\\d+$/.test(value) ? (%s)(value) : value;
        if (Array.isArray(value)) return value.map(change);
        return value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one)])) : value;
    };
    const { get } = Object.getOwnPropertyDescriptor(StreamContent.prototype, 'value');
    Object.defineProperty(StreamContent.prototype, 'value', { get() { return change(get.call(this)); } });
    const dispatch = Feed.prototype.dispatchEvent;
    Feed.prototype.dispatchEvent = function (event) {
        return dispatch.call(this, event.detail?.content ? new CustomEvent(event.type, { detail: { ...event.detail, content: change(event.detail.content) } }) : event);
    };
    document.querySelector('#data-open').click();
    return true; })()"""


async def nothing_is_cut(gateway, gate, browser):
    """At no usual width has a text less room than it needs: for usual, very large and very small prices, with all panels, the drawer and an outage."""
    found, looked = {}, 0
    for width, height in ((390, 844), (820, 1100), (1024, 900), (1280, 800), (1440, 900), (1920, 1080), (2560, 1440)):
        for symbol, change in (("btcusdt", "(text) => text"), ("btcusdt", GROW), ("1000pepeusdt", SHRINK)):
            tab = await browser.tab("about:blank", width=width, height=height)
            await tab.call("Page.navigate", url=f"{gate.address}?{width}#{symbol},{symbol}@fundingRate,1000pepeusdt@markPrice,ethusdt@bookTicker,nope@depth")
            try:
                await tab.until(LIVE, 150)
            except TimeoutError:
                raise AssertionError(f"{width} {symbol}: {await tab.run('document.body.innerText.slice(0, 300)')} {tab.complaints}")
            await tab.run("localStorage.removeItem('futures-gateway drawer'); true")
            await tab.run(CHANGE % change)
            await asyncio.sleep(4)
            cut = await tab.run(CUT)
            looked += await tab.run("document.querySelectorAll('body *').length")
            if cut:
                found[f"{width} {symbol} {change}"] = cut[:6]
            await tab.close()
    expect(not found, json.dumps(found, ensure_ascii=False, indent=1))
    return f"{looked} elements at seven widths"


TRUTHS = [an_unlisted_symbol_is_told_and_not_shown, an_instrument_refused_in_part_is_not_live, times_are_the_venues_and_of_one_zone, one_last_price_is_shown,
          unverified_is_the_gateways, a_page_opened_while_the_venue_is_down_says_so, nothing_is_cut]
