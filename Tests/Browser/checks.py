"""Proofs in a real browser: the page, client.js and Chromium's own EventSource against the built gateway.

    checks.py EXECUTABLE [CHECK…]      KILLS=50 in the environment sets how often the gateway is killed

Skips, and says so, where Chromium or the Python package `websockets` is absent.
"""
import asyncio
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

from chromium import EXECUTABLE, Chromium, websockets
from gate import Exchange, Gate, Gateway, Wire, header
from panels import PANELS
from traders import TRADERS
from truths import TRUTHS
from venues import VENUES

KILLS = int(os.environ.get("KILLS", "50"))
MARK = "btcusdt@markPrice@1s"
# A stream that the page reads of itself.
BOOK = "btcusdt@depth"
WEB = os.path.join(os.path.dirname(__file__), "../../Sources/FuturesGateway/Web")


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def feed(names, options="{}"):
    """A script that makes `feed` on a page without one."""
    return f"import('/client.js').then(({{ Feed }}) => {{ window.feed = new Feed({json.dumps(names)}, {options}); return true; }})"


# An EventSource that notes what became of it.
NATIVE = """
    window.seen = { closed: 0, opened: 0, sessions: [], ids: [], byes: [] };
    window.source = new EventSource('/events?streams=%s');
    source.onopen = () => seen.opened++;
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) seen.closed++; };
    source.addEventListener('session', (event) => seen.sessions.push(JSON.parse(event.data)));
    source.addEventListener('bye', (event) => seen.byes.push(JSON.parse(event.data).code));
    for (const name of ['update', 'fetch']) source.addEventListener(name, (event) => event.lastEventId && seen.ids.push(event.lastEventId));
    true
"""


async def event_source_survives(gateway, gate, browser):
    """EventSource and Feed over many kills, cuts and drains: never CLOSED, Last-Event-ID every time."""
    tab = await browser.tab(gate.address + "healthz")
    await tab.until("document.readyState === 'complete'")
    await tab.run(NATIVE % MARK)
    await tab.run(feed([MARK, "btcusdt@depth"], "{ shared: false }"))
    await tab.until("seen.ids.length > 1 && feed.get('btcusdt@depth')")
    resumes, drains = {}, 0
    for number in range(KILLS):
        kind = ("kill", "cut", "drain")[number % 3]
        # What the browser had last, and the requests made up to then.
        await tab.run("seen.ids.length = 0, seen.sessions.length = 0, seen.opened = 0")
        before = len(gate.heads)
        await tab.until("seen.ids.length > 0")
        if kind == "cut":
            gate.cut()
        else:
            await gateway.end(graceful=kind == "drain")
            await asyncio.sleep(random.random() / 2)
            await gateway.start()
        # The id is noted after the end, so that one that came just before counts too.
        await tab.until("source.readyState !== EventSource.OPEN || seen.sessions.length")
        last = await tab.run("seen.opened ? undefined : seen.ids.at(-1)")
        session = await tab.until("seen.sessions[0]", 60)
        resumes[f"{kind}:{session['resume']}"] = resumes.get(f"{kind}:{session['resume']}", 0) + 1
        native = [head for head in gate.heads[before:] if f"streams={MARK} " in head]
        expect(native, f"no request after {kind} {number}")
        given = [header(head, "Last-Event-ID") for head in native]
        expect(all(given), f"a request without Last-Event-ID after {kind} {number}: {given}")
        expect(last is None or given[0] == last, f"Last-Event-ID {given[0]} where {last} was the last, after {kind} {number}")
        await tab.until("feed.connection.state === 'open' && feed.status('btcusdt@depth').state === 'live' && feed.get('btcusdt@depth')", 60)
    seen = await tab.run("seen")
    expect(seen["closed"] == 0, f"CLOSED {seen['closed']} times")
    drains = seen["byes"].count("draining")
    expect(KILLS < 3 or drains, "no goodbye was heard")
    return f"{KILLS} ends, CLOSED never, {drains} goodbyes heard, Last-Event-ID every time, resumed {resumes}"


