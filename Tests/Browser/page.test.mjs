// What the page derives from values: node --test Tests/Browser
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { fraction } from '../../Sources/FuturesGateway/Web/alarm.js';
import { look } from '../../Sources/FuturesGateway/Web/alerts.js';
import { Feed } from '../../Sources/FuturesGateway/Web/client.js';
import { arrange } from '../../Sources/FuturesGateway/Web/arrange.js';
import { decimal, minus, ratio, shifted, written as write } from '../../Sources/FuturesGateway/Web/decimal.js';
import { age, clock, decimalsOf, grouped, percent, short, unitsOf, until, whole } from '../../Sources/FuturesGateway/Web/format.js';
import { Cadence } from '../../Sources/FuturesGateway/Web/freshness.js';
import { agreeing, judge, lines } from '../../Sources/FuturesGateway/Web/health.js';
import { bollinger, delta, ema, heikinAshi, rsi, vwap } from '../../Sources/FuturesGateway/Web/indicators.js';

import { MarketPoll } from '../../Sources/FuturesGateway/Web/marketpoll.js';
import { largeTrades, liquidations, Marks } from '../../Sources/FuturesGateway/Web/marks.js';
import { balance, cost, Flow, grouping } from '../../Sources/FuturesGateway/Web/orderflow.js';
import { Outages, placeOf } from '../../Sources/FuturesGateway/Web/outages.js';
import { matching } from '../../Sources/FuturesGateway/Web/picker.js';
import { spreads } from '../../Sources/FuturesGateway/Web/spreads.js';
import { headline, meaning } from '../../Sources/FuturesGateway/Web/values.js';
import { texts } from '../../Sources/FuturesGateway/Web/venuerow.js';
import { label, Venues } from '../../Sources/FuturesGateway/Web/venues.js';
import { View } from '../../Sources/FuturesGateway/Web/view.js';

test('a silence is overdue two seconds after the longest before', () => {
  const cadence = new Cadence();
  for (const time of [0, 1000, 2000]) cadence.hear(time);
  assert.equal(cadence.isExceededBy(60_000), false, 'too little is known');
  cadence.hear(3100);
  assert.deepEqual([3000, 3200, undefined].map((silence) => cadence.isExceededBy(silence)), [false, true, false]);
});

test('a pause is no usual silence', () => {
  const cadence = new Cadence();
  for (const time of [0, 1000, 2000, 3000]) cadence.hear(time);
  cadence.interrupt();
  for (const time of [60_000, 61_000]) cadence.hear(time);
  assert.equal(cadence.isExceededBy(3200), true);
});

test('every digit of a cheap coin is shown', () => {
  assert.equal(whole('0.00000812'), '0.00000812');
  assert.equal(whole('0.00019340'), '0.0001934');
  assert.deepEqual(['108348.70', '12', '5.000'].map(decimalsOf), [1, 0, 0]);
  assert.equal(grouped('1234567.8', 2), '1,234,567.80');
  assert.deepEqual([short(104_200_000), short(999), short(NaN), percent('-0.0001'), percent('x'), age(undefined)], ['104 M', '999', '–', '−0.0100 %', '–', '–']);
});

test('each upstream has its number, and only a ticker has a change', () => {
  assert.deepEqual(headline({ symbol: 'AAPL', last: 190.5, bid: 190.4 }), { value: '190.5', member: 'last', symbol: 'AAPL', open: undefined });
  assert.deepEqual(headline({ ask: { price: '3', size: 1 }, trade: { price: 2.5 } }), { value: '2.5', member: 'trade', symbol: undefined });
  assert.deepEqual(headline({ securityId: 'sb26493', currentPrice: '12.3', timeStamp: 1 }).value, '12.3');
  assert.equal(headline({ lastPrice: '110', openPrice: '100' }).open, '100');
  assert.equal(headline([{ close: '1', open: '2' }]).open, undefined, 'the oldest bar is no day ago');
  assert.equal(headline([{ symbol: 'DOGEUSDT', price: '0.1' }, { symbol: 'BTCUSDT', price: '5' }]).symbol, 'BTCUSDT', 'the price is told with its symbol');
  assert.deepEqual([headline(undefined), headline(null), headline([]).count], [{}, {}, 0]);
});

