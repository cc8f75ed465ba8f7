"""Checks of the page's panels: their contents in each state, their layout, and their share of the processor."""

import asyncio
import json
import sys

from gate import Exchange, Gateway
from traders import SYMBOL, key, opened
from truths import LIVE, expect

TEXT = "document.querySelector('{}').textContent"
NAMES = ["markets", "prints", "chart", "derivatives", "heat", "depth", "book", "venues"]
SEEN = "Object.fromEntries([...document.querySelectorAll('[data-panel]')].map((panel) => [panel.dataset.panel, panel.checkVisibility()]))"
SIZES = "Object.fromEntries([...document.querySelectorAll('[data-panel]')].map((panel) => [panel.dataset.panel, [panel.offsetWidth, panel.offsetHeight]]))"
STATE = "document.querySelector('#derivatives-state').dataset.state"


async def reloaded(tab):
    await tab.run("window.isOld = true")
    await tab.call("Page.reload")
    await tab.until(f"!window.isOld && {LIVE}", 60)


async def drag(tab, place, x, y):
    """Drags the middle of an element."""
    left, top = await tab.run(f"(() => {{ const {{ left, top, width, height }} = document.querySelector('{place}').getBoundingClientRect(); return [left + width / 2, top + height / 2]; }})()")
    for kind, at_x, at_y in (("mousePressed", left, top), ("mouseMoved", left + x / 2, top + y / 2), ("mouseMoved", left + x, top + y), ("mouseReleased", left + x, top + y)):
        await tab.call("Input.dispatchMouseEvent", type=kind, x=at_x, y=at_y, button="left", buttons=0 if kind == "mouseReleased" else 1, clickCount=1)


async def panels_are_hidden_resized_and_remembered(gateway, gate, browser):
    """Each panel is hidden and shown by its key and resized by dragging and by keys. A reload keeps both, and the reset restores all."""
    tab = await opened(browser, gate.address, width=1440, height=900)
    await tab.until(f"{SEEN}.venues", 20)
    usual = await tab.run(SIZES)
    for place, name in enumerate(NAMES):
        await key(tab, str(place + 1), str(place + 1))
        await tab.until(f"!({SEEN})['{name}']", 5)
        shown = await tab.run(SEEN)
        expect(not [other for other in NAMES if other != name and not shown[other]], f"{name} hid another panel: {shown}")
        box = await tab.run("(() => { const { right, bottom } = document.querySelector('#panels').getBoundingClientRect(); return [right, bottom]; })()")
        filled = await tab.run("Math.max(...[...document.querySelectorAll('.work .card')].filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().right))")
        expect(abs(filled - box[0]) < 2, f"without {name} the panels end at {filled} of {box[0]}")
        if name == "heat":
            await reloaded(tab)
            expect(not (await tab.run(SEEN))["heat"], "a reload shows a hidden panel")
        await key(tab, str(place + 1), str(place + 1))
        await tab.until(f"({SEEN})['{name}']", 5)
    for key_name in ("1", "2", "3", "4", "5", "6", "7"):
        await key(tab, key_name, key_name)
    shown = await tab.run(SEEN)
    expect(not [name for name in NAMES[:7] if shown[name]], f"panels remain: {shown}")
    for key_name in ("1", "2", "3", "4", "5", "6", "7"):
        await key(tab, key_name, key_name)
    await tab.run("document.querySelector('[data-sizes=left]').focus()")
    for _ in range(3):
        await key(tab, "ArrowRight", code=39)
    expect((await tab.run(SIZES))["left"][0] == usual["left"][0] + 48, "the arrow keys do not resize")
    for name, x, y in (("bottom", 0, -60), ("book", -40, 0), ("prints", 0, -50), ("derivatives", 30, 0), ("depth", -20, 0)):
        before = await tab.run(SIZES)
        await drag(tab, f"[data-sizes={name}]", x, y)
        changed = await tab.run(SIZES)
        grown = max(changed[name][axis] - before[name][axis] for axis in (0, 1))
        expect(abs(grown - abs(x + y)) <= 2, f"{name} grew by {grown} for {x + y}")
    await reloaded(tab)
    await tab.until(f"{SEEN}.venues", 20)
    kept = await tab.run(SIZES)
    expect(all(abs(kept[name][0] - changed[name][0]) < 3 and abs(kept[name][1] - changed[name][1]) < 3 for name in ("left", "bottom", "book", "prints", "derivatives", "depth")), f"{kept} after {changed}")
    await key(tab, "o", "o")
    await tab.until("document.querySelector('#settings').open")
    await tab.run("document.querySelector('#settings-panels input').click(); document.querySelector('#settings-reset').click(); document.querySelector('#settings').close()")
    await asyncio.sleep(1)
    expect(await tab.run(SIZES) == usual, f"{await tab.run(SIZES)} after a reset of {usual}")
    expect(not tab.complaints, tab.complaints)
    await tab.close()
    return f"{len(NAMES)} panels, 6 sizes"


