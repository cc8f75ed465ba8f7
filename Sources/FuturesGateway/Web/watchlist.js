// The symbols with a star.

import { $ } from './dom.js';
import { Stored } from './stored.js';
import { label } from './venues.js';

/** Dispatches `change`. */
export class Watchlist extends EventTarget {
  #stored = new Stored('watchlist', []);

  constructor() {
    super();
    this.#stored.addEventListener('change', () => this.dispatchEvent(new Event('change')));
  }

  /** As they are shown, such as `BTCUSDT` or `binance:BTCUSDT`. */
  get symbols() { return this.#stored.value; }

  /** @param {string} symbol in either case */
  has(symbol) { return this.#stored.value.includes(label(symbol)); }

  /** Adds a symbol, or removes it. @param {string} symbol */
  toggle(symbol) {
    const name = label(symbol);
    this.#stored.value = this.has(name) ? this.#stored.value.filter((one) => one !== name) : [...this.#stored.value, name];
  }
}

/** The star of the chosen symbol, and the venues whose rows the watchlist needs. */
export class Star {
  #view;
  #watchlist;

  constructor(view, watchlist) {
    this.#view = view;
    this.#watchlist = watchlist;
    $('star').addEventListener('click', () => this.toggle());
    for (const source of [view, watchlist]) source.addEventListener('change', () => this.#show());
    this.#show();
  }

  toggle() { if (this.#view.symbol) this.#watchlist.toggle(this.#view.symbol); }

  #show() {
    this.#view.keep(this.#watchlist.symbols);
    if (this.#view.symbol) showStar($('star'), this.#watchlist, label(this.#view.symbol));
  }
}

/** Shows in a button whether a symbol has a star. @param {HTMLButtonElement} button @param {Watchlist} watchlist @param {string} symbol */
export function showStar(button, watchlist, symbol) {
  const isStarred = watchlist.has(symbol);
  if (button.getAttribute('aria-pressed') === String(isStarred) && button.dataset.symbol === symbol) return;
  button.dataset.symbol = symbol;
  button.textContent = isStarred ? '★' : '☆';
  button.setAttribute('aria-pressed', String(isStarred));
  button.setAttribute('aria-label', `${symbol} on the watchlist`);
}
