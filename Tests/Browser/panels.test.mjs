// What the panels of the page derive: book over time, past values, basis, bars with the last trade, time zones. node --test Tests/Browser
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { firstChanged, withLast } from '../../Sources/FuturesGateway/Web/bars.js';
import { basisOf, deliveryOf } from '../../Sources/FuturesGateway/Web/basis.js';
import { HeatModel } from '../../Sources/FuturesGateway/Web/heatmodel.js';
import { History } from '../../Sources/FuturesGateway/Web/history.js';
import { kinds, pathsOf } from '../../Sources/FuturesGateway/Web/pasts.js';
import { holes, usualPeriod } from '../../Sources/FuturesGateway/Web/series.js';
import { zone } from '../../Sources/FuturesGateway/Web/zone.js';

test('the basis is of the index, and annualised only until a delivery', () => {
  const now = Date.UTC(2026, 10, 25, 8);
  const row = { markPrice: '101', indexPrice: '100' };
  assert.equal(deliveryOf('BTCUSDT_261225'), Date.UTC(2026, 11, 25, 8));
  assert.equal(deliveryOf('BTCUSDT'), undefined);
  const { amount, share, yearly } = basisOf(row, 'BTCUSDT_261225', now);
  assert.deepEqual([amount, share.toFixed(6), yearly.toFixed(6)], [1, '0.010000', (0.01 * 365 / 30).toFixed(6)]);
  assert.equal(basisOf(row, 'BTCUSDT', now).yearly, undefined, 'a perpetual contract has no delivery');
  assert.equal(basisOf(row, 'BTCUSDT_261225', undefined).yearly, undefined, 'without the venue’s time');
  assert.equal(basisOf(row, 'BTCUSDT_251225', now).yearly, undefined, 'delivered');
  assert.deepEqual([basisOf(undefined, 'A', now), basisOf({ markPrice: '1', indexPrice: '0' }, 'A', now)], [undefined, undefined]);
});

test('the book over time has gaps where nothing was recorded, and no size there', () => {
  const model = new HeatModel();
  const book = { bids: [['99.9', '3'], ['99.5', '1']], asks: [['100.1', '2'], ['100.4', '5']] };
  for (const time of [1000, 2000, 3000, 9000]) model.record('a', book, time, 1);
  assert.deepEqual(model.gaps(9500), [{ from: 4000, to: 9000 }]);
  assert.deepEqual(model.gaps(20_000).at(-1), { from: 10_000, to: 20_000 }, 'a gap lasts until now');
  assert.equal(model.at(2000, 99.95), 3);
  assert.equal(model.at(3999, 100.15), 2);
  assert.deepEqual([model.at(6000, 99.95), model.at(500, 99.95)], [undefined, undefined], 'a size in a gap is invented');
  assert.equal(model.at(2000, 100.25), 0, 'the book has no level here');
  assert.equal(model.at(2000, 100.6), undefined, 'beyond the last level the size is unknown');
  model.record('a', book, 9100, 1);
  assert.equal(model.samples.length, 4, 'more than one sample a second');
  model.record('b', book, 9200, 1);
  assert.equal(model.samples.length, 1, 'books of two symbols are mixed');
  model.record('b', { bids: [], asks: [] }, 12_000, 1);
  assert.equal(model.samples.length, 1, 'an empty book is a sample');
});

test('each level of the book is in the bin of its price', () => {
  const model = new HeatModel();
  const levels = Array.from({ length: 9 }, (_, place) => (0.0010007 - place / 1e7).toFixed(7));
  model.record('a', { bids: levels.map((price, place) => [price, String(place + 1)]), asks: [['0.0010008', '1']] }, 1000, 7);
  levels.forEach((price, place) => assert.equal(model.at(1000, Number(price)), place + 1, price));
});

test('past values have holes where periods are missing', () => {
  const rows = [0, 10, 20, 60, 70].map((time) => ({ time, value: 1 }));
  assert.equal(usualPeriod(rows), 10);
  assert.deepEqual(holes(rows, 10), [{ from: 20, to: 60 }]);
  assert.deepEqual([usualPeriod([]), holes([], 10)], [0, []]);
});