LOOKS = """(() => { const root = getComputedStyle(document.documentElement);
    return { background: getComputedStyle(document.body).backgroundColor, up: root.getPropertyValue('--up').trim(), row: document.querySelector('#markets tbody td').offsetHeight,
        zone: document.querySelector('#zone').textContent, total: document.querySelector('#total-unit').textContent }; })()"""


async def settings_change_the_page_and_are_kept(gateway, gate, browser):
    """Theme, density, colors, time zone and totals change what they say, against the system's theme too. A reload keeps them. Larger type above 1920 px."""
    tab = await opened(browser, gate.address, width=1440, height=900)
    before = await tab.run(LOOKS)
    chosen = {"theme": "dark", "density": "compact", "colors": "blue", "zone": "local", "amounts": "quote"}
    await key(tab, "o", "o")
    for name, value in chosen.items():
        await tab.run(f"document.querySelector('#settings-choices [name={name}][value={value}]').click()")
    await tab.run("document.querySelector('#settings').close()")
    for _ in range(2):
        await asyncio.sleep(1)
        after = await tab.run(LOOKS)
        expect(not [name for name in before if before[name] == after[name]], f"{before} and {after}")
        expect(after["row"] < before["row"] and after["background"] == "rgb(12, 13, 15)", after)
        await reloaded(tab)
        await tab.until("document.querySelector('#markets tbody td') !== null")
    await tab.view(width=1440, height=900, dark=True)
    await tab.run("document.querySelector('#settings-choices [name=theme][value=light]').click()")
    expect((await tab.run(LOOKS))["background"] == before["background"], "the system's theme is stronger than the chosen one")
    await tab.run("document.querySelector('#settings-reset').click()")
    await tab.view(width=1440, height=900)
    expect(await tab.run(LOOKS) == before, f"{await tab.run(LOOKS)} after a reset of {before}")
    small = await tab.run("getComputedStyle(document.body).fontSize")
    await tab.view(width=2560, height=1440)
    large = await tab.run("getComputedStyle(document.body).fontSize")
    expect(float(large[:-2]) >= float(small[:-2]) * 1.2, f"{small} and {large}")
    await tab.close()
    return f"{len(chosen)} choices, {small} and {large}"


# The texts of the chart's axes, as they are drawn.
DRAWN = """(() => { window.drawn = new Map(); const own = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { drawn.set(text, performance.now()); return own.call(this, text, ...rest); }; })()"""
AXIS = "[...drawn].filter(([text, at]) => /^\\d\\d:\\d\\d$/.test(text) && performance.now() - at < 3000).map(([text]) => text)"