async def overload_passes(_, __, browser):
    """A gateway that serves as many as it may answers 200 and bye; the browser comes back once there is room."""
    async with await start("--max-connections", "6") as gateway, Gate(gateway) as gate:
        tab = await browser.tab(gate.address + "healthz")
        await tab.until("document.readyState === 'complete'")
        held = [await asyncio.open_connection("127.0.0.1", gateway.port) for _ in range(12)]
        for _, writer in held:
            writer.write(f"GET /events?streams={MARK} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await asyncio.sleep(0.5)
        await tab.run(NATIVE % MARK)
        await tab.until("seen.byes.length >= 2", 30)
        expect(await tab.run("seen.closed") == 0, "CLOSED by an overload")
        for _, writer in held:
            writer.close()
        await tab.until("seen.sessions.length", 30)
        return f"byes {await tab.run('seen.byes')}, then a session"


async def only_the_permanent_is_permanent(gateway, gate, browser):
    """Feed stops for 401, 403, 404 and 204, says why, and comes back from everything else that a proxy may say."""
    results = {}
    for status in (204, 401, 403, 404, 429, 500, 502, 503):
        tab = await browser.tab(gate.address + "healthz")
        await tab.until("document.readyState === 'complete'")
        gate.answer = status
        await tab.run(feed([MARK], "{ shared: false }"))
        state = await tab.until("['closed', 'lost'].find((state) => state === feed.connection.state)", 30)
        await asyncio.sleep(1)
        state = await tab.run("feed.connection.state")
        expect(state == ("closed" if status < 429 else "lost"), f"{state} after {status}")
        if state == "closed":
            expect(await tab.run("feed.connection.error"), f"no reason for {status}")
        gate.answer = None
        if state == "closed":
            await tab.run("feed.retry()")
        await tab.until(f"feed.connection.state === 'open' && feed.get('{MARK}')", 30)
        results[status] = state
        await tab.close()
    tab = await browser.tab(gate.address + "healthz")
    await tab.until("document.readyState === 'complete'")
    await tab.run(feed([MARK, "nope@markPrice"], "{ shared: false }"))
    await tab.until(f"feed.get('{MARK}')")
    expect("does not list" in await tab.run("feed.status('nope@markPrice').error"), "an unknown stream without a reason")
    await tab.run("feed.add('nope@ticker', 'ethusdt@markPrice@1s')")
    await tab.until("feed.status('nope@ticker').error && feed.get('ethusdt@markPrice@1s')")
    await tab.run(NATIVE % "nope@markPrice")
    await tab.until("seen.closed === 1")
    await tab.close()
    return f"{results}; an unknown stream is refused alone"


async def merged_is_what_the_gateway_has(gateway, gate, browser):
    """What Feed merged from full values and changes is what GET /streams/{name} gives at the same id.

    A full book is cut off at its limit, and the gateway knows what lies beyond: the last levels may lack at Feed's, but none may differ.
    """
    names = ["btcusdt@depth@100ms", "ethusdt@depth", "!bookTicker", "!miniTicker@arr", "btcusdt@kline_1m", "btcusdt@aggTrade", "btcusdt@markPrice"]
    tab = await browser.tab(gate.address + "healthz")
    await tab.until("document.readyState === 'complete'")
    await tab.run(feed(names))
    await tab.until(f"{json.dumps(names)}.every((name) => feed.get(name))")
    compared = await tab.run("""(async () => {
        const versions = new Map(), compared = {};
        const note = ({ detail: { stream } }) => versions.set(stream + ' ' + feed.status(stream).id, feed.get(stream));
        feed.addEventListener('update', note);
        feed.addEventListener('fetch', note);
        await new Promise((done) => setTimeout(done, 8000));
        for (let round = 0; round < 20; round++) {
            for (const name of feed.names) {
                const { id, content } = await (await fetch('/streams/' + encodeURIComponent(name))).json();
                for (let wait = 0; wait < 40 && !versions.has(name + ' ' + id); wait++) await new Promise((done) => setTimeout(done, 25));
                const mine = versions.get(name + ' ' + id);
                if (!mine) continue;
                const [bids, asks] = ['bids', 'asks'].map((side) => Math.max(mine[side]?.length ?? 0, 950));
                const pick = (value) => JSON.stringify(value?.bids ? [value.lastUpdateId, value.bids.slice(0, bids), value.asks.slice(0, asks)] : value);
                if (pick(mine) !== pick(content)) return name + ' differs at ' + id + '\\n' + pick(mine).slice(0, 4000) + '\\n' + pick(content).slice(0, 4000);
                compared[name] = (compared[name] ?? 0) + 1;
            }
        }
        return compared;
    })()""")
    expect(isinstance(compared, dict), compared)
    expect(len(compared) == len(names), f"not all could be compared: {compared}")
    await tab.close()
    return compared


async def tabs_share_one_connection(gateway, gate, browser):
    """Two pages are one reader on the server; the last one that goes ends it."""
    first = await browser.tab(gate.address)
    await first.until("document.querySelector('#connection')?.dataset.state === 'open'")
    second = await browser.tab(gate.address)
    await second.until("document.querySelectorAll('#streams tbody tr').length >= 8 && document.querySelector('#price').textContent !== '–'")
    await asyncio.sleep(1)
    expect(await gateway.readers(BOOK) == 1, f"{await gateway.readers(BOOK)} readers for two tabs")
    third = await browser.tab(gate.address + "healthz")
    await third.until("document.readyState === 'complete'")
    await third.run(feed([BOOK], "{ shared: false }"))
    await third.until(f"feed.get('{BOOK}')")
    expect(await gateway.readers(BOOK) == 2, "a connection of its own was not counted")
    await third.close()
    await first.close()
    await asyncio.sleep(2)
    expect(await gateway.readers(BOOK) == 1, "the second tab lost the connection with the first")
    crashing = await browser.tab(gate.address + "healthz")
    await crashing.until("document.readyState === 'complete'")
    await crashing.run(feed(["ethusdt@ticker"]))
    await crashing.until("feed.get('ethusdt@ticker')")
    expect(await gateway.readers("ethusdt@ticker") == 1, "nobody reads what a tab shows")
    crash = asyncio.create_task(crashing.call("Page.crash"))
    await readers(gateway, "ethusdt@ticker", 0)
    crash.cancel()
    await asyncio.wait([crash])
    expect(await gateway.readers(BOOK) == 1, "the second tab lost the connection with one that crashed")
    await second.close()
    await readers(gateway, BOOK, 0)
    return "2 tabs 1 reader, 1 tab 1 reader, a crashed tab none, no tab 0 readers"


async def a_late_tab_is_given_all(gateway, gate, browser):
    """A tab that comes later, or was hidden while another one looked on, has the same as that one, and nothing is subscribed to again for it."""
    names = ["btcusdt@depth@100ms", "btcusdt@aggTrade", "!bookTicker"]
    tabs = []
    for _ in range(2):
        tab = await browser.tab(gate.address + "healthz")
        await tab.until("document.readyState === 'complete'")
        await tab.run(feed(names))
        await tab.run("""window.versions = {}; feed.addEventListener('update', ({ detail: { stream } }) =>
            versions[stream + ' ' + feed.status(stream).id] = JSON.stringify(feed.get(stream))); true""")
        await tab.until(f"{json.dumps(names)}.every((name) => feed.get(name))", 5)
        tabs.append(tab)
        await asyncio.sleep(2)

    async def compare():
        counts = dict.fromkeys(names, 0)
        first, second = [await tab.run("versions") for tab in tabs]
        for version in first.keys() & second.keys():
            expect(first[version] == second[version], f"{version} differs\n{first[version][:2000]}\n{second[version][:2000]}")
            counts[version.split(" ")[0]] += 1
        expect(all(counts.values()), f"not all could be compared: {counts}")
        return counts

    late = await compare()
    await tabs[0].hide(True)
    await asyncio.sleep(3)
    for tab in tabs:
        await tab.run("versions = {}; true")
    await tabs[0].hide(False)
    await asyncio.sleep(3)
    hidden = await compare()
    expect(not [target for target in gate.targets if "subscribe" in target], "streams were subscribed to for a tab that others had")
    for tab in tabs:
        await tab.close()
    return f"late {late}, hidden {hidden}"


async def readers(gateway, name, count):
    for _ in range(100):
        if await gateway.readers(name) == count:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{await gateway.readers(name)} readers of {name}, not {count}")


async def a_silent_connection_is_left(gateway, gate, browser):
    """A connection on which nothing comes any more, not even a heartbeat, is replaced; one that is merely paused is not."""
    tab = await browser.tab(gate.address + "healthz")
    await tab.until("document.readyState === 'complete'")
    await tab.run(feed([MARK]))
    await tab.until(f"feed.get('{MARK}')")
    await tab.run("window.sessions = []; feed.addEventListener('session', ({ detail }) => sessions.push(detail.resume)); feed.pause(); true")
    await asyncio.sleep(50)
    expect(await tab.run("sessions.length") == 0, "a paused connection was given up")
    await tab.run("feed.resume()")
    await tab.until(f"feed.status('{MARK}').age < 1000")
    gate.flows.clear()
    await tab.until("feed.connection.state === 'lost'", 60)
    gate.flows.set()
    await tab.until("sessions.length", 30)
    expect(await tab.run("sessions[0]") == "exact", await tab.run("sessions"))
    await tab.close()
    return "left after 40 s, resumed exactly"


async def hidden_tabs_are_paused(gateway, gate, browser):
    """A stream is paused on the server while no tab that shows it is visible."""
    tabs = [await browser.tab(gate.address + "healthz") for _ in range(2)]
    for tab, names in zip(tabs, ([MARK, "ethusdt@markPrice@1s"], [MARK])):
        await tab.until("document.readyState === 'complete'")
        await tab.run(feed(names))
        await tab.until(f"feed.get('{MARK}')")

    async def paused(*wanted):
        for _ in range(100):
            client = await tabs[0].run("feed.connection.client")
            answer = await gateway.get(f"events/{client}")
            if answer and set(answer["paused"]) == set(wanted):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"paused {answer and answer['paused']}, not {wanted}")

    await paused()
    await tabs[0].hide(True)
    await paused("ethusdt@markPrice@1s")
    await tabs[1].hide(True)
    await paused("ethusdt@markPrice@1s", MARK)
    before = await tabs[0].run(f"feed.status('{MARK}').id")
    await asyncio.sleep(2.5)
    expect(await tabs[0].run(f"feed.status('{MARK}').id") == before, "a paused stream went on")
    await tabs[1].hide(False)
    await paused("ethusdt@markPrice@1s")
    await tabs[1].until(f"feed.status('{MARK}').id !== '{before}' && feed.status('{MARK}').age < 1500")
    await tabs[0].hide(False)
    await paused()
    await tabs[0].run(f"feed.pause('{MARK}')")
    await tabs[1].run(f"feed.pause('{MARK}')")
    await paused(MARK)
    await tabs[0].run("feed.resume()")
    await paused()
    client = await tabs[0].run("feed.connection.client")
    await tabs[0].run("feed.add('solusdt@bookTicker')")
    await tabs[0].until("feed.get('solusdt@bookTicker')")
    await tabs[0].run("feed.remove('solusdt@bookTicker')")
    for _ in range(100):
        if await gateway.readers("solusdt@bookTicker") == 0:
            break
        await asyncio.sleep(0.05)
    expect(await gateway.readers("solusdt@bookTicker") == 0, "a removed stream is still read")
    expect(await tabs[0].run("feed.connection.client") == client, "adding a stream made a new connection")
    for tab in tabs:
        await tab.close()
    # A tab that really goes to the background, behind another one of its window.
    tabs = [await browser.tab(gate.address + "healthz")]
    await tabs[0].until("document.readyState === 'complete'")
    await tabs[0].run(feed([MARK]))
    await tabs[0].until(f"feed.get('{MARK}')")
    await paused()
    target = (await browser.call("Target.createTarget", url=gate.address + "healthz", newWindow=False, background=False))["targetId"]
    await browser.call("Target.activateTarget", targetId=target)
    await tabs[0].until("document.visibilityState === 'hidden'", 5)
    await paused(MARK)
    await browser.call("Target.closeTarget", targetId=target)
    await tabs[0].until("document.visibilityState === 'visible'", 5)
    await paused()
    await tabs[0].close()
    return "paused where nobody looks, also behind another tab; live where one tab is seen"