test('an outage, a pause and a lost gateway are never called live', () => {
  const word = (connection, ...shown) => judge({ connection, shown }).word;
  assert.equal(word('open', 'live', 'live', 'connecting'), 'Live');
  assert.equal(word('open', 'recovering', 'recovering', 'connecting'), 'Venue lost');
  assert.equal(word('open', 'stale', 'unverified'), 'No new data');
  assert.equal(word('open', 'live', 'stale'), 'Partly live');
  assert.equal(word('open', 'paused', 'paused'), 'Paused');
  assert.equal(word('open', 'paused', 'live'), 'Partly paused');
  assert.equal(word('open', 'paused', 'recovering'), 'Venue lost', 'a pause hides no outage');
  assert.equal(word('lost', 'lost', 'paused'), 'Gateway lost');
  assert.equal(word('closed', 'live'), 'Stopped');
  assert.equal(word('connecting', 'connecting'), 'Connecting');
  assert.equal(judge({ connection: 'connecting', shown: [], isAsking: true }).word, 'Key needed');
  const oneLeft = judge({ connection: 'open', shown: ['live'], lines: { text: '1 of 2', isLost: true } });
  assert.ok(oneLeft.level === 'good' && oneLeft.detail.startsWith('On 1 of 2 lines'), 'a lost line is told, and is no outage');
});

test('the lines are those of now, if they are known', () => {
  assert.deepEqual(lines({ lines: 2, linesOpen: 2 }, 'ready\n1 of 2 lines to aster\n'), { text: '1 of 2', isLost: true });
  assert.deepEqual(lines({ lines: 2, linesOpen: 1 }, 'ready\n'), { text: '2 of 2', isLost: false });
  assert.deepEqual(lines({ lines: 2, linesOpen: 2 }, 'no data flows from aster (streams read: 8)\n0 of 2 lines to aster\n'), { text: '0 of 2', isLost: true });
  assert.deepEqual(lines({ lines: 2, linesOpen: 2 }, 'no data flows from aster (streams read: 8)\n'), { text: '2 of 2', isLost: false }, 'a silent venue has open lines');
  assert.deepEqual(lines({}), { text: '–', isLost: false });
});

test('no group of levels seems better than it is', () => {
  assert.deepEqual(grouping([['100.7', '1'], ['100.5', '2'], ['99.9', '4']], 'bids', 1, 10), [[1000, 3], [990, 4]]);
  assert.deepEqual(grouping([['100.1', '1'], ['101.0', '2'], ['101.1', '4']], 'asks', 1, 10), [[1010, 3], [1020, 4]]);
  assert.deepEqual(grouping([['0.00000812', '1'], ['0.00000811', '1']], 'bids', 8, 1), [[812, 1], [811, 1]]);
  assert.equal(grouping([['3', '1'], ['2', '1'], ['1', '1']], 'bids', 0, 1, 2).length, 2);
});

test('markets are sorted by a number, what lacks it last, and filtered', () => {
  const rows = () => [{ symbol: 'A', volume: 1, change: 0.1 }, { symbol: 'B', volume: NaN, change: NaN }, { symbol: 'C_261225', volume: 3, change: -0.1 }];
  const order = (options) => arrange(rows(), options).map(({ symbol }) => symbol[0]).join('');
  assert.deepEqual([order({}), order({ isRising: true }), order({ by: 'symbol' })], ['CAB', 'ACB', 'CBA']);
  assert.deepEqual([order({ filter: 'rising' }), order({ filter: 'dated' }), order({ search: 'b' })], ['A', 'C', 'B']);
});

