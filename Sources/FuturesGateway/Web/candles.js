// The chart's panel: bars with volume, studies, marks, and the mark price as a line. lightweight-charts, a separate script, draws it.

import { ChartOptions } from './chartoptions.js';
import { $, colour, press, set } from './dom.js';
import { grouped, percent, short } from './format.js';
import { heikinAshi } from './indicators.js';
import { largeTrades, liquidations, Marks } from './marks.js';
import { hatch, Outages } from './outages.js';
import { Plot } from './plot.js';
import { label } from './venues.js';
import { intervals } from './view.js';

const time = (milliseconds) => new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ');
const spans = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const seconds = (interval) => parseInt(interval, 10) * spans[interval.at(-1)];
const numbers = ({ openTime, open, high, low, close }) => (
  { time: openTime / 1000, open: Number(open), high: Number(high), low: Number(low), close: Number(close) });

export class Candles {
  #view;
  #freshness;
  #alerts;
  #plot;
  #options = new ChartOptions();
  #outages = new Outages();
  #marks = new Marks();
  #shown = {};
  #describedAt = -Infinity;
  #pointed;

  constructor(view, freshness, alerts) {
    [this.#view, this.#freshness, this.#alerts] = [view, freshness, alerts];
    $('intervals').append(...intervals.map((interval) => Object.assign(document.createElement('button'), { type: 'button', textContent: interval })));
    $('intervals').addEventListener('click', ({ target }) => { if (target.matches('button')) view.show(target.textContent); });
    $('zoom').addEventListener('click', ({ target }) => this.#plot?.move(target.dataset.key));
    $('chart').addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.#plot?.move(event.key)) return;
      event.preventDefault();
    });
    this.#options.addEventListener('change', () => this.#redraw());
    if (globalThis.LightweightCharts) {
      this.#plot = new Plot($('chart'), { pointed: (moment) => { this.#pointed = moment; this.#legend(); }, moved: () => this.#hatch() });
    }
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.#plot?.dress(); this.#redraw(); });
  }

