// The newest rows of all symbols: mark prices, 24 h statistics and funding, and the decimals of their prices.

import { decimalsOf } from './format.js';
import { label, prefixOf } from './venues.js';

/** The streams of all symbols of a venue, by the part of a row that they have. */
export const marketStreams = { marks: '!markPrice@arr@1s', days: '!miniTicker@arr', fundings: '!funding@arr' };

/** The part that a stream of all symbols has; undefined for other streams. @param {string} name */
export const partOf = (name) => Object.keys(marketStreams).find((part) => name === prefixOf(name) + marketStreams[part]);

export class Rows {
  #state = { marks: new Map(), days: new Map(), fundings: new Map(), decimals: new Map() };

  /** The newest row of a symbol. @param {'marks'|'days'|'fundings'} part @param {string} symbol in either case */
  get(part, symbol) { return this.#state[part].get(label(symbol)); }

  has(symbol) { return Boolean(this.get('days', symbol) ?? this.get('marks', symbol)); }

  /** The symbols of a venue that have rows, as they are shown. @param {string} prefix */
  symbolsOf(prefix) {
    const [days, marks] = ['days', 'marks'].map((part) => [...this.#state[part].keys()].filter((symbol) => prefixOf(symbol) === prefix));
    return days.length ? days : marks;
  }

  /** Keeps the rows of an event. @param {'marks'|'days'|'fundings'} part @param {{stream: string, kind: string, content: any}} event */
  take(part, { stream, kind, content }) {
    const prefix = prefixOf(stream);
    const isList = Array.isArray(content);
    const one = isList ? content : [content];
    if (kind === 'full' && isList) this.drop(stream);
    for (const row of content.rows ?? one) {
      this.#state[part].set(prefix + row.symbol, row);
      if (part === 'days') this.learn(prefix + row.symbol, row.lastPrice, row.openPrice, row.highPrice, row.lowPrice);
    }
  }

  /** Forgets the rows of a stream of all symbols. @param {string} name */
  drop(name) {
    const rows = this.#state[partOf(name)];
    const gone = [...(rows?.keys() ?? [])].filter((symbol) => prefixOf(symbol) === prefixOf(name));
    for (const symbol of gone) rows.delete(symbol);
  }

  /** Forgets all rows. */
  clear() {
    for (const part of Object.keys(marketStreams)) this.#state[part].clear();
  }

  /** The number of decimals of the venue's prices of a symbol, as seen until now. @param {string} symbol */
  decimals(symbol) { return this.#state.decimals.get(label(symbol)) ?? 2; }

  /** @param {string} symbol @param {...string} prices */
  learn(symbol, ...prices) {
    const known = this.#state.decimals.get(label(symbol)) ?? 0;
    this.#state.decimals.set(label(symbol), Math.max(known, ...prices.map(decimalsOf)));
  }
}