test('what was asked for seconds ago contradicts nothing that is seen now', () => {
  const [all, none] = [{ text: '2 of 2', isLost: false }, { text: '0 of 2', isLost: true }];
  assert.deepEqual([agreeing(all, 'Live'), agreeing(none, 'Venue lost'), agreeing(all, 'No new data')], [all, none, all]);
  assert.deepEqual([agreeing(all, 'Venue lost').text, agreeing(none, 'Live').text], ['–', '–']);
});

test('an instrument that is refused in part is never live, and a venue that is down is told', () => {
  const refused = judge({ connection: 'open', shown: ['live', 'live'], refused: 2 });
  assert.deepEqual([refused.word, refused.detail], ['Partly live', '2 streams refused']);
  const down = (ready, shown = ['connecting', 'connecting']) => judge({ connection: 'open', shown, ready });
  assert.equal(down('').word, 'Connecting');
  for (const ready of ['aster has not listed its symbols yet; 3 s ago: no process listens on this port\n', 'no data flows from aster (streams read: 8); 3 s ago: no process listens on this port\n']) {
    assert.equal(down(ready).word, 'Venue down');
    assert.ok(down(ready).detail.includes('3 s ago: no process listens on this port'), down(ready).detail);
    assert.equal(down(ready, ['live', 'connecting']).word, 'Live', 'what is seen now counts more');
  }
});

test('all times are of one zone, and countdowns are by the venue\'s clock', () => {
  assert.equal(clock(Date.UTC(2026, 0, 2, 23, 4, 5)), '23:04:05');
  assert.equal(until(Date.UTC(2026, 0, 2, 8), Date.UTC(2026, 0, 2, 7, 59, 1)), '0:00:59');
  assert.equal(until(Date.UTC(2026, 0, 2, 8), undefined), '–', 'not by a clock that nobody vouches for');
});

test('a number has its meaning and its unit', () => {
  const settled = { symbol: 'BTCUSDT', fundingRate: '0.00012594', fundingTime: 1, markPrice: '108336.1' };
  assert.deepEqual(headline(settled, 'btcusdt@fundingRate').member, 'fundingRate');
  assert.equal(headline({ markPrice: '1', openInterest: '7' }, 'dex:x').member, 'markPrice');
  assert.deepEqual(['BTCUSDT', 'ethusd_261225', '1000PEPEUSDC', '4USDT', '币安人生USDT', '?'].map((symbol) => Object.values(unitsOf(symbol)).join('/')), ['BTC/USDT', 'ETH/USD', '1000PEPE/USDC', '4/USDT', '币安人生/USDT', '/']);
  assert.deepEqual(['fundingRate', 'openInterest', 'price', 'longShortRatio'].map((member) => meaning(member, unitsOf('BTCUSDT'))), [
    { words: 'funding rate', unit: '' }, { words: 'open interest', unit: 'BTC' }, { words: 'price', unit: 'USDT' }, { words: 'long to short', unit: '' }]);
});

test('an address in capitals is read, and a symbol that is not listed is told and not shown', () => {
  assert.deepEqual(['BTCUSDT', 'BTCUSDT/5m', 'BTCUSDT@kline_1M', '!markPrice@arr', 'stocks:AAPL'].map((name) => new Venues().canonical(name)), ['btcusdt', 'btcusdt/5m', 'btcusdt@kline_1M', '!markPrice@arr', 'stocks:AAPL']);
  const view = new View(undefined, new Feed([], { url: 'http://127.0.0.1:1/' }));
  const told = [];
  view.addEventListener('unlisted', ({ detail }) => told.push(detail));
  view.venues.setSymbols('', ['ethusdt', 'btcusdt']);
  view.begin('FOO');
  assert.deepEqual([view.symbol, told], ['btcusdt', ['foo']]);
  view.select('ethusdt');
  view.select('nosuch');
  assert.deepEqual([view.symbol, told], ['ethusdt', ['foo', 'nosuch']]);
  const blind = new View(undefined, new Feed([], { url: 'http://127.0.0.1:1/' }));
  blind.begin('FOO/5m');
  assert.deepEqual([blind.symbol, blind.interval], ['foo', '5m'], 'nobody knows what is listed');
});

