// A dialog to choose a symbol by a few letters of its name.

import { $, set, setChange } from './dom.js';
import { grouped } from './format.js';
import { bare, label, prefixOf } from './venues.js';

const most = 60;

/** The symbols that match some letters: first those with a star, then those that begin with the letters, then all others that have them.
 * @param {{symbol: string, isStarred: boolean}[]} rows in the order to keep among equals @param {string} text */
export function matching(rows, text) {
  const wanted = text.trim().toUpperCase();
  const begins = (symbol) => symbol.toUpperCase().startsWith(wanted) || bare(symbol).startsWith(wanted);
  const rank = ({ symbol, isStarred }) => (symbol.toUpperCase() === wanted ? -1 : (isStarred ? 0 : 2) + (begins(symbol) ? 0 : 1));
  return rows.filter(({ symbol }) => symbol.toUpperCase().includes(wanted)).sort((a, b) => rank(a) - rank(b)).slice(0, most);
}

export class Picker {
  #view;
  #markets;
  #watchlist;
  #freshness;
  #rows = [];
  #at = 0;
  #take;

  /** @param {import('./markets.js').Markets} markets has the rows of all symbols */
  constructor(view, freshness, markets, watchlist) {
    this.#view = view;
    this.#freshness = freshness;
    this.#markets = markets;
    this.#watchlist = watchlist;
    view.venues.addEventListener('change', () => {
      if ($('picker').open) this.#find();
    });
    $('symbol').addEventListener('click', () => this.open());
    $('pick').addEventListener('input', () => this.#find());
    $('pick').addEventListener('keydown', (event) => this.#press(event));
    $('picks').addEventListener('click', ({ target }) => this.#choose(target.closest('li')?.dataset.symbol));
    // A click outside of the dialog's contents is on the dialog itself.
    $('picker').addEventListener('click', ({ target }) => {
      if (target === $('picker')) $('picker').close();
    });
  }

  /** @param {(symbol: string) => void} [take] what becomes of the chosen symbol; usually all panels show it */
  open(take = (symbol) => this.#view.select(symbol)) {
    if (!this.#view.symbol || document.querySelector('dialog[open]')) return;
    this.#take = take;
    $('pick').value = '';
    $('picker').showModal();
    this.#find();
    this.#view.venues.listMissing();
  }

  /** Redraws the prices of the open list. */
  show() {
    if (!$('picker').open) return;
    const rows = new Map(this.#markets.rows().map((row) => [row.symbol, row]));
    this.#rows.forEach(({ symbol }, index) => this.#fill($('picks').children[index], rows.get(symbol) ?? { symbol }));
  }

  #find() {
    const rows = this.#markets.rows().sort((a, b) => (b.volume || 0) - (a.volume || 0));
    const known = new Set(rows.map(({ symbol }) => symbol));
    this.#rows = matching([...rows, ...this.#others().filter(({ symbol }) => !known.has(symbol))].map((row) => ({ ...row, isStarred: this.#watchlist.has(row.symbol) })), $('pick').value);
    $('picks').replaceChildren(...this.#rows.map(({ symbol, isStarred }, index) => Picker.#line(symbol, isStarred, index)));
    set($('picks-empty'), this.#rows.length ? '' : 'No symbol has these letters.');
    this.#go(0);
    this.show();
  }

  /** The symbols of the other venues. The page does not read their prices. */
  #others() {
    const symbols = this.#view.venues.otherSymbols(prefixOf(this.#view.symbol)).map(label);
    return symbols.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).map((symbol) => ({ symbol }));
  }

  static #line(symbol, isStarred, index) {
    const line = Object.assign(document.createElement('li'), { id: `pick-${index}`, role: 'option' });
    line.dataset.symbol = symbol;
    line.append(...['span', 'span', 'span'].map((tag) => document.createElement(tag)));
    line.firstChild.textContent = `${isStarred ? '★ ' : ''}${symbol}`;
    return line;
  }

  #fill(line, { symbol, text, open, price }) {
    const [, last, change] = line.children;
    set(last, text ? grouped(text, this.#view.decimals(symbol)) : '');
    last.classList.toggle('aged', Boolean(text) && this.#freshness.look(this.#view.sourceOf('days', symbol)).isAged);
    if (text) setChange(change, open, price);
    else set(change, '');
  }

  #go(place) {
    this.#at = Math.max(0, Math.min(this.#rows.length - 1, place));
    [...$('picks').children].forEach((line, index) => line.setAttribute('aria-selected', String(index === this.#at)));
    $('pick').setAttribute('aria-activedescendant', this.#rows.length ? `pick-${this.#at}` : '');
    $('picks').children[this.#at]?.scrollIntoView({ block: 'nearest' });
  }

  #press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step) this.#go(this.#at + step);
    else if (event.key === 'Enter') this.#choose(this.#rows[this.#at]?.symbol);
    else return;
    event.preventDefault();
  }

  #choose(symbol) {
    if (!symbol) return;
    $('picker').close();
    this.#take(symbol.toLowerCase());
  }
}