  /** Opens the dialog with the options. */
  open() { this.#options.open(); }

  #redraw() {
    // The name alone remains, so that the visible range does too.
    this.#shown = { name: this.#shown.name };
    if (this.#view.symbol) this.show();
  }

  show() {
    const { streams: { bars: name }, interval, symbol } = this.#view;
    press($('intervals'), (button) => button.textContent === interval);
    const bars = this.#view.feed.get(name) ?? [];
    const look = this.#freshness.look(name);
    const state = $('chart-state');
    state.dataset.state = look.shown;
    set(state, look.shown === 'live' ? '' : look.words);
    state.title = look.error ?? '';
    $('chart-box').classList.toggle('aged-chart', look.isAged && bars.length > 0);
    set($('chart-empty'), bars.length ? '' : look.error ? 'The gateway refused these bars.' : look.shown === 'live' ? 'No trade yet.' : 'Waiting for the bars.');
    if (!this.#plot) return set($('chart-empty'), 'The chart could not be loaded.');
    const now = this.#freshness.venueTime;
    this.#outages.note(symbol, look.isAged && bars.length > 0, now, now - (look.unverified ?? 0));
    this.#draw(name, bars, this.#view.decimals(symbol), interval);
    this.#drawLines(symbol, bars);
    this.#drawMarks(symbol, bars);
    this.#legend();
    this.#hatch();
    return this.#describe(bars);
  }

  #draw(name, bars, decimals, interval) {
    const before = this.#shown;
    if (before.bars === bars && before.decimals === decimals) return;
    const { shape, log, studies } = this.#options.value;
    this.#shown = { name, bars, decimals, times: bars.map(({ openTime }) => openTime), length: seconds(interval) * 1000 };
    const isNew = before.name !== name;
    if (before.decimals !== decimals || isNew) this.#plot.format({ decimals, seconds: seconds(interval) });
    this.#plot.shape(shape, log);
    const last = before.bars?.at(-1)?.openTime;
    const news = bars.slice(bars.findIndex(({ openTime }) => openTime >= last));
    const goesOn = !isNew && last && before.bars[0].openTime <= bars[0].openTime && bars.some(({ openTime }) => openTime === last) && news.length < 5;
    const points = shape === 'heikinAshi' ? heikinAshi(bars.map(numbers)) : undefined;
    const changed = goesOn ? news : bars;
    this.#plot.set(changed.map((bar, place) => ({ ...(points ? points[bars.length - changed.length + place] : numbers(bar)), volume: Number(bar.volume),
      isDown: Number(bar.close) < Number(bar.open) })), goesOn);
    this.#plot.studies.show(studies, bars, seconds(interval) < 86_400);
    if (isNew || before.bars?.length <= 2) this.#plot.home();
  }

  #drawLines(symbol, bars) {
    const isDown = Number(bars.at(-1)?.close) < Number(bars.at(-1)?.open);
    const lines = [
      { title: 'Mark', price: Number(this.#view.row('marks', symbol)?.markPrice), color: colour('accent'), style: 3 },
      // A rising bar is hollow, so a line in its own colour would be invisible.
      { title: '', price: Number(this.#view.lastPrice), color: colour(isDown ? 'down' : 'up'), style: 2 },
    ];
    if (this.#options.value.alerts) {
      const own = this.#alerts.list.filter((alert) => alert.kind === 'price' && alert.symbol === symbol && !alert.at);
      for (const { value } of own) lines.push({ title: `Alert ${value}`, price: Number(value), color: colour('warn'), style: 1 });
    }
    this.#plot.lines(bars.length ? lines.filter(({ price }) => price > 0) : []);
  }

  #drawMarks(symbol, bars) {
    const { streams, feed } = this.#view;
    const kinds = ['liquidation', 'trade'].filter((kind) => this.#options.value[kind]);
    if (kinds.includes('trade')) this.#marks.add(symbol, 'trade', largeTrades(feed.get(streams.trades)));
    this.#marks.add(symbol, 'liquidation', liquidations(feed.get(streams.liquidations)));
    this.#plot.marks(bars.length ? this.#marks.at(this.#shown.times, kinds, { up: colour('up'), down: colour('down') }) : []);
  }

  /** Hatches the times without data since the page was opened. */
  #hatch() {
    const { times = [], length } = this.#shown;
    hatch(this.#outages.of(this.#view.symbol), times, length, (place) => this.#plot.x(place), this.#plot.width);
  }

  /** The numbers of the bar under the pointer, or of the last one. */
  #legend() {
    const { bars = [], decimals } = this.#shown;
    const place = this.#pointed ? bars.findIndex(({ openTime }) => openTime / 1000 === this.#pointed) : -1;
    const bar = bars[place] ?? bars.at(-1);
    if (!bar) return set($('legend'), '');
    const number = (text) => grouped(text, decimals);
    const parts = [time(bar.openTime), `O ${number(bar.open)}`, `H ${number(bar.high)}`, `L ${number(bar.low)}`, `C ${number(bar.close)}`,
      percent(String(Number(bar.close) / Number(bar.open) - 1), 2), `Vol ${short(Number(bar.volume))}`];
    if (bar.isComplete === false) parts.push('incomplete');
    if (this.#options.value.shape === 'heikinAshi') parts.push('drawn as Heikin-Ashi averages');
    set($('legend'), parts.join('  '));
    const studies = this.#plot.studies.at(place < 0 ? bars.length - 1 : place);
    const box = $('legend-studies');
    while (box.children.length > studies.length) box.lastElementChild.remove();
    return studies.forEach(({ name, values, color, isPrice }, index) => {
      const part = box.children[index] ?? box.appendChild(document.createElement('span'));
      part.dataset.color = color;
      const words = values.map((value) => (isPrice ? grouped(value.toFixed(decimals), decimals) : value.toFixed(1))).join(' ');
      set(part, `${name} ${words || 'needs more bars'}`);
    });
  }

  /** Describes the chart in words for screen readers, from time to time. */
  #describe(bars) {
    const { symbol, interval } = this.#view;
    const subject = `${label(symbol)}, bars of ${interval}`;
    if (performance.now() - this.#describedAt < 10_000 && $('chart').getAttribute('aria-label').startsWith(subject)) return;
    this.#describedAt = performance.now();
    const closes = bars.map(({ close }) => Number(close));
    const { decimals } = this.#shown;
    const text = (value) => grouped(value.toFixed(decimals), decimals);
    const range = closes.length ? `: ${closes.length} bars, from ${text(Math.min(...closes))} to ${text(Math.max(...closes))}, last ${text(closes.at(-1))}` : '';
    $('chart').setAttribute('aria-label', `${subject}${range}. Arrows move, plus and minus scale, 0 shows the end.`);
  }
}
