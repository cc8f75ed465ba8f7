// The lines of prices over the bars, and the marks of liquidations and large trades.

import { colour } from './dom.js';
import { largeTrades, liquidations, Marks } from './marks.js';

/** The height of two labels at the price axis, px. */
const labels = 32;

export class Overlays {
  #view;
  #alerts;
  #options;
  #marks = new Marks();

  /** @param {{view: object, alerts: object, options: object}} page */
  constructor({ view, alerts, options }) {
    this.#view = view;
    this.#alerts = alerts;
    this.#options = options;
  }

  /** The mark price, the last price, and the prices of alerts. @param {string} symbol @param {boolean} isDown whether the newest bar falls
   * @param {(price: number) => number|null} y the height of a price, px */
  lines(symbol, isDown, y) {
    const [mark, last] = [Number(this.#view.row('marks', symbol)?.markPrice), Number(this.#view.lastOf(symbol).price)];
    // The labels of two near prices would cover each other.
    const isNear = Math.abs((y(mark) ?? NaN) - (y(last) ?? NaN)) < labels;
    const lines = [
      { title: isNear ? ' ' : 'Mark', price: mark, color: colour('accent'), style: 3 },
      // A rising bar is hollow, so a line in its own color would be invisible.
      { title: '', price: last, color: colour(isDown ? 'down' : 'up'), style: 2 },
    ];
    if (this.#options.value.alerts) {
      const own = this.#alerts.list.filter((alert) => alert.kind === 'price' && alert.symbol === symbol && !alert.at);
      for (const { value } of own) lines.push({ title: `Alert ${value}`, price: Number(value), color: colour('warn'), style: 1 });
    }
    return lines.filter(({ price }) => price > 0);
  }

  /** The marks at bars. @param {string} symbol @param {number[]} times of the bars, ms */
  marks(symbol, times) {
    const { feed } = this.#view;
    const kinds = ['liquidation', 'trade'].filter((kind) => this.#options.value[kind]);
    if (kinds.includes('trade')) this.#marks.add(symbol, 'trade', largeTrades(feed.get(`${symbol}@aggTrade`)));
    this.#marks.add(symbol, 'liquidation', liquidations(feed.get(`${symbol}@forceOrder`)));
    return this.#marks.at(times, kinds, { up: colour('up'), down: colour('down') });
  }
}
