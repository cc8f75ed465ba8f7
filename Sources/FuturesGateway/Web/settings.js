// What the reader chooses once for the whole page: theme, density, colors, time zone. This browser keeps it.

import { $, set } from './dom.js';
import { Stored } from './stored.js';
import { zone } from './zone.js';

/** Each choice with its words; the first value is the usual one. */
const choices = {
  theme: { words: 'Theme', values: { system: 'As the system', light: 'Light', dark: 'Dark' } },
  density: { words: 'Density', values: { comfortable: 'Comfortable', compact: 'Compact' } },
  colors: { words: 'Up and down', values: { green: 'Green and red', blue: 'Blue and orange' } },
  zone: { words: 'Times', values: { utc: 'UTC', local: 'Local' } },
  amounts: { words: 'Totals of the book', values: { base: 'In the asset', quote: 'In the quote asset' } },
};
const usual = Object.fromEntries(Object.entries(choices).map(([name, { values }]) => [name, Object.keys(values)[0]]));

/** Dispatches `change`. */
export class Settings extends EventTarget {
  #stored = new Stored('settings', usual);

  constructor() {
    super();
    this.#stored.addEventListener('change', () => this.#take());
    $('settings-choices').append(...Object.entries(choices).map(([name, choice]) => Settings.#group(name, choice)));
    $('settings-choices').addEventListener('change', ({ target }) => this.choose(target.name, target.value));
    $('settings-open').addEventListener('click', () => this.open());
    $('zone').addEventListener('click', () => this.turn('zone'));
    this.#take();
  }

  open() {
    if (document.querySelector('dialog[open]')) return;
    $('settings').showModal();
  }

  /** @returns {typeof usual} */
  get value() {
    const value = { ...usual, ...this.#stored.value };
    // A value of another version of the page is ignored.
    return Object.fromEntries(Object.entries(choices).map(([name, { values }]) => [name, value[name] in values ? value[name] : usual[name]]));
  }

  /** @param {string} name @param {string} value */
  choose(name, value) {
    this.#stored.value = { ...this.value, [name]: value };
  }

  /** Chooses the next value. @param {string} name */
  turn(name) {
    const values = Object.keys(choices[name].values);
    this.choose(name, values[(values.indexOf(this.value[name]) + 1) % values.length]);
  }

  /** Chooses the usual values again. */
  reset() {
    this.#stored.value = usual;
  }

  #take() {
    const { theme, density, colors, zone: chosen } = this.value;
    Object.assign(document.documentElement.dataset, { theme, density, colors });
    zone.isLocal = chosen === 'local';
    set($('zone'), `Times: ${zone.words(Date.now())}`);
    for (const input of $('settings-choices').querySelectorAll('input')) input.checked = this.value[input.name] === input.value;
    this.dispatchEvent(new Event('change'));
  }

  static #group(name, { words, values }) {
    const group = document.createElement('fieldset');
    group.append(Object.assign(document.createElement('legend'), { textContent: words }));
    for (const [value, text] of Object.entries(values)) {
      const label = document.createElement('label');
      label.append(Object.assign(document.createElement('input'), { type: 'radio', name, value }), ` ${text}`);
      group.append(label);
    }
    return group;
  }
}
