// The merge rules of client.js, without a browser: node --test Tests/Browser
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { StreamContent, ruleFor } from '../../Sources/FuturesGateway/Web/client.js';

const full = (content, id = 'e.1') => ({ id, kind: 'full', content });
const delta = (content, id = 'e.2') => ({ id, kind: 'delta', content });
const book = (lastUpdateId, bids, asks, more) => ({ symbol: 'X', lastUpdateId, bids, asks, ...more });
const after = (rule, ...changes) => {
  const stream = new StreamContent(rule);
  const taken = changes.map((change) => stream.apply(change));
  return { value: stream.value, id: stream.id, taken };
};

test('a value that is replaced is the last one', () => {
  assert.deepEqual(after({ merge: 'replace' }, full({ p: '1' }), full({ p: '2' }, 'e.2')).value, { p: '2' });
});

test('rows are replaced by symbol, the others stay in their order', () => {
  const rows = [{ symbol: 'A', p: '1' }, { symbol: 'B', p: '2' }];
  const { value } = after({ merge: 'byKey', key: 'symbol' }, full(rows), delta([{ symbol: 'A', p: '3' }, { symbol: 'C', p: '4' }]));
  assert.deepEqual(value, [{ symbol: 'A', p: '3' }, { symbol: 'B', p: '2' }, { symbol: 'C', p: '4' }]);
  assert.equal(rows[0].p, '1', 'what was handed out does not change');
});

test('bars are replaced by open time, stand in order, and the oldest go', () => {
  const bars = [{ openTime: 1, close: '1' }, { openTime: 3, close: '3' }];
  const { value } = after({ merge: 'byKey', key: 'openTime', keep: 3 }, full(bars), delta([{ openTime: 4, close: '4' }]),
    delta([{ openTime: 2, close: '2' }], 'e.3'), delta([{ openTime: 4, close: '5' }], 'e.4'));
  assert.deepEqual(value, [{ openTime: 2, close: '2' }, { openTime: 3, close: '3' }, { openTime: 4, close: '5' }]);
});

test('the key of a bar is that of the catalogue', () => {
  const { value } = after({ merge: 'byKey', key: 't', keep: 2 }, full([{ t: 1 }, { t: 3 }]), delta([{ t: 10 }]), delta([{ t: 2 }], 'e.3'));
  assert.deepEqual(value, [{ t: 3 }, { t: 10 }]);
});

test('trades are appended, and only the last ones kept', () => {
  assert.deepEqual(after({ merge: 'append', keep: 3 }, full([1, 2]), delta([3, 4])).value, [2, 3, 4]);
});

test('what comes again is passed over, whatever it is', () => {
  const again = after({ merge: 'append' }, full([1, 2], 'e.y'), delta([3], 'e.z'), delta([3], 'e.z'), delta([4], 'e.10'), full([1], 'e.y'));
  assert.deepEqual([again.value, again.taken, again.id], [[1, 2, 3, 4], [true, true, true, true, true], 'e.10']);
  assert.deepEqual(after({ merge: 'replace' }, full(2, 'e.2'), full(1, 'e.1')).value, 2);
  assert.deepEqual(after({ merge: 'append' }, full([1, 2], 'e.9'), full([5], 'f.1')).value, [5], 'another life counts anew');
});

test('a book takes absolute quantities, zero removes, and each side stays best first', () => {
  const { value } = after({ merge: 'book', keep: 10 }, full(book(5, [['10', '1'], ['9', '1']], [['11', '1'], ['12', '1']])),
    delta(book(6, [['10', '0.000'], ['9.5', '2']], [['11', '3'], ['100', '1']], { firstUpdateId: 6, previousUpdateId: 5 })));
  assert.deepEqual([value.bids, value.asks], [[['9.5', '2'], ['9', '1']], [['11', '3'], ['12', '1'], ['100', '1']]]);
  assert.equal(value.lastUpdateId, 6);
});

test('a book whose change is missing asks for a full value, and a repeated change is passed over', () => {
  const start = full(book(5, [['10', '1']], [['11', '1']]));
  assert.deepEqual(after({ merge: 'book' }, start, delta(book(9, [['10', '0']], [], { previousUpdateId: 7 }))).taken, [true, false]);
  const { taken, value } = after({ merge: 'book' }, start, delta(book(5, [['10', '0']], [], { previousUpdateId: 4 })));
  assert.deepEqual([taken, value.bids], [[true, true], [['10', '1']]]);
});

