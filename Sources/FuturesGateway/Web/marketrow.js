// A row of the market table.

import { set, setChange, setPrice } from './dom.js';
import { grouped, percent, short, unitsOf, whole } from './format.js';
import { showStar } from './watchlist.js';

const setTitle = (cell, title) => {
  if (cell.title !== title) cell.title = title;
};

export class MarketRow {
  #star;
  #name;
  #cells;

  /** @param {HTMLTableRowElement} line an empty one */
  constructor(line) {
    this.line = line;
    this.#cells = Array.from({ length: 5 }, () => line.insertCell());
    this.#star = this.#cells[0].appendChild(Object.assign(document.createElement('button'), { type: 'button', className: 'star', tabIndex: -1 }));
    this.#name = this.#cells[0].appendChild(document.createElement('span'));
  }

  /** The texts of the shown columns; none if the row is hidden. */
  get texts() {
    return this.line.hidden ? [] : [this.#name, ...this.#cells.slice(1)].map((cell) => cell.textContent);
  }

  clear() {
    this.line.hidden = true;
    this.line.removeAttribute('aria-current');
  }

  /** @param {object} market as `Markets.rows` has it @param {{index: number, isCurrent: boolean, isAged: boolean, name: string, decimals: number}} how */
  fill({ symbol, text, open, price, rate, volume, turnover }, { index, isCurrent, isAged, name, decimals, watchlist }) {
    const { line } = this;
    const [first, last, change, funding, traded] = this.#cells;
    if (line.hidden) line.hidden = false;
    if (line.dataset.symbol !== symbol) line.dataset.symbol = symbol;
    this.#attribute('aria-current', String(isCurrent));
    this.#attribute('aria-rowindex', String(index + 2));
    line.classList.toggle('aged', isAged);
    set(this.#name, name);
    setTitle(first, symbol);
    showStar(this.#star, watchlist, symbol);
    setPrice(last, text, text && grouped(text, decimals), symbol);
    setChange(change, open, price);
    set(funding, percent(rate));
    set(traded, short(volume));
    setTitle(traded, turnover ? `${whole(turnover)} ${unitsOf(symbol).quote}` : '');
  }

  #attribute(name, value) {
    if (this.line.getAttribute(name) !== value) this.line.setAttribute(name, value);
  }
}
