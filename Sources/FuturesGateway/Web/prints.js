// One table of trades or liquidations, newest first.

import { Columns } from './columns.js';
import { set } from './dom.js';
import { clock, decimalsOf, grouped, short } from './format.js';
import { zone } from './zone.js';

const most = 60;

/** @typedef {{price: string, size: string, worth: number, isBuy: boolean, time: number}} Print */

export class Prints {
  #body;
  #columns;
  #state = { rows: [], name: undefined, digits: 0, shown: undefined, isLocal: false, width: 0 };

  /** @param {HTMLTableElement} table */
  constructor(table) {
    this.#body = table.tBodies[0];
    this.#columns = new Columns(table, [2]);
    new ResizeObserver(() => this.measure()).observe(table.parentElement);
  }

  /** Takes the width and the type from the style sheet. */
  measure() {
    const { clientWidth } = this.#body.parentElement.parentElement;
    this.#columns.forget();
    Object.assign(this.#state, { width: clientWidth, shown: undefined });
  }

  /** @param {string} name of the stream @param {object[]|undefined} prints oldest first @param {number} decimals of the price @param {(print: object) => Print} read */
  show(name, prints = [], decimals, read) {
    const state = this.#state;
    if (state.shown === prints && state.isLocal === zone.isLocal) return;
    Object.assign(state, { shown: prints, isLocal: zone.isLocal });
    const newest = prints.slice(-most).reverse().map(read);
    if (state.name !== name) Object.assign(state, { name, digits: 0 });
    state.digits = Math.max(state.digits, ...newest.map(({ size }) => decimalsOf(size)));
    while (state.rows.length < newest.length) {
      const line = this.#body.insertRow();
      state.rows.push({ line, cells: Array.from({ length: 4 }, () => line.insertCell()) });
    }
    const texts = newest.map(({ price, size, worth, time }) => [grouped(price, decimals), grouped(size, state.digits), short(worth), clock(time)]);
    state.rows.forEach((row, index) => Prints.#fill(row, newest[index], texts[index]));
    this.#columns.fit(name, texts, state.width, [14]);
  }

  static #fill({ line, cells }, print, texts) {
    if (line.hidden !== !print) line.hidden = !print;
    if (!print) return;
    const way = print.isBuy ? 'up' : 'down';
    if (line.dataset.way !== way) line.dataset.way = way;
    cells.forEach((cell, place) => set(cell, texts[place]));
  }
}