async def every_time_follows_the_zone(gateway, gate, browser):
    """In Tokyo, after `T`, the trades, sums, bars, their axis, the book over time, past values, the log and the footer are nine hours later, and after another `T` they are UTC again."""
    tab = await browser.tab("about:blank", width=1440, height=900)
    await tab.call("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")
    await tab.call("Page.addScriptToEvaluateOnNewDocument", source=DRAWN)
    await tab.call("Page.navigate", url=gate.address)
    await tab.until(LIVE, 60)
    await tab.until("/\\d\\d:\\d\\d/.test(document.querySelector('#heat-read').textContent) && /\\d\\d:\\d\\d/.test(document.querySelector('#derivatives-read').textContent) && document.querySelector('#log time') !== null", 30)
    times = """Object.fromEntries(Object.entries({ trade: '#trades tbody td:nth-child(4)', sums: '#flow', bar: '#legend', heat: '#heat-read', past: '#derivatives-read', log: '#log li:last-child time' })
        .map(([name, place]) => [name, document.querySelector(place).textContent.match(/(\\d\\d):(\\d\\d)/)[0]]))"""

    def hours(text):
        return int(text[:2]) + int(text[3:5]) / 60

    seen = [await tab.run(times)]
    axes = [await tab.run(AXIS)]
    for word in ("local time, UTC+9", "UTC"):
        await key(tab, "t", "t")
        await tab.until(f"document.querySelector('#zone').textContent === 'Times: {word}'", 5)
        await asyncio.sleep(4)
        seen.append(await tab.run(times))
        axes.append(await tab.run(AXIS))
    for name in seen[0]:
        shift = (hours(seen[1][name]) - hours(seen[0][name])) % 24
        expect(abs(shift - 9) < 0.1, f"{name}: {seen[0][name]} and {seen[1][name]}")
        expect((hours(seen[2][name]) - hours(seen[0][name])) % 24 < 0.1, f"{name}: {seen[0][name]} and later {seen[2][name]}")
    expect(axes[0] and axes[1] and not set(axes[0]) & set(axes[1]) and set(axes[0]) & set(axes[2]), axes)
    await key(tab, "t", "t")
    await reloaded(tab)
    expect(await tab.run(TEXT.format("#zone")) == "Times: local time, UTC+9", "a reload forgets the zone")
    await tab.close()
    return f"{seen[0]} and {seen[1]}, axis {axes[0][:2]} and {axes[1][:2]}"


# The pixels of the last seconds of the book over time: those of slanted gray lines, and those with the color of a size.
COLORS = """(() => { const canvas = document.querySelector('#heat'), ratio = canvas.width / canvas.clientWidth, width = canvas.clientWidth - canvas.dataset.right, second = width / 300;
    const { data } = canvas.getContext('2d').getImageData(Math.round((width - 5 * second) * ratio), 0, Math.ceil(4 * second * ratio), Math.round((canvas.clientHeight - 24) * ratio));
    let [slanted, size] = [0, 0];
    for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] < 40) continue;
        if (Math.abs(data[at] - data[at + 2]) < 12) slanted += 1; else size += 1;
    }
    return [slanted, size]; })()"""
HEAT_LABEL = "document.querySelector('#heat').getAttribute('aria-label')"


async def point(tab, place, part_x, part_y=0.5):
    left, top, width, height = await tab.run(f"(() => {{ const {{ left, top, width, height }} = document.querySelector('{place}').getBoundingClientRect(); return [left, top, width, height]; }})()")
    await tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + width * part_x, y=top + height * part_y)


async def the_book_over_time_is_honest_about_gaps(_, __, browser):
    """Sizes are recorded each second, a time without live data is a hatched gap without sizes, and recording continues after it. The gap remains."""
    async with Exchange(sys.argv[1]) as exchange:
        gateway = await Gateway(sys.argv[1]).start(*exchange.options)
        try:
            tab = await opened(browser, f"http://127.0.0.1:{gateway.port}/", width=1440, height=900)
            await tab.until("document.querySelector('#heat-empty').hidden", 20)
            await asyncio.sleep(12)
            width, right = "document.querySelector('#heat').clientWidth", "document.querySelector('#heat').dataset.right"
            second = f"(({width} - {right}) / 300)"
            await point(tab, "#heat", (await tab.run(f"({width} - {right} - 4 * {second}) / {width}")))
            words = await tab.run(TEXT.format("#heat-read"))
            expect("BTC" in words and "USDT" in words, words)
            gaps = int((await tab.run(HEAT_LABEL)).split(", ")[-1].split()[0])
            await exchange.fault(fault="refuse", forMs=14_000)
            await exchange.fault(fault="drop")
            await tab.until("document.querySelector('#heat-state').dataset.state === 'recovering'", 20)
            await asyncio.sleep(8)
            await point(tab, "#heat", (await tab.run(f"({width} - {right} - 2 * {second}) / {width}")))
            words = await tab.run(TEXT.format("#heat-read"))
            expect("no live data" in words, f"in an outage: {words}")
            # In the last seconds, a column of pixels has the color of the hatching, and none of a size.
            colors = await tab.run(COLORS)
            expect(colors[0] > 10 and colors[1] == 0, f"{colors}: the gap is not hatched, or has sizes")
            await tab.until(LIVE + " && document.querySelector('#heat-state').dataset.state === 'live'", 60)
            await asyncio.sleep(5)
            label = await tab.run(HEAT_LABEL)
            expect(int(label.split(", ")[-1].split()[0]) > gaps, f"{label} after {gaps} gaps")
            expect(not tab.complaints or all("/readyz" in line for line in tab.complaints), tab.complaints)
            await tab.close()
            return f"{label}; {colors}"
        finally:
            await gateway.end()


