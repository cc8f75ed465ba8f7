// The dialog with the chart's options, which this browser keeps.

import { $ } from './dom.js';
import { Stored } from './stored.js';
import { studies } from './studies.js';

const shapes = { candles: 'Candles', heikinAshi: 'Heikin-Ashi', line: 'Line of closes' };
const extras = { log: 'Logarithmic scale', liquidation: 'Liquidations', trade: 'Large trades (20 × the median)', alerts: 'Lines of price alerts' };
const usual = { shape: 'candles', log: false, liquidation: true, trade: false, alerts: true, studies: [] };

/** It dispatches `change`. */
export class ChartOptions extends EventTarget {
  #stored = new Stored('chart', usual);

  constructor() {
    super();
    this.#stored.addEventListener('change', () => {
      this.#show();
      this.dispatchEvent(new Event('change'));
    });
    $('chart-shapes').append(...Object.entries(shapes).map(([name, words]) => ChartOptions.#choice('radio', 'shape', name, words)));
    $('chart-studies').append(...Object.entries(studies).map(([name, { words }]) => ChartOptions.#choice('checkbox', 'study', name, words)));
    $('chart-extras').append(...Object.entries(extras).map(([name, words]) => ChartOptions.#choice('checkbox', 'extra', name, words)));
    $('chart-form').addEventListener('change', ({ target }) => this.#take(target));
    $('chart-open').addEventListener('click', () => this.open());
    this.#show();
  }

  /** @returns {typeof usual} */
  get value() {
    const value = { ...usual, ...this.#stored.value };
    return { ...value, shape: value.shape in shapes ? value.shape : usual.shape, studies: Array.isArray(value.studies) ? value.studies : [] };
  }

  open() { $('chart-options').showModal(); }

  #take({ name, value, checked }) {
    const before = this.value;
    if (name === 'shape') this.#stored.value = { ...before, shape: value };
    if (name === 'extra') this.#stored.value = { ...before, [value]: checked };
    if (name === 'study') this.#stored.value = { ...before, studies: [...before.studies.filter((one) => one !== value), ...(checked ? [value] : [])] };
  }

  #show() {
    const { shape, studies: chosen, ...options } = this.value;
    for (const input of $('chart-form').querySelectorAll('input')) {
      input.checked = { shape: shape === input.value, study: chosen.includes(input.value), extra: options[input.value] === true }[input.name];
    }
  }

  static #choice(type, name, value, words) {
    const label = document.createElement('label');
    label.append(Object.assign(document.createElement('input'), { type, name, value }), ` ${words}`);
    return label;
  }
}
