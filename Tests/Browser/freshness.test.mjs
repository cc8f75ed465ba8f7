// What the page derives from values: node --test Tests/Browser
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const load = (name) => {
  const source = readFileSync(new URL(`../../Sources/FuturesGateway/Web/${name}`, import.meta.url));
  return import(`data:text/javascript;base64,${source.toString('base64')}`);
};
const { Cadence, Opening } = await load('freshness.js');
const { headline } = await load('format.js');

test('prices of several symbols are not compared', () => {
  const opening = new Opening();
  for (const content of [
    [{ symbol: 'DOGEUSDT', price: '0.1' }], [{ symbol: 'DOGEUSDT', price: '0.1' }, { symbol: 'BTCUSDT', price: '100000' }], [{ symbol: 'DOGEUSDT', price: '0.2' }],
  ]) opening.take(headline(content));
  assert.ok(Number.isNaN(opening.price));
  assert.equal(headline([{ symbol: 'DOGEUSDT', price: '0.1' }, { symbol: 'BTCUSDT', price: '5' }]).symbol, 'BTCUSDT', 'the price is told with its symbol');
});

test('a price is compared with the first one of its stream', () => {
  const opening = new Opening();
  assert.ok(Number.isNaN(opening.price));
  for (const content of [undefined, { symbol: 'BTCUSDT', markPrice: '100' }, { symbol: 'BTCUSDT', markPrice: '110' }]) opening.take(headline(content));
  assert.equal(opening.price, 100);
});

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