test('a book cut off at its limit forgets what it cannot know whole, and fills up from what it kept', () => {
  const rule = { merge: 'book', keep: 2 };
  const start = full(book(5, [['10', '1'], ['9', '1']], []));
  const beyond = delta(book(6, [['8', '1']], [], { previousUpdateId: 5 }));
  assert.deepEqual(after(rule, start, beyond, delta(book(7, [['10', '0']], [], { previousUpdateId: 6 }), 'e.3')).value.bids, [['9', '1']]);
  const better = delta(book(6, [['11', '1']], [], { previousUpdateId: 5 }));
  assert.deepEqual(after(rule, start, better).value.bids, [['11', '1'], ['10', '1']]);
  assert.deepEqual(after(rule, start, better, delta(book(7, [['11', '0']], [], { previousUpdateId: 6 }), 'e.3')).value.bids, [['10', '1'], ['9', '1']]);
});

test('a book says when it has become thin', () => {
  const stream = new StreamContent({ merge: 'book', keep: 4 });
  stream.apply(full(book(5, [['4', '1'], ['3', '1'], ['2', '1'], ['1', '1']], [['5', '1']])));
  assert.equal(stream.isThin, false);
  stream.apply(delta(book(6, [['4', '0'], ['3', '0'], ['2', '0']], [], { previousUpdateId: 5 })));
  assert.equal(stream.isThin, true);
  stream.apply(full(book(7, [['1', '1'], ['0.5', '1']], []), 'e.3'));
  assert.equal(stream.isThin, false, 'where the gateway has no more, nothing more is to be had');
});

test('a content made from the full value of another one goes on as that one does', () => {
  const rule = { merge: 'book', keep: 3 };
  const [one, other] = [new StreamContent(rule), new StreamContent(rule)];
  one.apply(full(book(5, [['10', '1'], ['9.7', '1'], ['9', '1']], [])));
  one.apply(delta(book(6, [['10', '0'], ['9.7', '0']], [], { previousUpdateId: 5 })));
  other.apply(one.full);
  const change = delta(book(7, [['8', '1'], ['9.5', '1']], [], { previousUpdateId: 6 }), 'e.3');
  assert.deepEqual([one, other].map((content) => content.apply(change)), [true, true]);
  assert.deepEqual(other.value.bids, [['9.5', '1'], ['9', '1']], 'what lies beyond the end is not taken');
  assert.deepEqual([other.value, other.id], [one.value, one.id]);
});

test('no change is merged into another epoch, or into nothing', () => {
  assert.deepEqual(after({ merge: 'append' }, full([1], 'e.1'), delta([2], 'f.1')).taken, [true, false]);
  assert.deepEqual(after({ merge: 'byKey', key: 'symbol' }, delta([{ symbol: 'A' }])).taken, [false]);
  assert.deepEqual(after({ merge: 'append' }, full([1], 'e.9'), full([7], 'f.1')).value, [7]);
});

test('the catalogue names the rule of a stream', () => {
  const patterns = ['{symbol}@markPrice[@1s]', '!markPrice@arr[@1s]', '{asset}usd@assetIndex', '{symbol}@depth{5|10|20}[@100ms|@500ms]',
    '{symbol}@depth[@100ms|@500ms]', '{symbol}@kline_{interval}', '!bookTicker'];
  const catalogue = patterns.map((pattern) => ({ pattern }));
  const found = (name) => ruleFor(catalogue, name)?.pattern;
  assert.equal(found('btcusdt@markPrice'), patterns[0]);
  assert.equal(found('btcusdt_261225@markPrice@1s'), patterns[0]);
  assert.equal(found('!markPrice@arr@1s'), patterns[1]);
  assert.equal(found('btcusd@assetIndex'), patterns[2]);
  assert.equal(found('币安人生usdt@depth20@500ms'), patterns[3]);
  assert.equal(found('btcusdt@depth@100ms'), patterns[4]);
  assert.equal(found('btcusdt@kline_1m'), patterns[5]);
  assert.equal(found('!bookTicker'), patterns[6]);
  assert.equal(found('btcusdt@depth7'), undefined);
  assert.equal(found('btcusdt@markPrice@2s'), undefined);
});