test('an alert fires on any trade after it, and on no earlier one', () => {
  const alert = { kind: 'price', symbol: 'btcusdt', side: 'above', value: '100.5', after: 10 };
  const trades = (...rows) => rows.map(([id, price]) => ({ id, price }));
  assert.deepEqual(look(alert, trades([9, '101'], [10, '102'], [11, '100.4'])), { reached: undefined, after: 11, missed: 0 });
  assert.equal(look(alert, trades([11, '100'], [12, '100.50'], [13, '99'])).reached, '100.50', 'a spike between two looks counts');
  assert.deepEqual(look({ ...alert, after: undefined }, trades([11, '200'])), { after: 11 }, 'the price is not known to be new');
  assert.equal(look({ ...alert, after: 1000 }, trades([3, '1'])).after, 3, 'the venue restarted its numbering');
  assert.equal(look({ ...alert, side: 'below' }, trades([11, '99'])).reached, '99');
  assert.equal(look(alert, trades([15, '1'])).missed, 4, 'what could not be checked is told');
  assert.equal(look({ ...alert, kind: 'funding', value: '0.0001' }, { lastFundingRate: '0.00010000' }).reached, '0.00010000');
  assert.equal(look({ ...alert, kind: 'funding', value: '0.0001' }, {}).reached, undefined);
});

test('a percentage is shifted, not computed', () => {
  assert.deepEqual(['0.01', '-0.0125', '−2', '12', '0'].map(fraction), ['0.0001', '-0.000125', '-0.02', '0.12', '0.00']);
});

test('the picker prefers the exact symbol, then the watchlist, then the beginning', () => {
  const rows = ['XETHUSDT', 'ETHUSDT', 'ETHFIUSDT', 'BTCUSDT', 'AETHUSDT'].map((symbol) => ({ symbol, isStarred: symbol === 'AETHUSDT' }));
  assert.deepEqual(matching(rows, 'eth').map(({ symbol }) => symbol), ['AETHUSDT', 'ETHUSDT', 'ETHFIUSDT', 'XETHUSDT']);
  assert.equal(matching(rows, ' ethfiusdt ')[0].symbol, 'ETHFIUSDT');
});

test('symbols with a star come first in any order', () => {
  const rows = [{ symbol: 'A', volume: 1, isStarred: true }, { symbol: 'B', volume: 3, isStarred: false }, { symbol: 'C', volume: 2, isStarred: true }];
  assert.deepEqual(arrange(rows, {}).map(({ symbol }) => symbol), ['C', 'A', 'B']);
  assert.deepEqual(arrange(rows, { filter: 'starred', by: 'symbol', isRising: true }).map(({ symbol }) => symbol), ['A', 'C']);
});

test('live data without any open line is an old number of lines', () => {
  const detail = (text) => judge({ connection: 'open', shown: ['live'], lines: { text, isLost: true } }).detail;
  assert.match(detail('1 of 2'), /no spare line/);
  assert.equal(detail('0 of 2'), '');
});

test('an average begins with the simple average of its first values', () => {
  assert.deepEqual(ema([1, 2, 3, 4, 5], 3), [undefined, undefined, 2, 3, 4]);
  assert.deepEqual(bollinger([1, 1, 3, 3], 4, 2).at(-1), { upper: 4, middle: 2, lower: 0 });
  assert.deepEqual(bollinger([1, 2], 4), [undefined, undefined]);
});

