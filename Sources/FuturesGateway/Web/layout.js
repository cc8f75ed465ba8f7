// Which panels are shown, and their sizes. This browser keeps both.

import { $ } from './dom.js';
import { splitter } from './splitter.js';
import { Stored } from './stored.js';

/** The panels in the order of their keys, and their words. */
export const panelNames = { markets: 'Markets', prints: 'Trades', chart: 'Chart', derivatives: 'Funding', heat: 'Heat map', depth: 'Depth', book: 'Order book', venues: 'Venues' };
/** The smallest size of a resized panel, and the largest part of its container. */
const [least, most] = [120, 0.75];

const find = (name) => document.querySelector(`[data-panel="${name}"]`);

/** Dispatches `change`. */
export class Layout extends EventTarget {
  #stored = new Stored('layout', { hidden: [], sizes: {} });
  #sizes = {};

  constructor() {
    super();
    this.#stored.addEventListener('change', () => this.#apply());
    $('settings-panels').append(...Object.entries(panelNames).map(([name, words], place) => Layout.#choice(name, words, place)));
    $('settings-panels').addEventListener('change', ({ target }) => this.toggle(target.value));
    $('settings-reset').addEventListener('click', () => this.reset());
    for (const bar of document.querySelectorAll('.splitter')) {
      const panel = find(bar.dataset.sizes);
      const isColumn = ['left', 'right'].includes(bar.dataset.side);
      splitter(bar, {
        now: () => (isColumn ? panel.offsetWidth : panel.offsetHeight),
        set: (size) => this.#resize(panel, size, isColumn, bar),
        keep: () => this.#keep(),
      });
    }
    this.#apply();
  }

  /** The names of the hidden panels. @returns {string[]} */
  get hidden() {
    const { hidden } = this.#stored.value;
    return Array.isArray(hidden) ? hidden.filter((name) => name in panelNames) : [];
  }

  /** Shows or hides a panel. @param {string} name */
  toggle(name) {
    const { hidden } = this;
    const next = hidden.includes(name) ? hidden.filter((one) => one !== name) : [...hidden, name];
    this.#stored.value = { ...this.#stored.value, hidden: next };
  }

  /** Shows all panels with their usual sizes. */
  reset() {
    this.#stored.value = { hidden: [], sizes: {} };
    this.dispatchEvent(new Event('reset'));
  }

  #resize(panel, size, isColumn, bar) {
    const box = panel.parentElement;
    const room = (isColumn ? box.clientWidth : box.clientHeight) * most;
    const fitting = Math.round(Math.max(least, Math.min(room, size)));
    this.#sizes[panel.dataset.panel] = fitting;
    panel.style.flexBasis = `${fitting}px`;
    bar.setAttribute('aria-valuenow', String(fitting));
  }

  #keep() {
    this.#stored.value = { ...this.#stored.value, sizes: { ...this.#sizes } };
  }

  #apply() {
    const { hidden } = this;
    for (const name of Object.keys(panelNames)) find(name).classList.toggle('closed', hidden.includes(name));
    for (const input of $('settings-panels').querySelectorAll('input')) input.checked = !hidden.includes(input.value);
    const sizes = this.#stored.value.sizes ?? {};
    this.#sizes = {};
    for (const bar of document.querySelectorAll('.splitter')) {
      const name = bar.dataset.sizes;
      const size = Number(sizes[name]);
      if (size >= least) this.#sizes[name] = size;
      find(name).style.flexBasis = size >= least ? `min(${size}px, ${most * 100}%)` : '';
      bar.setAttribute('aria-valuenow', String(size >= least ? size : find(name).offsetWidth));
    }
    this.dispatchEvent(new Event('change'));
  }

  static #choice(name, words, place) {
    const label = document.createElement('label');
    const key = Object.assign(document.createElement('kbd'), { textContent: String(place + 1) });
    label.append(Object.assign(document.createElement('input'), { type: 'checkbox', name: 'panel', value: name }), ` ${words} `, key);
    return label;
  }
}
