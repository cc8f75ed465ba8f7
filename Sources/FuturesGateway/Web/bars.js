// Bars as the chart draws them.

import { heikinAshi } from './indicators.js';

export const intervals = ['1s', '5s', '15s', '1m', '5m', '15m', '1h', '4h', '1d', '1w'];

/** The stream with the bars of a symbol. @param {string} symbol @param {string} interval */
export const barsOf = (symbol, interval) => `${symbol}@${interval.endsWith('s') ? 'bar' : 'kline'}_${interval}`;

const spans = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** The length of an interval, in seconds. @param {string} interval such as `5m` */
export const seconds = (interval) => parseInt(interval, 10) * spans[interval.at(-1)];

const numbers = ({ openTime, open, high, low, close }) => (
  { time: openTime / 1000, open: Number(open), high: Number(high), low: Number(low), close: Number(close) });

/** The bars, the newest one with the last trade if that is in the bar. @param {object[]} bars @param {{price?: string, time?: number}} last @param {number} length of a bar, ms */
export function withLast(bars, { price, time }, length) {
  const bar = bars.at(-1);
  if (!bar || time === undefined || time < bar.openTime || time >= bar.openTime + length || bar.close === price) return bars;
  const high = Number(price) > Number(bar.high) ? price : bar.high;
  const low = Number(price) < Number(bar.low) ? price : bar.low;
  return [...bars.slice(0, -1), { ...bar, high, low, close: price }];
}

/** The place of the first bar to draw: after the first drawing only the newest ones have changed. @param {object[]} bars @param {number[]|undefined} drawn the times of the drawn ones */
export function firstChanged(bars, drawn) {
  const last = drawn?.at(-1);
  if (last === undefined || drawn[0] > bars[0]?.openTime) return 0;
  const from = bars.findIndex(({ openTime }) => openTime >= last);
  return from >= 0 && bars[from].openTime === last && bars.length - from < 5 ? from : 0;
}

/** The bars from a place on, in numbers. @param {object[]} bars @param {string} shape @param {number} from */
export function drawable(bars, shape, from) {
  const points = shape === 'heikinAshi' ? heikinAshi(bars.map(numbers)) : undefined;
  return bars.slice(from).map((bar, index) => ({ ...(points ? points[from + index] : numbers(bar)), volume: Number(bar.volume), isDown: Number(bar.close) < Number(bar.open) }));
}