async def a_new_epoch_starts_anew(gateway, gate, browser):
    """After a restart what was of the old gateway is dropped, and everything comes anew."""
    tab = await browser.tab(gate.address + "healthz")
    await tab.until("document.readyState === 'complete'")
    await tab.run(feed([MARK, "btcusdt@aggTrade"]))
    await tab.until(f"feed.get('{MARK}') && feed.get('btcusdt@aggTrade')")
    old = (await tab.run(f"feed.status('{MARK}').id")).split(".")[0]
    await tab.run("window.reset = new Promise((done) => feed.addEventListener('session', () => done(feed.get('btcusdt@aggTrade') === undefined), { once: true })); true")
    await gateway.end()
    await tab.until(f"feed.status('{MARK}').state === 'lost'")
    expect(await tab.run(f"feed.get('{MARK}') !== undefined"), "what was known is gone while the gateway is")
    await gateway.start()
    expect(await tab.run("reset"), "an old value outlived its gateway")
    await tab.until(f"feed.get('{MARK}') && feed.get('btcusdt@aggTrade')", 60)
    new = (await tab.run(f"feed.status('{MARK}').id")).split(".")[0]
    expect(new != old, "the epoch is the old one")
    await tab.close()
    return f"{old} then {new}"


async def the_example_of_the_documents_runs(gateway, gate, browser):
    """As it stands there, on a page of the gateway and on a page of another origin, where the tab has a connection of its own."""
    with open(os.path.join(os.path.dirname(__file__), "../../docs/start/next-steps.md")) as page:
        code = re.search(r"```js\n(import \{ Feed \}.*?)```", page.read(), re.S)[1]
    heard = {}
    for name, page in {"same": f"http://127.0.0.1:{gateway.port}/", "foreign": gate.address}.items():
        tab = await browser.tab(page + "healthz")
        await tab.until("document.readyState === 'complete'")
        source = code.replace("http://127.0.0.1:8080", f"http://127.0.0.1:{gateway.port}")
        await tab.run("window.lines = []; console.log = (...words) => lines.push(words.join(' ')); true")
        await tab.run(f"import('data:text/javascript,' + encodeURIComponent({json.dumps(source)})).then(() => true)")
        await tab.until("lines.some((line) => line.startsWith('best bid')) && lines.some((line) => / live \\d+ ms$/.test(line))")
        heard[name] = await tab.run("lines.slice(0, 4)")
        await tab.close()
    return heard


