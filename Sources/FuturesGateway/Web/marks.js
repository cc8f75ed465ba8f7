// Marks at the bars: liquidations, and trades that are much larger than usual.

import { short } from './format.js';

const most = 200;
/** A trade is large if it is worth this many times the median of the known trades. */
const large = 20;
const fewest = 50;

/** The large trades. @param {{id: number, price: string, qty: string, time: number, isBuyerMaker: boolean}[]} trades */
export function largeTrades(trades = []) {
  if (trades.length < fewest) return [];
  const worth = trades.map(({ price, qty }) => Number(price) * Number(qty));
  const median = [...worth].sort((a, b) => a - b)[worth.length >> 1];
  return trades.map((trade, place) => ({ key: `t${trade.id}`, time: trade.time, isBuy: !trade.isBuyerMaker, worth: worth[place] }))
    .filter(({ worth }) => worth >= large * median);
}

/** Liquidations as prints. @param {object[]} orders */
export const liquidations = (orders = []) => orders.map(({ averagePrice, price, qty, side, time }) => ({ key: `l${time} ${side} ${qty} ${price}`, time, isBuy: side === 'BUY',
  worth: Number(Number(averagePrice) ? averagePrice : price) * Number(qty) }));

/** The marks of a symbol: one for each bar, kind and side. */
export class Marks {
  #seen = new Map();
  #symbol;

  /** Adds prints of a kind; each counts once. @param {string} symbol @param {'liquidation'|'trade'} kind @param {{key: string, time: number, isBuy: boolean, worth: number}[]} prints */
  add(symbol, kind, prints) {
    if (this.#symbol !== symbol) this.#seen.clear();
    this.#symbol = symbol;
    for (const print of prints) this.#seen.set(print.key, { ...print, kind });
    for (const key of [...this.#seen.keys()].slice(0, Math.max(0, this.#seen.size - most))) this.#seen.delete(key);
  }

  /** @param {number[]} times of the bars, ms @param {string[]} kinds that are shown @param {{up: string, down: string}} colours */
  at(times, kinds, { up, down }) {
    const marks = new Map();
    for (const { kind, time, isBuy, worth } of this.#seen.values()) {
      const bar = times.findLast((one) => one <= time);
      if (bar === undefined || !kinds.includes(kind)) continue;
      const key = `${bar} ${kind} ${isBuy}`;
      const mark = marks.get(key) ?? { bar, kind, isBuy, worth: 0 };
      mark.worth += worth;
      marks.set(key, mark);
    }
    // Only the largest mark of each side has a text, because more of them would cover each other.
    const largest = (isBuy) => Math.max(0, ...[...marks.values()].filter((mark) => mark.isBuy === isBuy).map(({ worth }) => worth));
    return [...marks.values()].sort((a, b) => a.bar - b.bar).map(({ bar, kind, isBuy, worth }) => ({
      time: bar / 1000, position: isBuy ? 'belowBar' : 'aboveBar', color: isBuy ? up : down, size: 0.6,
      shape: kind === 'liquidation' ? 'square' : isBuy ? 'arrowUp' : 'arrowDown', text: worth < largest(isBuy) ? '' : `${kind === 'liquidation' ? 'Liq ' : ''}${short(worth)}`,
    }));
  }
}