test('the relative strength of Wilder’s own example', () => {
  // The closes of the example that most descriptions of the index repeat; its first index is 70.46 by them.
  const closes = [44.34, 44.09, 44.15, 43.61, 44.33, 44.83, 45.10, 45.42, 45.84, 46.08, 45.89, 46.03, 45.61, 46.28, 46.28, 46.00];
  const values = rsi(closes);
  assert.equal(values.slice(0, 14).every((value) => value === undefined), true);
  assert.deepEqual(values.slice(14).map((value) => value.toFixed(2)), ['70.46', '66.25']);
  assert.deepEqual([rsi(Array(20).fill(5)).at(-1), rsi([...Array(20).keys()]).at(-1)], [50, 100]);
});

test('the price by volume begins with a day, and is unknown for a day without its beginning', () => {
  const bar = (openTime, price, volume) => ({ openTime, high: price, low: price, close: price, volume });
  const day = 86_400_000;
  assert.deepEqual(vwap([bar(day - 60_000, '9', '1'), bar(day, '10', '1'), bar(day + 60_000, '20', '3')]), [undefined, 10, 17.5]);
  assert.deepEqual(vwap([bar(0, '10', '0'), bar(60_000, '20', '2')]), [undefined, 20]);
});

test('Heikin-Ashi bars are averages of averages', () => {
  const bars = [{ open: 10, high: 14, low: 8, close: 12 }, { open: 12, high: 13, low: 11, close: 12 }];
  assert.deepEqual(heikinAshi(bars), [{ open: 11, high: 14, low: 8, close: 11 }, { open: 11, high: 13, low: 11, close: 12 }]);
});

test('an outage lasts until data comes, and does not begin before the one before ended', () => {
  const outages = new Outages();
  outages.note('a', false, 1000);
  outages.note('a', true, undefined);
  assert.deepEqual(outages.of('a'), []);
  outages.note('a', true, 5000, 2000);
  outages.note('a', true, 6000, 1000);
  assert.deepEqual(outages.of('a'), [{ from: 2000 }]);
  outages.note('a', false, 7000);
  outages.note('a', true, 9000, 3000);
  assert.deepEqual([outages.of('a'), outages.of('b')], [[{ from: 2000, to: 7000 }, { from: 7000 }], []]);
});

test('a time has a place among bars, also in a gap between them', () => {
  const times = [0, 1000, 2000, 9000];
  assert.deepEqual([-1, 0, 500, 2500, 8000, 9500, 50_000].map((time) => placeOf(time, times, 1000)), [undefined, 0, 0.5, 2.5, 3, 3.5, 4]);
  assert.equal(placeOf(5, [], 1000), undefined);
});

test('a large trade is marked once at its bar, by side', () => {
  const trades = Array.from({ length: 60 }, (_, id) => ({ id, price: '10', qty: id === 59 ? '50' : '1', time: id, isBuyerMaker: false }));
  assert.deepEqual(largeTrades(trades), [{ key: 't59', time: 59, isBuy: true, worth: 500 }]);
  assert.deepEqual(largeTrades(trades.slice(20)), [], 'too few trades are known');
  const marks = new Marks();
  for (const _ of [1, 2]) marks.add('btcusdt', 'trade', largeTrades(trades));
  marks.add('btcusdt', 'liquidation', liquidations([{ price: '9', averagePrice: '0', qty: '2', side: 'SELL', time: 45 }]));
  const shown = marks.at([0, 40], ['trade', 'liquidation'], { up: 'green', down: 'red' });
  assert.deepEqual(shown.map(({ time, position, color, text }) => [time, position, color, text]),
    [[0.04, 'belowBar', 'green', '500'], [0.04, 'aboveBar', 'red', 'Liq 18.0']]);
  assert.deepEqual(marks.at([50], ['trade'], {}).length, 1);
  marks.add('ethusdt', 'trade', []);
  assert.deepEqual(marks.at([0], ['trade'], {}), []);
});

test('every file of the page is in the program and served', () => {
  const root = new URL('../../', import.meta.url);
  const list = readFileSync(new URL('Sources/CFiles/files.c', root), 'utf8');
  const files = readdirSync(new URL('Sources/FuturesGateway/Web/', root));
  assert.deepEqual(files.filter((file) => !list.includes(`#define PATH "../FuturesGateway/Web/${file}"\n`)), []);
});

