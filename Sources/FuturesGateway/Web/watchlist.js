// The symbols with a star.

import { Stored } from './stored.js';

/** Dispatches `change`. */
export class Watchlist extends EventTarget {
  #stored = new Stored('watchlist', []);

  constructor() {
    super();
    this.#stored.addEventListener('change', () => this.dispatchEvent(new Event('change')));
  }

  /** @param {string} symbol in either case */
  has(symbol) { return this.#stored.value.includes(symbol.toUpperCase()); }

  /** Adds a symbol, or removes it. @param {string} symbol */
  toggle(symbol) {
    const name = symbol.toUpperCase();
    this.#stored.value = this.has(name) ? this.#stored.value.filter((one) => one !== name) : [...this.#stored.value, name];
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