async def a_gap_is_closed(gateway, gate, browser):
    """Trades paused for longer than the gateway keeps them: a gap is told, and then the content is whole again."""
    tab = await browser.tab(gate.address + "healthz")
    await tab.until("document.readyState === 'complete'")
    await tab.run(feed(["btcusdt@aggTrade"]))
    await tab.until("feed.get('btcusdt@aggTrade')")
    await tab.run("window.dropped = 0; feed.addEventListener('gap', ({ detail }) => dropped += detail.dropped); feed.pause(); true")
    await asyncio.sleep(75)
    await tab.run("feed.resume()")
    await tab.until("dropped")
    await tab.until("""(() => { const trades = feed.get('btcusdt@aggTrade');
        return trades.length > 400 && trades.every(({ id }, index) => index === 0 || id === trades[index - 1].id + 1); })()""")
    dropped = await tab.run("dropped")
    await tab.close()
    return f"{dropped} dropped, none missing"


async def the_page_works_by_keyboard_and_does_not_jump(gateway, gate, browser):
    """Adding, pausing and removing without a pointer; no layout shift; no complaint in the console."""
    tab = await browser.tab(gate.address, width=390, height=844)
    await tab.run("""window.shift = 0; new PerformanceObserver((list) => { for (const entry of list.getEntries())
        if (!entry.hadRecentInput) shift += entry.value; }).observe({ type: 'layout-shift', buffered: true })""")
    await tab.until("document.querySelector('#price').textContent !== '–' && document.querySelector('.bids td').textContent")
    await tab.run("shift = 0")
    await asyncio.sleep(5)
    shift = await tab.run("shift")
    expect(shift < 0.005, f"the layout shifts by {shift}")
    expect(await tab.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than a phone")

    async def key(name, text=None):
        await tab.call("Input.dispatchKeyEvent", type="keyDown", key=name, code=name, text=text or "", windowsVirtualKeyCode=13 if name == "Enter" else 0)
        await tab.call("Input.dispatchKeyEvent", type="keyUp", key=name, code=name)

    await key("/", "/")
    expect(await tab.run("document.activeElement.id") == "search", "/ does not go to the search")
    await tab.call("Input.insertText", text="trx")
    await key("Enter", "\r")
    await tab.until("document.querySelector('#symbol').textContent === 'TRXUSDT' && document.querySelector('#book-state').textContent === 'Live'")
    await tab.run("document.querySelector('#search').value = ''; document.querySelector('#search').dispatchEvent(new Event('input')); document.querySelector('#markets-scroll').focus()")
    await key("Home")
    first = await tab.run("document.querySelector('#symbol').textContent")
    await key("ArrowDown")
    await tab.until(f"document.querySelector('#symbol').textContent !== '{first}'")
    await tab.run("document.querySelector('#markets-scroll').blur()")
    await key("a", "a")
    expect(await tab.run("document.activeElement.id") == "name", "a does not go to the field for a stream")
    await tab.call("Input.insertText", text="trxusdt@bookTicker")
    await key("Enter", "\r")
    first_row = "document.querySelector('#streams tbody tr')"
    await tab.until(f"{first_row}.textContent.includes('trxusdt@bookTicker') && {first_row}.querySelector('.state').textContent === 'Live'")
    await tab.run(f"{first_row}.querySelector('[title=Remove]').focus()")
    await key("Enter", "\r")
    await tab.until(f"!{first_row}.textContent.includes('trxusdt@bookTicker')")
    await tab.run("document.activeElement.blur()")
    await key("p", "p")
    await tab.until("document.querySelector('#pause').textContent === 'Resume' && document.querySelector('#streams .state').textContent === 'Paused'")
    expect(await tab.run("document.querySelector('#connection').textContent") == "Paused", "the header does not say that all is paused")
    await key("p", "p")
    await tab.until("document.querySelector('#pause').textContent === 'Pause' && document.querySelector('#connection').textContent === 'Live'")
    expect(not tab.complaints, tab.complaints)
    await tab.close()
    return f"layout shift {shift}"


# What stands beside the symbol's name.
HEADER = """(() => { const text = (id) => document.querySelector('#' + id).textContent.trim();
    return { symbol: text('symbol'), texts: ['price', 'change', 'mark', 'index', 'funding', 'high', 'low', 'interest'].map(text), title: document.title }; })()"""


async def no_price_stands_under_another_name(gateway, gate, browser):
    """The moment another symbol is chosen, nothing of the last one is left in the header; liquidations are not compared; the page says DEMO."""
    tab = await browser.tab(f"{gate.address}#btcusdt,!forceOrder@arr,stocks:AAPL,prices:AAPL@quote,bux:sb26493")
    await tab.until(r"/\d/.test(document.querySelector('#price')?.textContent)", 60)
    expect(await tab.run("document.querySelector('#venue').textContent") == "DEMO: simulated data", "the page does not say DEMO")
    expect("DEMO" in await tab.run("document.title"), "the title does not say DEMO")
    await tab.run("""window.seen = []; new MutationObserver(() => seen.push(%s)).observe(document.querySelector('.instrument'),
        { subtree: true, childList: true, characterData: true }); document.querySelector('#name').value = 'dogeusdt'; document.querySelector('#add').requestSubmit(); true""" % HEADER)
    await tab.until("document.querySelector('#symbol').textContent === 'DOGEUSDT' && document.querySelector('#interest').textContent !== '–'")
    wrong = [one for one in await tab.run("seen") if one["symbol"] == "DOGEUSDT" and any(re.match(r"\d\d\d", text) for text in one["texts"][:1] + one["texts"][2:4])]
    expect(not wrong, f"under DOGEUSDT stands {wrong[:1]}")
    expect(await tab.run("!document.querySelector('#price').dataset.went") or "DOGEUSDT" in (await tab.run(HEADER))["title"], "one symbol's price is compared with another's")
    rows = "[...document.querySelectorAll('#streams tbody tr')]"
    for name in ("stocks:AAPL", "prices:AAPL@quote", "bux:sb26493"):
        await tab.until(f"{rows}.some((row) => row.textContent.startsWith('{name}') && /\\d/.test(row.cells[1].textContent) && row.querySelector('.state').textContent === 'Live')")
    values = await tab.run(f"{rows}.slice(0, 4).map((row) => [row.cells[0].textContent, row.cells[1].textContent, row.cells[2].textContent])")
    expect(values[0][2] == "–", f"a change between symbols: {values[0]}")
    expect(not tab.complaints, tab.complaints)
    await tab.close()
    return values


async def a_wrong_stream_is_refused_in_words(gateway, gate, browser):
    """A stream in the address that there is not is no lost connection: it is said which one, and why; it leaves the address."""
    tab = await browser.tab(f"{gate.address}#btcusdt@markPrice@1s,nope@markPrice")
    await tab.until("document.querySelector('tr.refused') && document.querySelector('#price')?.textContent !== '–'")
    await asyncio.sleep(0.5)
    log = await tab.run("[...document.querySelectorAll('#log li')].map((item) => item.textContent)")
    expect(not [line for line in log if "lost" in line.lower()], f"a loss is told where there was none: {log}")
    words = next((line for line in log if "Refused" in line), "")
    expect("nope@markPrice" in words and "does not list" in words, log)
    await tab.run("document.querySelector('#data-open').click()")
    shown = "[...document.querySelectorAll('tr.refused .actions button')].filter((button) => button.checkVisibility()).map((button) => button.title)"
    expect(await tab.run(shown) == ["Remove"], await tab.run(shown))
    expect(await tab.run("location.hash") == "#btcusdt,btcusdt@markPrice@1s", await tab.run("location.hash"))
    await tab.close()
    return words


async def a_value_that_is_overdue_looks_so(gateway, gate, browser):
    """Where the gateway itself falls silent, the page does not wait until the connection is given up."""
    tab = await browser.tab(f"{gate.address}#{MARK}")
    await tab.until("document.querySelector('#streams .state')?.textContent === 'Live'")
    await asyncio.sleep(6)
    gate.flows.clear()
    began = time.monotonic()
    await tab.until("document.querySelector('#streams .state').textContent === 'Unverified'", 10)
    waited = time.monotonic() - began
    expect(await tab.run("document.querySelector('#streams td:nth-child(2)').matches('.aged')"), "it looks live")
    await tab.until("document.querySelector('#connection').dataset.level === 'bad' && document.querySelector('#price').matches('.aged')", 20)
    gate.flows.set()
    await tab.until("document.querySelector('#streams .state').textContent === 'Live'")
    await tab.close()
    return f"after {waited:.1f} s"


KEY, OTHER_KEY = "fgw_the-key-of-the-browser-checks", "fgw_another-key-of-the-browser-checks"


def keys(**keys):
    """What the setting `keys` takes."""
    return json.dumps({name: {"hash": hashlib.sha256(key.encode()).hexdigest(), "streams": streams} for name, (key, streams) in keys.items()})


class Keyed:
    """A gateway that asks for a key, and a gate before it."""

    async def __aenter__(self):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
        self.write(browser=(KEY, ["*"]))
        self.gateway = (await start("--keys", self.file.name)).gateway
        self.gateway.key = KEY
        self.gate = await Gate(self.gateway).__aenter__()
        return self

    async def __aexit__(self, *_):
        await self.gate.__aexit__()
        await self.gateway.end()
        self.file.close()

    def write(self, **all):
        self.file.seek(0)
        self.file.truncate()
        self.file.write(keys(**all))
        self.file.flush()

    def tickets(self):
        queries = [urllib.parse.parse_qs(urllib.parse.urlsplit(target).query) for target in self.gate.targets if target.startswith("/events?")]
        return [query["ticket"][0] for query in queries if "ticket" in query]


async def enter(tab, key, keep=False):
    await tab.run(f"""document.querySelector('#key').value = {json.dumps(key)}; document.querySelector('#keep').checked = {json.dumps(keep)};
        document.querySelector('#access').requestSubmit()""")


async def reload(tab):
    await tab.run("window.isOld = true")
    await tab.call("Page.reload")
    await tab.until("!window.isOld && document.readyState === 'complete'")


ASKED = "document.querySelector('#access')?.hidden === false"
LIVE = "document.querySelector('#connection')?.dataset.state === 'open' && document.querySelector('#price').textContent !== '–'"


async def the_page_asks_for_a_key(_, __, browser):
    """A wrong key is refused in words, the right one goes live, it is kept only where that was wished for, and is in no address."""
    async with Keyed() as keyed:
        tab = await browser.tab(keyed.gate.address)
        await tab.until(ASKED)
        expect(await tab.run("document.querySelector('#access-error').textContent") == "", "an error before anything was entered")
        expect(await tab.run("document.activeElement.id") == "key", "the field has not the focus")
        await asyncio.sleep(0.5)
        expect(await tab.run("document.querySelector('#connection').textContent") == "Key needed", "it seems to be connecting")
        await enter(tab, OTHER_KEY, keep=True)
        words = await tab.until("document.querySelector('#access-error').textContent")
        expect("not accepted" in words and "unknown" in words, words)
        expect(await tab.run("sessionStorage.length") == 0, "a wrong key is kept")
        await enter(tab, KEY)
        await tab.until(f"!({ASKED}) && {LIVE}")
        await tab.until("document.querySelector('#streams .state').textContent === 'Live'")
        expect(await tab.run("sessionStorage.length") == 0, "a key is kept that should not be")
        await reload(tab)
        await tab.until(ASKED)
        await enter(tab, KEY, keep=True)
        await tab.until(LIVE)
        await reload(tab)
        await tab.until(LIVE)
        expect(not await tab.run(ASKED), "a key that was kept is asked for")
        shown = await tab.run("location.href + document.documentElement.outerHTML")
        expect(not [target for target in [shown, *keyed.gate.targets] if KEY in target or OTHER_KEY in target], "a key in an address or on the page")
        expect(len(keyed.tickets()) == len(set(keyed.tickets())) > 0, f"tickets {keyed.tickets()}")
        await tab.close()
        return words


async def a_ticket_is_shown_once(_, __, browser):
    """With a key, every connection has a ticket of its own and goes on exactly where the last one was; also with a function, in one tab."""
    seen = {}
    for kind, options in {"shared": f"{{ credential: '{KEY}' }}", "function": f"{{ credential: async () => '{KEY}' }}"}.items():
        async with Keyed() as keyed:
            tab = await browser.tab(keyed.gate.address + "healthz")
            await tab.until("document.readyState === 'complete'")
            await tab.run(feed([MARK, "btcusdt@aggTrade"], options))
            await tab.until(f"feed.get('{MARK}') && feed.get('btcusdt@aggTrade')")
            expect(await tab.run("feed.isShared") == (kind == "shared"), f"isShared with {kind}")
            await tab.run("window.sessions = []; feed.addEventListener('session', ({ detail }) => sessions.push(detail.resume)); true")
            for number in range(3):
                keyed.gate.cut()
                await tab.until(f"sessions.length > {number}")
            await asyncio.sleep(2)
            expect(await tab.run("feed.get('btcusdt@aggTrade').every(({ id }, index, all) => index === 0 || id === all[index - 1].id + 1)"), "a trade is missing")
            await keyed.gateway.end()
            await tab.until(f"feed.status('{MARK}').state === 'lost'")
            await keyed.gateway.start()
            await tab.until(f"sessions.length > 3 && feed.status('{MARK}').state === 'live'", 60)
            seen[kind] = await tab.run("sessions")
            expect(seen[kind] == ["exact"] * 3 + ["reset"], seen[kind])
            tickets = keyed.tickets()
            expect(len(tickets) == len(set(tickets)) >= 5 and len(tickets) == len(keyed.gate.heads), f"{len(keyed.gate.heads)} connections, {tickets}")
            # What the tab wants reaches the server with the key, too.
            await tab.hide(True)
            client = await tab.run("feed.connection.client")
            for _ in range(100):
                if set((await keyed.gateway.get(f"events/{client}"))["paused"]) == {MARK, "btcusdt@aggTrade"}:
                    break
                await asyncio.sleep(0.05)
            else:
                raise AssertionError("a hidden page is not paused")
            await tab.close()
    return seen


async def a_revoked_key_is_told(_, __, browser):
    """A key taken away ends in words and a new field; one that may read less loses those streams alone."""
    async with Keyed() as keyed:
        tab, other = await browser.tab(keyed.gate.address), await browser.tab(keyed.gate.address + "healthz")
        await tab.until(ASKED)
        await enter(tab, KEY, keep=True)
        await other.until("document.readyState === 'complete'")
        await other.run(feed([MARK, "ethusdt@markPrice@1s"], f"{{ credential: '{KEY}' }}"))
        await tab.until(LIVE)
        await other.until(f"feed.get('{MARK}') && feed.get('ethusdt@markPrice@1s')")
        keyed.write(browser=(KEY, ["btcusdt@*"]))
        keyed.gateway.process.send_signal(signal.SIGHUP)
        await other.until("feed.status('ethusdt@markPrice@1s').error", 20)
        await other.until(f"feed.connection.state === 'open' && feed.status('{MARK}').state === 'live'")
        keyed.write(another=(OTHER_KEY, ["*"]))
        keyed.gateway.process.send_signal(signal.SIGHUP)
        await other.until("feed.connection.state === 'closed'", 20)
        expect(await other.run("feed.connection.status") == 401, await other.run("feed.connection"))
        await tab.until(ASKED, 20)
        words = await tab.run("document.querySelector('#access-error').textContent")
        expect("not accepted" in words, words)
        expect(await tab.run("sessionStorage.length") == 0, "a revoked key is kept")
        await enter(tab, OTHER_KEY)
        await tab.until(f"!({ASKED}) && {LIVE}")
        await tab.until("document.querySelector('#streams .state').textContent === 'Live'")
        await tab.close()
        await other.close()
        return words


async def an_outage_is_seen_in_the_header(_, __, browser):
    """While the venue is away the header is not green: it says what is lost, for how long and why; and that one of two lines is left."""
    async with Exchange(sys.argv[1]) as exchange:
        gateway = await Gateway(sys.argv[1]).start(*exchange.options)
        try:
            tab = await browser.tab(f"http://127.0.0.1:{gateway.port}/")
            await tab.until("document.querySelector('#connection')?.textContent === 'Live' && document.querySelector('#lines').textContent === '2 of 2'")
            await exchange.fault(fault="refuse", forMs=12_000)
            await exchange.fault(fault="drop")
            await tab.until("document.body.dataset.level === 'bad' && document.querySelector('#connection').textContent === 'Venue lost'", 10)
            await tab.until("document.querySelector('#lines').textContent === '0 of 2'", 8)
            words = await tab.run("document.querySelector('#status').textContent")
            expect(" s" in words and await tab.run("document.title.includes('not live')"), words)
            await tab.until("document.querySelector('#connection').textContent === 'Live'", 60)
            await tab.until("document.querySelector('#lines').textContent === '2 of 2' && !document.querySelector('#health').textContent", 20)
            # That the gateway is not ready is an error to the console.
            complaints = [line for line in tab.complaints if "/readyz" not in line]
            expect(not complaints, complaints)
            await tab.close()
            return words
        finally:
            await gateway.end()


async def a_lost_line_is_seen_though_nothing_is_missing(_, __, browser):
    """With one of two lines lost the header stays green, and says that no line is to spare."""
    async with Exchange(sys.argv[1]) as exchange, Wire(exchange.port) as wire:
        rest, _ = exchange.options
        gateway = await Gateway(sys.argv[1]).start(rest, f"--ws-url=ws://127.0.0.1:{wire.port}")
        try:
            tab = await browser.tab(f"http://127.0.0.1:{gateway.port}/")
            await tab.until("document.querySelector('#connection')?.textContent === 'Live' && document.querySelector('#lines').textContent === '2 of 2'")
            wire.cut(1)
            words = await tab.until("document.querySelector('#lines').textContent === '1 of 2' && document.querySelector('#health').textContent", 20)
            expect("there is no spare line" in words, words)
            expect(await tab.run("document.body.dataset.level === 'good' && document.querySelector('#lines').matches('.lost')"), "a lost line is told as an outage")
            log = await tab.run("document.querySelector('#log').textContent")
            expect("lost" not in log, log)
            wire.mend()
            await tab.until("document.querySelector('#lines').textContent === '2 of 2' && !document.querySelector('#health').textContent", 60)
            await tab.close()
            return words
        finally:
            await gateway.end()


async def three_hundred_symbols_are_sorted_and_searched(_, __, browser):
    """All symbols are in the table, few of them in the document; scrolling shows the others; a search leaves those that fit."""
    async with Exchange(sys.argv[1], "--symbols", "300") as exchange:
        gateway = await Gateway(sys.argv[1]).start(*exchange.options)
        try:
            tab = await browser.tab(f"http://127.0.0.1:{gateway.port}/", width=1440, height=900)
            await tab.until("Number(document.querySelector('#markets-count')?.textContent) > 290")
            symbols = "[...document.querySelectorAll('#markets tbody tr')].filter((row) => !row.hidden).map((row) => row.dataset.symbol)"
            expect(len(await tab.run(symbols)) < 50, "all rows are in the document")
            await tab.run("document.querySelector('#markets [data-by=symbol]').click()")
            first = await tab.run(symbols)
            expect(first == sorted(first), first)
            await tab.run("document.querySelector('#markets-scroll').scrollTop = 1e6; true")
            await tab.until(f"{symbols}[0] !== '{first[0]}'")
            last = await tab.run(symbols)
            expect(last == sorted(last) and last[0] > first[-1], last)
            expect(await tab.run("document.querySelector('#markets').getBoundingClientRect().bottom <= document.querySelector('#markets-scroll').getBoundingClientRect().bottom + 1"), "a row is cut off")
            await tab.run("document.querySelector('#search').value = 'doge'; document.querySelector('#search').dispatchEvent(new Event('input')); true")
            found = await tab.run(symbols)
            expect(found and all("DOGE" in symbol for symbol in found), found)
            longest = await tab.run("""(async () => { let longest = 0; new PerformanceObserver((list) => list.getEntries().forEach((entry) => { longest = Math.max(longest, entry.duration); }))
                .observe({ type: 'longtask' }); await new Promise((done) => setTimeout(done, 4000)); return longest; })()""")
            await tab.close()
            return f"{len(first)} of 300 rows in the document, longest task {longest} ms"
        finally:
            await gateway.end()


async def every_digit_of_a_cheap_coin_is_shown(gateway, gate, browser):
    """Where the venue writes more decimals, the page shows them."""
    tab = await browser.tab(gate.address + "#1000pepeusdt")
    await tab.until(r"/\d/.test(document.querySelector('#price')?.textContent)")
    await asyncio.sleep(1)
    shown, told = await tab.run("document.querySelector('#price').textContent"), (await gateway.get("streams/1000pepeusdt@aggTrade"))["content"]
    decimals = max(len(trade["price"].rstrip("0").split(".")[1]) for trade in told)
    expect(len(shown.split(".")[1]) >= decimals, f"{shown} where the venue writes {decimals} decimals")
    await tab.close()
    return shown


async def tabs_of_another_origin_share_one_connection(gateway, gate, browser):
    """Eight tabs of a page of another origin are one reader, one after the other may go, and what a bundler makes of the module is no worker."""
    tabs = []
    load = f"import('http://127.0.0.1:{gateway.port}/client.js').then(({{ Feed }}) => {{ window.feed = new Feed(['{MARK}']); return feed.isShared; }})"
    for _ in range(8):
        tab = await browser.tab(gate.address + "healthz")
        await tab.until("document.readyState === 'complete'")
        expect(await tab.run(load), "the connection is not shared")
        await tab.until(f"feed.get('{MARK}')", 10)
        tabs.append(tab)
    expect(await gateway.readers(MARK) == 1, f"{await gateway.readers(MARK)} readers for eight tabs")
    while len(tabs) > 2:
        await tabs.pop(0).close()
        await tabs[-1].until(f"feed.connection.state === 'open' && feed.get('{MARK}') && feed.status('{MARK}').age < 1500", 20)
        await readers(gateway, MARK, 1)
    await tabs[0].run("feed.add('ethusdt@bookTicker')")
    await tabs[0].until("feed.get('ethusdt@bookTicker')")
    await tabs[0].run("feed.close()")
    await tabs[1].until(f"feed.connection.state === 'open' && feed.status('{MARK}').age < 1500", 20)
    await readers(gateway, "ethusdt@bookTicker", 0)
    for tab in tabs:
        await tab.close()
    await readers(gateway, MARK, 0)
    # One file of all modules and an app, as a bundler makes it, with the gateway's own page as its place.
    parts = [open(os.path.join(WEB, f"{name}.js")).read() for name in ("content", "connection", "link", "client")]
    modules = re.sub(r"^export (?=async|class|function|const)", "", re.sub(r"^(import|export) \{.*$", "", "\n".join(parts), flags=re.M), flags=re.M)
    app = modules + f"\nglobalThis.runs = (globalThis.runs ?? 0) + 1; globalThis.feed = new Feed(['{MARK}'], {{ url: 'http://127.0.0.1:{gateway.port}' }});"
    tab = await browser.tab(f"http://127.0.0.1:{gateway.port}/healthz")
    await tab.until("document.readyState === 'complete'")
    await tab.run(f"import(URL.createObjectURL(new Blob([{json.dumps(app)}], {{ type: 'text/javascript' }}))).then(() => true)")
    await tab.until(f"feed.get('{MARK}')")
    workers = [info for info in (await browser.call("Target.getTargets"))["targetInfos"] if info["type"] == "shared_worker"]
    expect(await gateway.readers(MARK) == 1 and not workers and await tab.run("feed.isShared"), f"{await gateway.readers(MARK)} readers, {workers}")
    await tab.close()
    return "8 tabs 1 reader, down to 2 with 1, a bundle with 1"


async def the_page_is_accessible(gateway, gate, browser):
    """axe-core finds nothing: light, dark, on a phone, wide, compact and in blue and orange, in each dialog, with each panel, paused, lost, and if a key is needed."""
    try:
        import axe_playwright_python
    except ImportError:
        return "skipped: the Python package axe-playwright-python, which has axe-core, is not installed"
    with open(os.path.join(os.path.dirname(axe_playwright_python.__file__), "axe.min.js")) as file:
        axe = file.read()
    count = 0

    async def look(tab, state):
        nonlocal count
        await tab.run(axe + "; true")
        found = await tab.run("""axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
            violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, any }) => html.slice(0, 120) + ' ' + (any[0]?.message ?? '')).join(' | ')}`))""")
        expect(not found, f"{state}: {found}")
        count += 1

    views = {"light": dict(width=1440, height=900), "dark": dict(width=1440, height=900, dark=True), "phone": dict(width=390, height=844, dark=True),
             "wide": dict(width=2560, height=1300)}
    for name, view in views.items():
        tab = await browser.tab(gate.address + "#btcusdt,btcusdt@bookTicker,nope@depth", **view)
        await tab.until("document.querySelector('#connection')?.textContent === 'Live' && document.querySelector('.bids td').textContent && Boolean(document.querySelector('tr.refused'))")
        await look(tab, name)
        await tab.run("document.querySelector('#chart-open').click()")
        await look(tab, name + ", options of the chart")
        await tab.run("document.querySelector('#chart-form [value=rsi]').click(); document.querySelector('#chart-options').close()")
        await look(tab, name + ", a study")
        for kind in ("interest", "ratio", "basis"):
            await tab.run(f"document.querySelector('#derivatives-tabs [data-shows={kind}]').click()")
            await tab.until("document.querySelector('#derivatives-state').dataset.state === 'live'", 20)
            await look(tab, f"{name}, {kind}")
        for dialog in ("settings", "alerts", "keys"):
            await tab.run(f"document.querySelector('#{dialog}').showModal()")
            await look(tab, f"{name}, {dialog}")
            await tab.run(f"document.querySelector('#{dialog}').close()")
        await tab.run("document.querySelector('#settings-choices [value=compact]').click(); document.querySelector('#settings-choices [value=blue]').click();"
                      " document.querySelector('#count').value = '4'; document.querySelector('#count').dispatchEvent(new Event('change')); document.querySelector('#data-open').click()")
        await asyncio.sleep(2)
        await look(tab, name + ", compact, in blue and orange, four charts, the drawer")
        await tab.run("document.querySelector('#pause').click()")
        await tab.until("document.querySelector('#connection').textContent === 'Paused'")
        await asyncio.sleep(1)
        await look(tab, name + ", paused")
        await tab.run("document.querySelector('#settings-reset').click(); document.querySelector('#data-open').click()")
        await tab.run("document.querySelector('#pause').click(); document.querySelector('#venues-table tr:nth-child(2) button').click(); document.querySelector('#symbol').click()")
        await tab.until("document.querySelector('#symbol').textContent === 'binance:BTCUSDT' && document.querySelector('#connection').textContent === 'Live'")
        await look(tab, name + ", another venue and the list of symbols")
        await tab.close()
    tab = await browser.tab(gate.address)
    await tab.until("document.querySelector('#connection')?.textContent === 'Live'")
    await gateway.end()
    await tab.until("document.querySelector('#connection').textContent === 'Gateway lost'")
    await asyncio.sleep(1)
    await look(tab, "lost")
    await tab.close()
    async with Keyed() as keyed:
        tab = await browser.tab(keyed.gate.address)
        await tab.until(ASKED)
        await enter(tab, OTHER_KEY)
        await tab.until("document.querySelector('#access-error').textContent")
        await look(tab, "key")
        await tab.close()
    return f"{count} states, no violation"


CHECKS = [event_source_survives, overload_passes, only_the_permanent_is_permanent, merged_is_what_the_gateway_has, tabs_share_one_connection,
          a_late_tab_is_given_all, hidden_tabs_are_paused, a_new_epoch_starts_anew, the_example_of_the_documents_runs, a_gap_is_closed,
          the_page_works_by_keyboard_and_does_not_jump, a_silent_connection_is_left, no_price_stands_under_another_name,
          a_wrong_stream_is_refused_in_words, a_value_that_is_overdue_looks_so, the_page_asks_for_a_key, a_ticket_is_shown_once,
          a_revoked_key_is_told, an_outage_is_seen_in_the_header, a_lost_line_is_seen_though_nothing_is_missing,
          three_hundred_symbols_are_sorted_and_searched, every_digit_of_a_cheap_coin_is_shown,
          tabs_of_another_origin_share_one_connection, the_page_is_accessible, *TRUTHS, *TRADERS, *VENUES, *PANELS]


class Running:
    def __init__(self, gateway):
        self.gateway = gateway

    async def __aenter__(self):
        return self.gateway

    async def __aexit__(self, *_):
        await self.gateway.end()


async def start(*options):
    return Running(await Gateway(sys.argv[1], *options).start())


async def main():
    if not EXECUTABLE or not websockets:
        print(f"skipped: {'Chromium' if not EXECUTABLE else 'the Python package websockets'} is not installed")
        return 0
    version = subprocess.run([EXECUTABLE, "--version"], capture_output=True, text=True).stdout.strip()
    print(version)
    wanted = [check for check in CHECKS if not sys.argv[2:] or check.__name__ in sys.argv[2:]]
    failures = 0
    for check in wanted:
        began = time.monotonic()
        try:
            async with await start() as gateway, Gate(gateway) as gate, Chromium() as browser:
                result = await check(gateway, gate, browser)
            print(f"passed {check.__name__} in {time.monotonic() - began:.1f} s: {result}", flush=True)
        except Exception as error:
            failures += 1
            print(f"FAILED {check.__name__} after {time.monotonic() - began:.1f} s: {error!r}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