test('a market order costs what the levels cost', () => {
  const asks = [['100', '1'], ['101', '2'], ['110', '1']];
  assert.deepEqual(cost(asks, 1), { average: 100, slippage: 0, filled: 1 });
  const { average, slippage, filled } = cost(asks, 3);
  assert.deepEqual([average.toFixed(4), slippage.toFixed(6), filled], ['100.6667', '0.006667', 3]);
  assert.equal(cost(asks, 9).filled, 4, 'the book ends');
  assert.deepEqual([cost([], 1), cost(asks, 0)], [undefined, undefined]);
  assert.equal(cost([['100', '1'], ['90', '1']], 2).slippage.toFixed(2), '0.05', 'a seller');
});

test('the balance counts only levels near the middle', () => {
  const book = { bids: [['99.95', '3'], ['90', '100']], asks: [['100.05', '1']] };
  assert.equal(balance(book, 0.001), 0.75);
  assert.deepEqual([balance(undefined, 1), balance({ bids: [], asks: [['1', '1']] }, 1)], [undefined, undefined]);
});

test('each trade counts once in the flow, and a hole is told', () => {
  const trade = (id, isBuyerMaker) => ({ id, price: '10', qty: '2', time: id * 1000, isBuyerMaker });
  const flow = new Flow();
  flow.add('a', undefined);
  flow.add('a', [trade(5, false), trade(6, true)]);
  flow.add('a', [trade(6, true), trade(7, false)]);
  assert.deepEqual(flow.sums, { buys: 40, sells: 20, since: 5000, missed: 0 });
  flow.add('a', [trade(10, true)]);
  assert.equal(flow.sums.missed, 2);
  flow.add('b', [trade(1, true)]);
  assert.deepEqual(flow.sums, { buys: 0, sells: 20, since: 1000, missed: 0 });
});

test('the delta adds bought minus sold volume', () => {
  assert.deepEqual(delta([{ volume: '10', takerBuyVolume: '7' }, { volume: '4', takerBuyVolume: '0' }, { volume: '1' }]), [4, 0, undefined]);
});

test('differences between venues are exact, also of numbers that a float cannot hold', () => {
  const written = (text, digits, ...more) => write(decimal(text), digits, ...more);
  assert.deepEqual([written('1234567.895', 2), written('-0.004', 2), written('-1.5', 0), written('7', 3), written('0.0000131', 6, true)], ['1,234,567.90', '0.00', '−2', '7.000', '+0.000013']);
  assert.deepEqual(['', '1e-8', 'x', undefined, '1.', '+1'].map(decimal), Array(6).fill(undefined));
  const between = (one, other) => { const gap = minus(decimal(one), decimal(other)); return write(gap, gap.digits); };
  assert.deepEqual([between('0.3', '0.1'), between('90071992547409.93', '90071992547409.9200'), between('-0.00001', '0.00002')], ['0.2', '0.0100', '−0.00003']);
  assert.deepEqual([write(shifted(decimal('0.00001326'), 2), 6), write(shifted(decimal('7'), 2), 0)], ['0.001326', '700']);
  assert.equal(write(shifted(ratio(decimal('0.5'), decimal('100.0'), 6), 4), 2), '50.00');
});

test('only live venues are compared', () => {
  const row = (venue, bidPrice, askPrice, markPrice, state = 'live') => ({ venue, bidPrice, askPrice, markPrice, state, fundingPerHour: '0.00001', quote: 'USDT' });
  const rows = [row('a', '100.1', '100.2', '100.15'), row('b', '100.30', '100.40', '100.35'), row('c', '999', '1', '50', 'stale'), { venue: 'd', state: 'live', quote: 'USD', markPrice: '100.2' }];
  const { live, bid, ask, between, marks, quotes } = spreads(rows);
  assert.deepEqual([live, bid.venue, ask.venue, write(between, 2), quotes], [3, 'b', 'a', '−0.10', ['USDT', 'USD']]);
  assert.deepEqual([marks.low.venue, marks.high.venue, write(marks.apart, 2)], ['a', 'b', '0.20']);
  const one = spreads([rows[0], rows[2]]);
  assert.deepEqual([one.live, one.bid, one.between, one.marks, one.fundings], [1, undefined, undefined, undefined, undefined]);
});