test('past values are read from the venue’s own paths', () => {
  assert.deepEqual(pathsOf('funding', 'binance:ethusdt', '1h'), ['binance/fapi/v1/fundingRate?symbol=ETHUSDT&limit=100']);
  assert.deepEqual(pathsOf('basis', 'btcusdt_261225', '5m'), ['fapi/v1/markPriceKlines?symbol=BTCUSDT_261225&interval=5m&limit=120', 'fapi/v1/indexPriceKlines?pair=BTCUSDT&interval=5m&limit=120']);
  const bars = (...closes) => closes.map(([time, close]) => [time, '0', '0', '0', close]);
  const basis = kinds.basis.read([bars([1, '101'], [2, '102'], [3, '0']), bars([1, '100'], [3, '100'])]);
  assert.deepEqual(basis.map(({ time, value }) => [time, value.toFixed(4)]), [[1, '0.0100']], 'a bar without its partner is no basis');
  assert.deepEqual(kinds.interest.read([{ code: -1 }]), []);
});

test('past values say whether they are refused, late or failing', async () => {
  const state = { now: 0, answers: [] };
  const request = async () => {
    const { status, body, age } = state.answers.shift();
    if (!status) throw new Error('no connection');
    return { status, headers: new Map([['X-Feed-Age-Ms', age ?? '0']]), json: async () => body };
  };
  const past = new History(request, () => state.now);
  past.follow('a', ['a'], ([body]) => body);
  state.answers = [{ status: 200, body: [{ time: 1 }], age: '400' }];
  await past.ask();
  assert.deepEqual([past.rows, past.passed, past.failure, past.refusal], [[{ time: 1 }], 400, '', ''], 'the answer has been stored for 400 ms');
  await past.ask();
  assert.equal(state.answers.length, 0, 'asked again within a minute');
  state.now = 61_000;
  state.answers = [{ status: 503, body: { msg: 'Later.' } }];
  await past.ask();
  assert.deepEqual([past.rows.length, past.failure, past.passed], [1, 'Later.', 61_400], 'old rows stay, with their age');
  state.now = 67_000;
  state.answers = [{ status: 0 }];
  await past.ask();
  assert.equal(past.failure, 'The gateway did not answer.');
  state.now = 80_000;
  state.answers = [{ status: 404, body: { msg: 'No such path.' } }];
  await past.ask();
  assert.deepEqual([past.rows, past.refusal, past.failure, past.passed], [[], 'No such path.', '', undefined]);
  past.follow('b', ['b'], ([body]) => body);
  assert.deepEqual([past.rows, past.refusal], [[], ''], 'other values begin empty');
});

test('the newest bar has the last trade if that is in the bar', () => {
  const bars = [{ openTime: 0, open: '1', high: '2', low: '1', close: '2' }, { openTime: 60_000, open: '2', high: '3', low: '2', close: '2.5' }];
  assert.deepEqual(withLast(bars, { price: '3.5', time: 70_000 }, 60_000).at(-1), { openTime: 60_000, open: '2', high: '3.5', low: '2', close: '3.5' });
  assert.equal(withLast(bars, { price: '1', time: 70_000 }, 60_000).at(-1).low, '1');
  for (const time of [59_999, 120_000, undefined]) assert.equal(withLast(bars, { price: '9', time }, 60_000), bars, `a trade at ${time}`);
  assert.deepEqual(withLast([], { price: '9', time: 1 }, 60_000), []);
  assert.deepEqual([firstChanged(bars, [0, 60_000]), firstChanged(bars, [0]), firstChanged(bars, undefined), firstChanged(bars, [60_000])], [1, 0, 0, 0]);
});

test('all times follow the zone', () => {
  const time = Date.UTC(2026, 0, 2, 23, 4, 5);
  assert.deepEqual([zone.clock(time), zone.stamp(time), zone.brief(time), zone.words(time)], ['23:04:05', '2026-01-02 23:04:05', '2 Jan 23:04', 'UTC']);
  assert.deepEqual([zone.mark(Date.UTC(2026, 0, 2), false), zone.mark(Date.UTC(2026, 5, 1), false), zone.mark(Date.UTC(2026, 0, 1), false), zone.mark(time, true)], ['2 Jan', 'Jun', '2026', '23:04:05']);
  zone.isLocal = true;
  const own = new Date(time);
  assert.equal(zone.clock(time), [own.getHours(), own.getMinutes(), own.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':'));
  assert.match(zone.words(time), /^local time, UTC[+−]\d+/);
  zone.isLocal = false;
});