async def past_values_say_their_state(gateway, gate, browser):
    """Each tab shows values with units and their state. If a venue lacks one, the panel says so. If the gateway does not answer, the values are stale. Keys read a value."""
    gate.replies["/futures/data/globalLongShortAccountRatio"] = (404, json.dumps({"code": -5000, "msg": "Path /futures/data/globalLongShortAccountRatio is invalid"}))
    tab = await opened(browser, gate.address, width=1440, height=900)
    shown = {}
    for name, wanted in (("funding", "%"), ("interest", "USDT"), ("basis", "%")):
        await tab.run(f"document.querySelector('#derivatives-tabs [data-shows={name}]').click()")
        await tab.until(f"{STATE} === 'live' && /\\d/.test({TEXT.format('#derivatives-read')})", 30)
        shown[name] = await tab.run(TEXT.format("#derivatives-now") + " + ' | ' + " + TEXT.format("#derivatives-read"))
        expect(all(wanted in part for part in shown[name].split(" | ")), shown[name])
        pixels = await tab.run("document.querySelector('#derivatives').getContext('2d').getImageData(0, 0, 2000, 2000).data.filter((value, at) => at % 4 === 3 && value).length")
        expect(pixels > 200, f"{name} is not drawn")
    await tab.run("document.querySelector('#derivatives').focus()")
    last = await tab.run(TEXT.format("#derivatives-read"))
    for _ in range(12):
        await key(tab, "ArrowLeft", code=37)
    expect(await tab.run(TEXT.format("#derivatives-read")) != last, "the arrow keys read nothing")
    await tab.run("document.activeElement.blur(); document.querySelector('#derivatives-tabs [data-shows=ratio]').click()")
    await tab.until(f"{STATE} === 'refused' && {TEXT.format('#derivatives-empty')}.includes('The venue does not publish this')", 20)
    expect(await tab.run(TEXT.format("#derivatives-read")) == "", "a refused value is shown")
    gate.replies.clear()
    gate.replies["/futures/data/openInterestHist"] = (503, json.dumps({"code": -1001, "msg": "The venue does not answer."}))
    await tab.run("document.querySelector('#derivatives-tabs [data-shows=interest]').click(); document.querySelector('#period').value = '15m'; document.querySelector('#period').dispatchEvent(new Event('change'))")
    await tab.until(f"{STATE} === 'failed' && document.querySelector('#derivatives-state').title === 'The venue does not answer.'", 20)
    expect("The venue does not answer." in await tab.run(TEXT.format("#derivatives-empty")), "a failure without its reason")
    gate.replies.clear()
    await tab.until(f"{STATE} === 'live'", 30)
    await key(tab, "p", "p")
    await tab.until(f"{STATE} === 'paused'", 10)
    await key(tab, "p", "p")
    await tab.until(f"{STATE} === 'live'", 10)
    await gateway.end()
    await tab.until(f"{STATE} === 'lost' && /newest/.test({TEXT.format('#derivatives-state')})", 20)
    await tab.close()
    return shown


