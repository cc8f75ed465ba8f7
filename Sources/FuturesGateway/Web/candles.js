// A chart: bars with volume, studies, marks, and the mark price as a line. lightweight-charts, a separate script, draws it.

import { drawable, firstChanged, intervals, seconds, withLast } from './bars.js';
import { press, set, setState } from './dom.js';
import { grouped } from './format.js';
import { showLast } from './lasttag.js';
import { describe, showLegend, showStudies } from './legend.js';
import { hatch, Outages } from './outages.js';
import { Overlays } from './overlays.js';
import { Plot } from './plot.js';

export class Candles {
  #view;
  #freshness;
  #options;
  #place;
  #parts;
  #plot;
  #outages = new Outages();
  #overlays;
  #state = { shown: {}, bars: [], pointed: undefined, describedAt: -Infinity };

  /** @param {HTMLElement} root @param {{symbol: string, interval: string, show: (interval: string) => void, bars: string}} place what the chart shows
   * @param {{view: object, freshness: object, alerts: object, options: object}} page */
  constructor(root, place, { view, freshness, alerts, options }) {
    this.#view = view;
    this.#freshness = freshness;
    this.#options = options;
    this.#overlays = new Overlays({ view, alerts, options });
    this.#place = place;
    this.#parts = Object.fromEntries([...root.querySelectorAll('[data-part]')].map((part) => [part.dataset.part, part]));
    const { intervals: group, zoom, plot } = this.#parts;
    group.append(...intervals.map((interval) => Object.assign(document.createElement('button'), { type: 'button', textContent: interval })));
    group.addEventListener('click', ({ target }) => {
      if (target.matches('button')) place.show(target.textContent);
    });
    zoom.addEventListener('click', ({ target }) => this.#plot?.move(target.dataset.key));
    plot.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.#plot?.move(event.key)) return;
      event.preventDefault();
    });
    options.addEventListener('change', () => this.redraw());
    if (globalThis.LightweightCharts) this.#plot = new Plot(plot, { pointed: (moment) => this.#point(moment), moved: () => this.#follow() });
  }

  /** The button that chooses the symbol of this chart. */
  get symbolButton() { return this.#parts.symbol; }

  #point(moment) {
    this.#state.pointed = moment;
    this.#legend();
  }

  #follow() {
    this.#hatch();
    this.#tag();
  }

  /** Draws everything again: the options, the colors or the time zone have changed. */
  redraw() {
    this.#plot?.dress();
    // The name alone remains, so that the visible range does too.
    this.#state.shown = { name: this.#state.shown.name };
    if (this.#view.symbol) this.show();
  }

  show() {
    const { symbol, interval, bars: name } = this.#place;
    const { state, box, empty } = this.#parts;
    if (!symbol) return undefined;
    press(this.#parts.intervals, (button) => button.textContent === interval);
    const own = this.#view.feed.get(name) ?? [];
    const look = this.#freshness.look(name);
    // Also in an outage, so that the legend shows the same last price as the tag beside it.
    const bars = withLast(own, this.#view.lastOf(symbol), seconds(interval) * 1000);
    this.#state.bars = bars;
    setState(state, look, look.shown === 'live' ? '' : look.words);
    box.classList.toggle('aged-chart', look.isAged && bars.length > 0);
    set(empty, bars.length ? '' : Candles.#nothing(look));
    if (!this.#plot) return set(empty, 'The chart could not be loaded.');
    const now = this.#freshness.venueTime;
    this.#outages.note(symbol, look.isAged && bars.length > 0, now, now - (look.unverified ?? 0));
    this.#draw(name, own, bars, this.#view.decimals(symbol), interval);
    this.#plot.lines(bars.length ? this.#overlays.lines(symbol, this.#isDown, (price) => this.#plot.y(price)) : []);
    this.#plot.marks(bars.length ? this.#overlays.marks(symbol, this.#state.shown.times) : []);
    this.#legend();
    this.#follow();
    return this.#describe(bars);
  }

  static #nothing({ error, shown }) {
    if (error) return 'The gateway refused these bars.';
    return shown === 'live' ? 'No trade yet.' : 'Waiting for the bars.';
  }

  #draw(name, own, bars, decimals, interval) {
    const before = this.#state.shown;
    const newest = bars.at(-1);
    if (before.own === own && before.decimals === decimals && before.close === newest?.close) return;
    const { shape, log, studies } = this.#options.value;
    const length = seconds(interval) * 1000;
    this.#state.shown = { name, own, decimals, close: newest?.close, times: bars.map(({ openTime }) => openTime), length };
    const isNew = before.name !== name;
    if (before.decimals !== decimals || isNew) this.#plot.format({ decimals, seconds: seconds(interval) });
    this.#plot.shape(shape, log);
    const from = isNew ? 0 : firstChanged(bars, before.times);
    this.#plot.set(drawable(bars, shape, from), from > 0);
    this.#plot.studies.show(studies, own, length < 86_400_000);
    if (isNew || before.times?.length <= 2) this.#plot.home();
  }

  get #isDown() {
    const bar = this.#state.bars.at(-1);
    return Number(bar?.close) < Number(bar?.open);
  }

  /** Hatches the times without data since the page was opened. */
  #hatch() {
    const { times = [], length } = this.#state.shown;
    hatch(this.#parts.hatch, this.#outages.of(this.#place.symbol), times, length, (place) => this.#plot.x(place), this.#plot.width);
  }

  #tag() {
    const { symbol, interval } = this.#place;
    const { price, time } = this.#view.lastOf(symbol);
    const bar = this.#state.bars.at(-1);
    const source = time === undefined ? this.#view.sourceOf('days', symbol) : `${symbol}@aggTrade`;
    showLast(this.#parts.last, this.#plot, { price, text: price ? grouped(price, this.#view.decimals(symbol)) : '', isDown: this.#isDown,
      isAged: this.#freshness.look(source).isAged, end: bar && bar.openTime + seconds(interval) * 1000, now: this.#freshness.venueTime });
  }

  /** The numbers of the bar under the pointer, or of the last one. */
  #legend() {
    const { bars, pointed, shown: { decimals } } = this.#state;
    const place = pointed ? bars.findIndex(({ openTime }) => openTime / 1000 === pointed) : -1;
    showLegend(this.#parts.legend, bars[place] ?? bars.at(-1), { symbol: this.#place.symbol, decimals, shape: this.#options.value.shape });
    showStudies(this.#parts.studies, bars.length ? this.#plot.studies.at(place < 0 ? bars.length - 1 : place) : [], decimals);
  }

  /** Describes the chart in words for screen readers, from time to time. */
  #describe(bars) {
    const { symbol, interval } = this.#place;
    const { plot } = this.#parts;
    const words = describe(bars, { symbol, interval, decimals: this.#state.shown.decimals });
    const isSame = plot.getAttribute('aria-label').split(/[:.]/)[0] === words.split(/[:.]/)[0];
    if (isSame && performance.now() - this.#state.describedAt < 10_000) return;
    this.#state.describedAt = performance.now();
    plot.setAttribute('aria-label', words);
  }
}
