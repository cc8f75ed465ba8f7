"""Several venues on the page: the table across venues, and the symbols of each venue."""

import asyncio
import contextlib
import json
import sys
import tempfile

from gate import Exchange, Gate, Gateway
from traders import ROWS, SYMBOL, key, set_alert
from truths import LIVE, LOG, expect

STATES = "[...document.querySelectorAll('#venues-table tbody tr')].map((row) => row.querySelector('.state').textContent)"
TEXT = "document.querySelector('#{}').textContent"
VENUES_STATE = TEXT.format("venues-state")
ALL_LIVE = f"{VENUES_STATE} === 'Live' && {STATES}.length === 3"

# Counts how many requests of the table the page has open at a time. The gate cannot, because the browser opens few connections.
COUNT_OPEN = """(() => { const own = window.fetch; window.mostOpen = 0; let open = 0;
    window.fetch = (url, options) => {
        if (!String(url).includes('/markets/')) return own(url, options);
        mostOpen = Math.max(mostOpen, ++open);
        return own(url, options).finally(() => open--);
    }; return true; })()"""


def row(venue):
    return f"[...document.querySelectorAll('#venues-table tbody tr')].find((row) => row.textContent.startsWith('{venue}'))"


def cell(venue, column):
    return f"{row(venue)}.querySelector('.{column}').textContent"