async def several_charts_share_one_connection(gateway, gate, browser):
    """Two and four charts have symbols and intervals of their own, draw bars, and stay after a reload. The page opens one connection of events."""
    tab = await opened(browser, gate.address, width=1920, height=1080)
    await key(tab, "n", "n")
    await tab.until("document.querySelector('#charts').dataset.count === '2'", 5)
    second = "document.querySelectorAll('#charts .chart')[1]"
    await tab.run(f"{second}.querySelector('.pane-symbol').click()")
    await tab.until("document.querySelector('#picker').open")
    await tab.call("Input.insertText", text="doge")
    await tab.until("document.querySelector('#picks [aria-selected=true]')?.dataset.symbol === 'DOGEUSDT'", 10)
    await key(tab, "Enter", "\r", code=13)
    await tab.run(f"[...{second}.querySelectorAll('[data-part=intervals] button')].find((button) => button.textContent === '15m').click()")
    drawn = f"/^\\d{{4}}-.* C 0\\.\\d+/.test({second}.querySelector('[data-part=legend]').textContent)"
    await tab.until(drawn, 30)
    expect(await tab.run(SYMBOL) == "BTCUSDT", "the other chart changed the chosen symbol")
    await key(tab, "n", "n")
    await tab.until("document.querySelector('#charts').dataset.count === '4' && [...document.querySelectorAll('#charts .chart')].filter((chart) => chart.checkVisibility()).length === 4", 5)
    await tab.until("[...document.querySelectorAll('#charts [data-part=legend]')].every((legend) => /O .* C /.test(legend.textContent))", 30)
    await reloaded(tab)
    await tab.until(f"{drawn} && document.querySelector('#charts').dataset.count === '4'", 30)
    streams = await tab.run("[...document.querySelectorAll('#streams .name')].map((name) => name.textContent)")
    expect("dogeusdt@kline_15m" in streams and len(streams) == len(set(streams)), streams)
    one = len(gate.heads)
    expect(one <= 2, f"{one} connections of two loads")
    await key(tab, "n", "n")
    await tab.until("[...document.querySelectorAll('#streams .name')].every((name) => name.textContent !== 'dogeusdt@kline_15m')", 10)
    expect(not tab.complaints, tab.complaints)
    await tab.close()
    return f"{len(streams)} streams, {one} connections of two loads"


# Each visible number in a panel that nothing marks: neither its own look nor the state of its panel.
BARE = """(() => {
    const quiet = 'th, select, option, button, kbd, h2, label, time, .state, .hidden, .last small, [data-part=intervals], small[data-unit], #age, #venues-asset, #group';
    const marked = '.aged, .aged-book td, .aged-chart, .refused';
    const found = [];
    for (const panel of document.querySelectorAll('.instrument, [data-panel]:is(section)')) {
        const walker = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT);
        const states = [...panel.querySelectorAll(':scope > .head .state, :scope > .row .state')].map((state) => state.dataset.state);
        const isMarked = states.some((state) => state && !['live', 'connecting'].includes(state));
        while (walker.nextNode()) {
            const { parentElement: element, data } = walker.currentNode;
            if (!/\\d/.test(data) || !element.checkVisibility() || element.closest(quiet) || element.matches('dt, .quote small')) continue;
            if (isMarked && !panel.matches('.markets, .book, .prints, .venues') || element.closest(marked) || element.closest('ALLOWED')) continue;
            found.push(`${panel.dataset.panel ?? 'instrument'} ${element.id || element.tagName}: ${data.trim()}`);
        }
    }
    const frozen = ['#price', '#middle', '#chart-last', '#mark', '#spread', '#book-flow', '#flow'].filter((place) => /\\d/.test(document.querySelector(place).textContent) && !document.querySelector(place).matches('.aged'));
    return [...found, ...frozen.map((place) => `${place} looks live`)];
})()"""
# What the gateway polls over REST does not freeze with the venue's sockets, nor do other venues.
POLLED = "#interest, #interest-worth, #annualised, [data-panel=derivatives], #venues-table tr:not(.aged), #venues-facts"