test('a row has the digits of its prices, and a middle price only if there is no other', () => {
  const row = { markPrice: '108359.54432932', bidPrice: '108361.2', askPrice: '108361.30', fundingPerHour: '0.00001326', fundingRate: '0.00010608', fundingIntervalHours: 8, openInterest: '1616.212' };
  assert.deepEqual(texts(row, undefined), { mark: '108,359.54', index: '–', best: '108,361.2 / 108,361.3', hourly: '+0.001326 %', funding: '+0.0106 % / 8 h', next: '–', interest: '1.62 K', volume: '–' });
  assert.equal(texts({ midPrice: '0.00000812' }).best, 'mid 0.00000812');
  assert.deepEqual([texts({ bidPrice: '5.5' }).best, texts({}).best], ['5.5 / –', '– / –']);
});

test('an asset is asked for once at a time, and rows of another asset are dropped', async () => {
  const asked = [];
  let now = 0;
  const poll = new MarketPoll((path, { signal }) => new Promise((answer, fail) => {
    asked.push({ path, answer: (status, body) => answer({ status, json: async () => body }) });
    signal.addEventListener('abort', () => fail(new Error('aborted')));
  }), () => now);
  const streams = ['btcusdt@ticker', 'binance:btcusdt@ticker', 'hyperliquid:BTC@bbo'];
  const settle = () => new Promise((done) => setTimeout(done));
  poll.ask();
  assert.equal(asked.length, 0, 'no asset is chosen');
  poll.follow('BTC');
  poll.ask();
  poll.ask();
  assert.deepEqual(asked.map(({ path }) => path), ['markets/BTC?wait=0']);
  asked[0].answer(200, { streams, rows: [{ venue: 'demo' }, { venue: 'binance' }] });
  await settle();
  assert.deepEqual([poll.venues.map(({ name, prefix }) => prefix + name), poll.rows.length, poll.passed, poll.isLost], [['demo', 'binance:binance', 'hyperliquid:hyperliquid'], 2, 0, false]);
  now = 3001;
  assert.equal(poll.isLost, true, 'no answer for three seconds');
  poll.ask();
  poll.follow('1000PEPE');
  poll.ask();
  assert.deepEqual([asked.length, poll.rows, poll.passed, poll.venues.length], [3, [], undefined, 3], 'the rows of another asset are dropped, the venues stay');
  await settle();
  assert.equal(poll.isLost, false, 'an aborted request of another asset is no failure');
  asked[2].answer(404, { detail: 'Unknown.' });
  await settle();
  poll.ask();
  assert.deepEqual([poll.refusal, asked.length], ['Unknown.', 3], 'a refused asset is not asked for each second');
  now += 30_001;
  poll.ask();
  asked[3].answer(503, {});
  await settle();
  assert.deepEqual([poll.isLost, asked.length], [true, 4]);
});