@contextlib.asynccontextmanager
async def three_venues():
    """A gateway with a simulated venue, a simulated Binance and a simulated Hyperliquid, and a gate before it."""
    async with Exchange(sys.argv[1]) as first, Exchange(sys.argv[1], "--seed", "2") as second:
        coins = await asyncio.create_subprocess_exec(
            sys.argv[1], "demo-upstream", "hyperliquid", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
        port = int((await coins.stdout.readline()).decode().rsplit(":", 1)[1])
        upstreams = {
            "binance": {"kind": "futures", "restURLs": [f"http://127.0.0.1:{second.port}"], "webSocketURLs": [f"ws://127.0.0.1:{second.port}"]},
            "hyperliquid": {"kind": "hyperliquid", "url": f"ws://127.0.0.1:{port}/ws"},
        }
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(upstreams, file)
            file.flush()
            gateway = await Gateway(sys.argv[1]).start(*first.options, "--upstreams", file.name)
            try:
                async with Gate(gateway) as gate:
                    yield gate, second
            finally:
                await gateway.end()
                coins.terminate()
                await coins.wait()


def asked(gate):
    return sum(target.startswith("/markets/") for target in gate.targets)


async def a_frozen_venue_is_seen_beside_the_others(_, __, browser):
    """One row for each venue. A frozen venue is not live, dimmed, older each second, and not in the spread; the others stay live."""
    async with three_venues() as (gate, second):
        tab = await browser.tab(gate.address, width=1440, height=900)
        await tab.until(f"{LIVE} && {ALL_LIVE}", 60)
        shown = await tab.run(f"[...document.querySelectorAll('#venues-table tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
        expect([line[0].split()[0] for line in shown] == ["aster", "binance", "hyperliquid"], shown)
        expect(all("–" not in line[1:6] + line[7:] for line in shown), shown)
        told = {one["venue"]: one for one in (await gate.gateway.get("markets/BTC"))["rows"]}
        for line in shown:
            one = told[line[0].split()[0]]
            expect(abs(float(line[1].replace(",", "")) / float(one["markPrice"]) - 1) < 0.01, f"{line} of {one}")
            expect(line[5].endswith(f"/ {one['fundingIntervalHours']} h"), line)
        # Only a silence that is longer than usual is an outage.
        await asyncio.sleep(8)
        await second.fault(fault="stall", forMs=40_000)
        await tab.until(f"{VENUES_STATE} === '2 of 3 live' && {row('binance')}.matches('.aged')", 30)
        states = await tab.run(STATES)
        expect(states[0] == states[2] == "Live" and states[1] != "Live", states)
        ages = []
        for _ in range(3):
            ages.append(float((await tab.run(cell("binance", "age"))).split()[0]))
            await asyncio.sleep(2)
            facts = await tab.run("document.querySelector('#venues-facts').textContent")
            expect("binance" not in facts and "aster" in facts, facts)
        expect(ages[0] < ages[1] < ages[2], ages)
        await tab.until(ALL_LIVE, 90)
        expect(not tab.complaints, tab.complaints)
        await tab.close()
        return f"{states}, ages {ages}"


async def a_table_that_is_not_answered_looks_so(_, __, browser):
    """At most one request at a time, about one each second, none while the table is folded, out of sight or paused. Without answers, ages grow."""
    async with three_venues() as (gate, _):
        tab = await browser.tab(gate.address, width=1440, height=900)
        await tab.until(f"{LIVE} && {ALL_LIVE}", 60)
        await tab.run(COUNT_OPEN)
        before = asked(gate)
        await asyncio.sleep(5)
        count = asked(gate) - before
        expect(3 <= count <= 6, f"{count} requests in 5 s")
        # Each number stays, dimmed, and its age grows. No request is sent while one is open.
        gate.flows.clear()
        await tab.until(f"{VENUES_STATE}.startsWith('Lost') && document.querySelector('#venues-facts').matches('.aged')", 10)
        expect(set(await tab.run(STATES)) == {"Lost"}, await tab.run(STATES))
        expect(await tab.run(f"{row('aster')}.matches('.aged') && /\\d/.test({cell('aster', 'best')})"), "a lost row looks live, or has no numbers")
        old = float((await tab.run(cell("aster", "age"))).split()[0])
        await asyncio.sleep(3)
        expect(float((await tab.run(cell("aster", "age"))).split()[0]) >= old + 2, "the age does not grow")
        expect(await tab.run("mostOpen") == 1, f"{await tab.run('mostOpen')} requests were open at a time")
        gate.flows.set()
        await tab.until(ALL_LIVE, 30)

        async def is_quiet():
            await asyncio.sleep(0.5)
            count = asked(gate)
            await asyncio.sleep(2.5)
            return asked(gate) == count

        await tab.hide(True)
        expect(await is_quiet(), "asked while the tab is hidden")
        await tab.hide(False)
        await tab.run("document.querySelector('#venues-open').focus()")
        await key(tab, "Enter", "\r", code=13)
        await tab.until("document.querySelector('#venues-open').getAttribute('aria-expanded') === 'false' && document.querySelector('#venues-box').hidden")
        expect(await is_quiet(), "asked while the table is folded")
        await tab.run("document.activeElement.blur()")
        await key(tab, "v", "v")
        await tab.until(ALL_LIVE, 10)
        await key(tab, "p", "p")
        await tab.until(f"{VENUES_STATE} === 'Paused' && {row('aster')}.matches('.aged')", 10)
        expect(await is_quiet(), "asked while everything is paused")
        await key(tab, "p", "p")
        await tab.until(ALL_LIVE, 10)
        await tab.view(width=390, height=844)
        await tab.run("scrollTo(0, document.body.scrollHeight)")
        expect(await is_quiet(), "asked while the table is out of sight")
        await tab.run("document.querySelector('#venues').scrollIntoView()")
        await tab.until(ALL_LIVE, 10)
        height = await tab.run("document.querySelector('#venues').getBoundingClientRect().height")
        expect(height < 240 and await tab.run("document.documentElement.scrollWidth <= innerWidth"), f"{height} high on a phone, or wider than it")
        await tab.close()
        return f"{count} requests, {height} px on a phone"


async def pick(tab, text, wanted):
    """Chooses the first symbol of the picker for some letters."""
    await key(tab, "k", modifiers=2)
    await tab.until("document.querySelector('#picker').open")
    await tab.call("Input.insertText", text=text)
    await tab.until(f"document.querySelector('#picks [aria-selected=true]')?.dataset.symbol === '{wanted}'", 10)
    await key(tab, "Enter", "\r", code=13)
    await tab.until(f"{SYMBOL} === '{wanted}' && document.querySelector('#book-state').textContent === 'Live'", 20)


async def a_symbol_of_another_venue_is_shown_in_all_panels(_, __, browser):
    """The picker offers it; each panel, the address, the watchlist and alerts use its prefixed streams; its outage is the header's, that of others is not."""
    async with three_venues() as (gate, second):
        tab = await browser.tab(gate.address, width=1440, height=900)
        await tab.until(f"{LIVE} && {ALL_LIVE}", 60)
        await pick(tab, "binance:eth", "binance:ETHUSDT")
        await tab.until(LIVE)
        expect(await tab.run("location.hash") == "#binance:ethusdt", await tab.run("location.hash"))
        names = await tab.run("[...document.querySelectorAll('#streams .name')].map((name) => name.textContent)")
        expect(len(names) == 8 and all(name.startswith("binance:") for name in names), names)
        expect(await tab.run(TEXT.format("venues-asset")) == "ETH", "the table is of another asset")
        for _ in range(100):
            shown = (await tab.run(TEXT.format("mark"))).replace(",", "")
            told = [(await gate.gateway.get(f"streams/{prefix}ethusdt@markPrice@1s?wait=5"))["content"]["markPrice"] for prefix in ("binance:", "")]
            if told[0].startswith(shown) and not told[1].startswith(shown):
                break
            await asyncio.sleep(0.1)
        else:
            raise AssertionError(f"the mark price is {shown}, at the venues {told}")
        for place in ("#markets tbody td:nth-child(2)", ".bids td", "#trades tbody td", "#funding", "#interest"):
            await tab.until(f"/\\d/.test(document.querySelector('{place}').textContent)", 15)
        await key(tab, "s", "s")
        await pick(tab, "btcusdt", "BTCUSDT")
        for _ in range(2):
            await tab.until(f"{LIVE} && {ROWS}[0] === 'binance:ETHUSDT' && {ROWS}.length > 5", 20)
            first = "document.querySelector('#markets tbody tr')"
            await tab.until(f"/\\d/.test({first}.cells[1].textContent) && {first}.cells[0].textContent.includes('binance:ETHUSDT') && !{first}.matches('.aged')")
            expect(not any(name.startswith("binance:") for name in (await tab.run(ROWS))[1:]), "rows of two venues are mixed")
            await tab.call("Page.reload")
        await tab.until(f"{LIVE} && {ALL_LIVE}", 30)
        await tab.run(f"{row('binance')}.querySelector('button').click()")
        await tab.until(f"{SYMBOL} === 'binance:BTCUSDT' && {LIVE}", 20)
        words = await set_alert(tab, "price", "1")
        expect("binance:BTCUSDT" in words and "≤ 1" in words, words)
        await tab.hide(True)
        await asyncio.sleep(1)
        expect(await gate.gateway.readers("binance:btcusdt@aggTrade") == 1, "the alert does not read its stream")
        await tab.hide(False)
        await tab.close()
        tab = await browser.tab(f"{gate.address}#BINANCE:BTCUSDT/5m,binance:ethusdt@bookTicker")
        await tab.until(f"{LIVE} && {SYMBOL} === 'binance:BTCUSDT' && document.querySelector('#intervals [aria-pressed=true]').textContent === '5m'", 30)
        expect(await tab.run("location.hash") == "#binance:btcusdt/5m,binance:ethusdt@bookTicker", await tab.run("location.hash"))
        other = await browser.tab(f"{gate.address}#binance:nope")
        await other.until(f"{LIVE} && {LOG}.includes('binance:NOPE is not a symbol of this venue') && {SYMBOL} === 'BTCUSDT'", 30)
        # The star is of a symbol of the frozen venue, so it is taken off first.
        await other.run("localStorage.setItem('futures-gateway watchlist', '[]')")
        await other.call("Page.reload")
        await other.until(LIVE, 30)
        await second.fault(fault="refuse", forMs=10_000)
        await second.fault(fault="drop")
        await tab.until("document.querySelector('#connection').textContent === 'Venue lost'", 20)
        expect(await other.run("document.querySelector('#connection').textContent") == "Live", "an outage of another venue is the header's")
        await tab.until(LIVE, 60)
        for each in (tab, other):
            # That the venue is not ready is an error to the console.
            complaints = [line for line in each.complaints if "/readyz" not in line]
            expect(not complaints, complaints)
            await each.close()
        return words


async def twenty_levels_are_beside_the_venues(_, __, browser):
    """At 1440 × 900 with the table of venues, the ladder has 20 levels on each side."""
    async with three_venues() as (gate, _):
        tab = await browser.tab(gate.address, width=1440, height=900)
        await tab.until(LIVE + " && document.querySelectorAll('#venues-table tbody tr').length === 3", 60)
        await asyncio.sleep(2)
        counts = await tab.run("""(() => { const { bottom } = document.querySelector('#book-box').getBoundingClientRect();
            return ['asks', 'bids'].map((side) => [...document.querySelectorAll(`#book .${side} tr`)].filter((row) => row.textContent && row.getBoundingClientRect().bottom <= bottom + 1).length); })()""")
        expect(min(counts) >= 20, counts)
        await tab.close()
        return counts


VENUES = [a_frozen_venue_is_seen_beside_the_others, a_table_that_is_not_answered_looks_so, a_symbol_of_another_venue_is_shown_in_all_panels, twenty_levels_are_beside_the_venues]