async def no_panel_shows_a_number_without_its_state(_, __, browser):
    """If the exchange freezes, everything is paused, or the gateway is lost, each number in each panel is marked, or its panel says its state. Live, none is marked."""
    async with Exchange(sys.argv[1]) as exchange:
        gateway = await Gateway(sys.argv[1]).start(*exchange.options)
        seen = {}
        try:
            tabs = {width: await opened(browser, f"http://127.0.0.1:{gateway.port}/", width=width, height=height) for width, height in ((1440, 900), (390, 844))}
            await asyncio.sleep(15)
            for tab in tabs.values():
                bare = await tab.run(BARE.replace("ALLOWED", ".none"))
                expect(len(bare) > 100, f"only {len(bare)} numbers are seen while live")
                aged = await tab.run("[...document.querySelectorAll('.aged, .aged-book, .aged-chart')].filter((one) => one.checkVisibility()).map((one) => one.id || one.className)")
                expect(not aged, f"live, and marked: {aged}")

            async def all_marked(state, allowed, seconds):
                for width, tab in tabs.items():
                    began = asyncio.get_running_loop().time()
                    try:
                        await tab.until(f"{BARE.replace('ALLOWED', allowed)}.length === 0", seconds)
                    except TimeoutError:
                        raise AssertionError(f"{state} at {width}: {await tab.run(BARE.replace('ALLOWED', allowed))}")
                    seen[f"{state} {width}"] = f"{asyncio.get_running_loop().time() - began:.1f} s"
            await exchange.fault(fault="stall", forMs=60_000)
            await all_marked("frozen", POLLED, 45)
            await exchange.fault(fault="stall", forMs=1)
            for tab in tabs.values():
                await tab.until(LIVE, 90)
            await asyncio.sleep(3)
            for tab in tabs.values():
                await tab.run("document.querySelector('#pause').click()")
            await all_marked("paused", ".none", 15)
            for tab in tabs.values():
                await tab.run("document.querySelector('#pause').click()")
                await tab.until(LIVE, 60)
            await asyncio.sleep(3)
            await gateway.end()
            await all_marked("gateway lost", ".none", 20)
            for tab in tabs.values():
                await tab.close()
            return seen
        finally:
            await gateway.end()


async def every_key_acts(gateway, gate, browser):
    """Each key of the list acts, each control can be reached with Tab, and the list has every key."""
    tab = await opened(browser, gate.address, width=1440, height=900)
    await tab.until(f"{SEEN}.venues", 20)
    pressed = "document.querySelector('#intervals [aria-pressed=true]').textContent"
    acts = [("?", "document.querySelector('#keys').open", "?"), ("l", "document.querySelector('#alerts').open", None), ("c", "document.querySelector('#chart-options').open", None),
            ("o", "document.querySelector('#settings').open", None), ("/", "document.activeElement.id === 'search'", "blur"), ("a", "document.activeElement.id === 'name' && !document.querySelector('#data').hidden", "blur"),
            ("d", "document.querySelector('#data').hidden", None), ("s", "document.querySelector('#star').getAttribute('aria-pressed') === 'true'", "s"), ("v", "document.querySelector('#venues-box').hidden", "v"),
            (".", f"{pressed} === '5m'", None), (",", f"{pressed} === '1m'", None), ("n", "document.querySelector('#charts').dataset.count === '2'", "n"), ("t", "document.querySelector('#zone').textContent !== 'Times: UTC'", "t"),
            ("u", "document.querySelector('#total-unit').textContent === 'USDT'", "u"), ("p", "document.querySelector('#pause').textContent === 'Resume'", "p")]
    for name, wanted, undo in acts:
        await key(tab, name, name)
        await tab.until(wanted, 10)
        if undo == "blur":
            await tab.run("document.activeElement.blur()")
        elif undo:
            await key(tab, undo, undo)
        else:
            await key(tab, "Escape", code=27)
        await tab.until("document.querySelector('dialog[open]') === null", 5)
    await key(tab, "n", "n")
    await key(tab, "k", modifiers=2)
    await tab.until("document.querySelector('#picker').open", 5)
    await key(tab, "Escape", code=27)
    await tab.until(LIVE, 20)
    for place, name, code, changes in (("#markets-scroll", "ArrowUp", 38, SYMBOL), ("#book-box", "ArrowUp", 38, "document.querySelectorAll('#book .chosen').length"),
                                       ("#heat", "ArrowLeft", 37, TEXT.format("#heat-read")), ("#derivatives", "ArrowLeft", 37, TEXT.format("#derivatives-read")),
                                       ("[data-sizes=book]", "ArrowLeft", 37, "document.querySelector('[data-panel=book]').offsetWidth")):
        await tab.until(f"document.querySelector('{place}').checkVisibility()")
        before = await tab.run(changes)
        await tab.run(f"document.querySelector('{place}').focus()")
        for _ in range(8):
            await key(tab, name, code=code)
        await tab.until(f"({changes}) !== {json.dumps(before)}", 10)
    await tab.run("document.activeElement.blur()")
    listed = set(await tab.run("[...document.querySelectorAll('#keys-list kbd')].map((one) => one.textContent)"))
    wanted = {name.upper() for name, _, _ in acts} | {"CTRL K"} | {str(place + 1) for place in range(len(NAMES))}
    expect(wanted <= {one.upper() for one in listed}, f"not in the list: {wanted - {one.upper() for one in listed}}")
    unreached = await tab.run("[...document.querySelectorAll('button, select, input, a, [tabindex]')].filter((one) => one.checkVisibility() && one.tabIndex < 0 && !one.matches('.star')).map((one) => one.outerHTML.slice(0, 80))")
    expect(not unreached, unreached)
    expect(not tab.complaints, tab.complaints)
    await tab.close()
    return f"{len(acts) + 6} keys"


