// The last prices that the page shows, fixed for each frame, so that all panels show the same one.

import { label } from './venues.js';

export class Prices {
  #view;
  #state = { symbol: undefined, price: undefined, time: undefined };

  /** @param {import('./view.js').View} view */
  constructor(view) { this.#view = view; }

  /** The last trade of a symbol, as of the last `settle`. Without trades, the last price of the 24 h statistics, which has no time.
   * @param {string} [symbol] @returns {{price?: string, time?: number}} */
  of(symbol = '') {
    if (label(symbol) === this.#state.symbol) return this.#state;
    return { price: this.#view.row('days', symbol)?.lastPrice, time: undefined };
  }

  /** Fixes the chosen symbol's price. Called once for each frame. @returns {boolean} whether it has changed */
  settle() {
    const { symbol, streams, feed } = this.#view;
    const before = this.#state;
    const trade = symbol && feed.get(streams.trades)?.at(-1);
    const price = trade?.price ?? this.#view.row('days', symbol)?.lastPrice;
    this.#state = { symbol: label(symbol ?? ''), price, time: trade?.time };
    return price !== before.price || this.#state.symbol !== before.symbol;
  }
}