test('symbols and streams of another venue have its prefix, and those of another upstream are streams', async () => {
  const catalogue = ['{symbol}@depth', '!markPrice@arr[@1s]', 'binance:{symbol}@depth', 'binance:!markPrice@arr[@1s]', 'binance:tradingSession', 'stocks:{SYMBOL}'].map((pattern) => ({ pattern }));
  const answers = { streams: { catalogue }, 'streams/binance%3A!markPrice%40arr': { content: [{ symbol: 'BTCUSDT' }, { symbol: 'ETHUSDT' }] } };
  const venues = new Venues(async (path) => ({ status: answers[path] ? 200 : 404, json: async () => answers[path] ?? { detail: 'No.' } }));
  await venues.find();
  assert.deepEqual(venues.prefixes, ['', 'binance:']);
  assert.deepEqual(['BINANCE:BTCUSDT/5m', 'binance:BTCUSDT@kline_1M', 'binance:!markPrice@arr', 'binance:tradingSession', 'stocks:AAPL'].map((name) => venues.canonical(name)),
    ['binance:btcusdt/5m', 'binance:btcusdt@kline_1M', 'binance:!markPrice@arr', 'binance:tradingSession', 'stocks:AAPL']);
  assert.deepEqual(['btcusdt', 'binance:btcusdt', 'binance:tradingSession', 'stocks:AAPL', 'binance:btcusdt@depth'].map((name) => venues.isSymbol(name)), [true, true, false, false, false]);
  assert.deepEqual(['btcusdt@depth', 'binance:btcusdt@depth', 'binance:!markPrice@arr', 'prices:AAPL@quote'].map((name) => venues.symbolOf(name)), ['btcusdt', 'binance:btcusdt', undefined, undefined]);
  assert.deepEqual(['btcusdt', 'binance:btcusdt', 'binance:BTCUSDT'].map(label), ['BTCUSDT', 'binance:BTCUSDT', 'binance:BTCUSDT']);
  assert.deepEqual(await venues.list(''), { status: 404, detail: 'No.' });
  await venues.listMissing();
  assert.deepEqual([venues.symbols('binance:'), venues.otherSymbols('binance:'), venues.usual], [['binance:btcusdt', 'binance:ethusdt'], [], 'btcusdt']);
});

test('a symbol of another venue is read with its prefix, and rows of two venues are never mixed', () => {
  const view = new View(undefined, new Feed([], { url: 'http://127.0.0.1:1/' }));
  view.venues.setSymbols('', ['btcusdt']);
  view.venues.setSymbols('binance:', ['binance:btcusdt', 'binance:trxusdt']);
  view.keep(['BTCUSDT']);
  view.begin('BINANCE:TRXUSDT/5m,stocks:AAPL');
  assert.deepEqual([view.symbol, view.interval, view.address, view.streams.book], ['binance:trxusdt', '5m', 'binance:trxusdt/5m,stocks:AAPL', 'binance:trxusdt@depth']);
  const days = (stream, ...prices) => view.feed.dispatchEvent(new CustomEvent('update', { detail: { stream, kind: 'full', content: prices.map((lastPrice, place) => ({ symbol: ['BTCUSDT', 'TRXUSDT'][place], lastPrice })) } }));
  days('!miniTicker@arr', '100');
  days('binance:!miniTicker@arr', '200', '0.25');
  assert.deepEqual([view.row('days', 'btcusdt').lastPrice, view.row('days', 'binance:btcusdt').lastPrice, view.decimals('binance:trxusdt')], ['100', '200', 2]);
  assert.deepEqual(view.rowSymbols, ['binance:BTCUSDT', 'binance:TRXUSDT']);
  view.select('btcusdt');
  assert.deepEqual([view.rowSymbols, view.hasRow('binance:BTCUSDT')], [['BTCUSDT'], false], 'rows that nothing updates are forgotten');
  assert.ok(view.feed.names.includes('!miniTicker@arr') && !view.feed.names.includes('binance:!miniTicker@arr'));
});

test('the picker finds a symbol of another venue by its own letters and by the venue', () => {
  const rows = ['BTCUSDT', 'BTCDOMUSDT', 'binance:BTCUSDT', 'binance:WBTCUSDT'].map((symbol) => ({ symbol, isStarred: false }));
  assert.deepEqual(matching(rows, 'btc').map(({ symbol }) => symbol), ['BTCUSDT', 'BTCDOMUSDT', 'binance:BTCUSDT', 'binance:WBTCUSDT']);
  assert.deepEqual(matching(rows, 'binance:btc').map(({ symbol }) => symbol), ['binance:BTCUSDT']);
});