async def a_phone_shows_price_chart_and_book_first(gateway, gate, browser):
    """Without scrolling, a phone shows the price, the chart and at least six levels of each side of the book, and nothing is wider than it."""
    tab = await opened(browser, gate.address, width=390, height=844)
    await tab.until("document.querySelector('#chart canvas') !== null && document.querySelector('.bids td').textContent !== ''", 30)
    await asyncio.sleep(2)
    for state in ("live", "paused"):
        seen = await tab.run("""(() => { const within = (one) => { const { top, bottom, height } = one.getBoundingClientRect(); return height > 0 && top >= 0 && bottom <= 844; };
            return { price: within(document.querySelector('#price')), chart: within(document.querySelector('#chart')) && document.querySelector('#chart').clientHeight,
                levels: ['asks', 'bids'].map((side) => [...document.querySelectorAll(`#book .${side} tr`)].filter((row) => within(row) && row.textContent).length),
                wide: document.documentElement.scrollWidth }; })()""")
        expect(seen["price"] and seen["chart"] >= 200 and min(seen["levels"]) >= 6 and seen["wide"] <= 390, f"{state}: {seen}")
        await tab.run("document.querySelector('#pause').click()")
        await asyncio.sleep(1.5)
    await tab.close()
    return seen


async def twenty_levels_where_there_is_room(gateway, gate, browser):
    """At 1440 × 900 without the venues, and at 2560 × 1440 with them, the ladder has at least 20 levels on each side."""
    counts = {}
    for width, height, venues in ((1440, 900, False), (2560, 1440, True)):
        tab = await opened(browser, gate.address, width=width, height=height)
        await tab.run(f"localStorage.setItem('futures-gateway venues', '{str(venues).lower()}')")
        await reloaded(tab)
        await asyncio.sleep(2)
        counts[width] = await tab.run("""(() => { const { bottom, top } = document.querySelector('#book-box').getBoundingClientRect();
            return ['asks', 'bids'].map((side) => [...document.querySelectorAll(`#book .${side} tr`)].filter((row) => row.textContent && row.getBoundingClientRect().top >= top && row.getBoundingClientRect().bottom <= bottom + 1).length); })()""")
        expect(min(counts[width]) >= 20, counts)
        await tab.close()
    return counts


PANELS = [panels_are_hidden_resized_and_remembered, settings_change_the_page_and_are_kept, every_time_follows_the_zone, the_book_over_time_is_honest_about_gaps,
          past_values_say_their_state, several_charts_share_one_connection, no_panel_shows_a_number_without_its_state, every_key_acts,
          a_phone_shows_price_chart_and_book_first, twenty_levels_where_there_is_room]
