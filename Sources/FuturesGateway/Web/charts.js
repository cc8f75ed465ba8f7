// One, two or four charts side by side. The first one shows the chosen symbol, each other one a symbol and an interval of its own. All use the
// page's connection.

import { barsOf, intervals } from './bars.js';
import { Candles } from './candles.js';
import { ChartOptions } from './chartoptions.js';
import { $, set } from './dom.js';
import { Stored } from './stored.js';
import { label } from './venues.js';

const counts = [1, 2, 4];
const usual = { count: 1, panes: [{ interval: '5m' }, { interval: '15m' }, { interval: '1h' }] };

/** What the first chart shows. */
const main = (view) => ({
  get symbol() { return view.symbol; },
  get interval() { return view.interval; },
  get bars() { return view.streams.bars; },
  show: (interval) => view.show(interval),
});

export class Charts {
  #page;
  #picker;
  #stored = new Stored('charts', usual);
  #state = { charts: [], places: [], active: 0 };

  /** @param {{view: object, freshness: object, alerts: object}} page @param {import('./picker.js').Picker} picker chooses the symbols of the other charts */
  constructor(page, picker) {
    this.#page = { ...page, options: new ChartOptions() };
    this.#picker = picker;
    // The other charts are copies of the first one, taken before it is filled.
    const first = $('charts').firstElementChild;
    const copies = usual.panes.map((_, number) => Charts.#copy(first, number + 2));
    this.#add(first, main(page.view));
    copies.forEach((root, number) => {
      $('charts').append(root);
      this.#add(root, this.#place(number));
    });
    $('count').addEventListener('change', ({ target }) => this.#keep({ count: Number(target.value) }));
    this.#stored.addEventListener('change', () => this.#apply());
    page.view.addEventListener('change', () => this.#attach());
    $('charts').addEventListener('focusin', ({ target }) => this.#focus(target));
    this.#apply();
  }

  /** The number of charts. */
  get count() { return counts.includes(this.#stored.value.count) ? this.#stored.value.count : 1; }

  /** Shows the next number of charts. */
  turn() { this.#keep({ count: counts[(counts.indexOf(this.count) + 1) % counts.length] }); }

  /** Opens the dialog with the options of all charts. */
  open() { this.#page.options.open(); }

  /** Shows longer or shorter bars in the chart that had the focus last. @param {number} places in the list of intervals */
  step(places) {
    const place = this.#state.places[this.#state.active < this.count ? this.#state.active : 0];
    place.show(intervals[Math.min(intervals.length - 1, Math.max(0, intervals.indexOf(place.interval) + places))]);
  }

  /** One chart and all symbols as usual. */
  reset() { this.#stored.value = usual; }

  /** Draws the charts that show a stream; without a name, all. @param {string} [name] */
  show(name) {
    this.#state.charts.slice(0, this.count).forEach((chart, number) => {
      const place = this.#state.places[number];
      if (!name || place.bars === name) chart.show();
      if (number > 0) set(chart.symbolButton, place.symbol ? label(place.symbol) : 'Choose');
    });
  }

  /** Draws everything again: the colors or the time zone have changed. */
  measure() {
    for (const chart of this.#state.charts.slice(0, this.count)) chart.redraw();
  }

  /** Whether one of the charts shows this stream. @param {string} name */
  shows(name) { return this.#state.places.slice(0, this.count).some(({ bars }) => bars === name); }

  #add(root, place) {
    this.#state.places.push(place);
    this.#state.charts.push(new Candles(root, place, this.#page));
  }

  /** What another chart shows. */
  #place(number) {
    const charts = this;
    const { view } = this.#page;
    const own = () => ({ ...usual.panes[number], ...charts.#stored.value.panes?.[number] });
    return {
      get symbol() { return own().symbol ?? view.symbol; },
      get interval() { return intervals.includes(own().interval) ? own().interval : '5m'; },
      get bars() { return barsOf(this.symbol, this.interval); },
      show: (interval) => charts.#change(number, { interval }),
    };
  }

  #change(number, change) {
    const panes = usual.panes.map((pane, place) => ({ ...pane, ...this.#stored.value.panes?.[place], ...(place === number ? change : {}) }));
    this.#keep({ panes });
  }

  #keep(change) { this.#stored.value = { ...this.#stored.value, ...change }; }

  #focus(target) {
    const root = target.closest('.chart');
    this.#state.active = Math.max(0, [...$('charts').children].indexOf(root));
  }

  #attach() {
    const others = this.#state.places.slice(1, this.count);
    this.#page.view.attach('charts', others.filter(({ symbol }) => symbol).map(({ bars }) => bars));
  }

  #apply() {
    $('charts').dataset.count = String(this.count);
    $('count').value = String(this.count);
    [...$('charts').children].forEach((root, number) => {
      root.hidden = number >= this.count;
    });
    this.#state.charts.slice(1).forEach((chart, number) => {
      chart.symbolButton.onclick = () => this.#picker.open((symbol) => this.#change(number, { symbol }));
    });
    if (!this.#page.view.symbol) return;
    this.#attach();
    this.measure();
  }

  static #copy(first, number) {
    const root = first.cloneNode(true);
    for (const part of root.querySelectorAll('[data-part="main"]')) part.remove();
    for (const part of root.querySelectorAll('[id]')) part.removeAttribute('id');
    root.removeAttribute('data-panel');
    root.setAttribute('aria-label', `Chart ${number}`);
    root.querySelector('[data-part="symbol"]').hidden = false;
    return root;
  }
}
