// The chart: bars with volume, the mark price as a line, and a hatched area while no data arrives. lightweight-charts, a separate script, draws it.

import { $, colour, press, set } from './dom.js';
import { grouped, percent, short } from './format.js';
import { intervals } from './view.js';

const time = (milliseconds) => new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ');
const spans = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const seconds = (interval) => parseInt(interval, 10) * spans[interval.at(-1)];

export class Candles {
  #view; #freshness; #chart; #bars; #volume; #lines = {}; #shown = {}; #describedAt = -Infinity; #pointed;

  constructor(view, freshness) {
    [this.#view, this.#freshness] = [view, freshness];
    $('intervals').append(...intervals.map((interval) => Object.assign(document.createElement('button'), { type: 'button', textContent: interval })));
    $('intervals').addEventListener('click', ({ target }) => { if (target.matches('button')) view.show(target.textContent); });
    $('zoom').addEventListener('click', ({ target }) => this.#move(target.dataset.key));
    $('chart').addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.#move(event.key)) return;
      event.preventDefault();
    });
    if (globalThis.LightweightCharts) this.#make();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#dress());
  }

  #make() {
    const { createChart, CandlestickSeries, HistogramSeries } = globalThis.LightweightCharts;
    // The library styles its logo inline, which the page's policy forbids; the page's footer names its authors instead.
    this.#chart = createChart($('chart'), { autoSize: true, layout: { attributionLogo: false, fontSize: 11, background: { color: 'transparent' } },
      crosshair: { mode: 0 }, rightPriceScale: { borderVisible: false, scaleMargins: { top: 0.08, bottom: 0.22 } },
      timeScale: { borderVisible: false, rightOffset: 4, minBarSpacing: 1.5 } });
    this.#bars = this.#chart.addSeries(CandlestickSeries, { borderVisible: true, lastValueVisible: false, priceLineVisible: false });
    this.#volume = this.#chart.addSeries(HistogramSeries, { priceScaleId: 'volume', lastValueVisible: false, priceLineVisible: false,
      priceFormat: { type: 'volume' } });
    this.#volume.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    this.#chart.subscribeCrosshairMove(({ time: pointed }) => { this.#pointed = pointed; this.#legend(); });
    this.#chart.timeScale().subscribeVisibleLogicalRangeChange(() => this.#hatch());
    this.#dress();
  }

  /** Applies the colours of the style sheet. Rising bars are hollow, so that they can be distinguished without colour. */
  #dress() {
    if (!this.#chart) return;
    const [text, line, up, down, faint, surface] = ['muted', 'line', 'up', 'down', 'faint', 'surface'].map(colour);
    this.#chart.applyOptions({ layout: { textColor: text, fontFamily: getComputedStyle(document.body).fontFamily },
      grid: { vertLines: { color: line }, horzLines: { color: line } },
      crosshair: Object.fromEntries(['vertLine', 'horzLine'].map((name) => [name, { color: faint, labelBackgroundColor: faint }])) });
    this.#bars.applyOptions({ upColor: surface, downColor: down, borderUpColor: up, borderDownColor: down, wickUpColor: up, wickDownColor: down });
    this.#shown = {};
    if (this.#view.symbol) this.show();
  }

  /** Scrolls or scales the chart for a key. @returns whether the key is one of these */
  #move(key) {
    const scale = this.#chart?.timeScale();
    const range = scale?.getVisibleLogicalRange();
    if (!range) return false;
    const width = range.to - range.from;
    const moves = {
      ArrowLeft: () => scale.setVisibleLogicalRange({ from: range.from - width / 10, to: range.to - width / 10 }),
      ArrowRight: () => scale.setVisibleLogicalRange({ from: range.from + width / 10, to: range.to + width / 10 }),
      '+': () => scale.setVisibleLogicalRange({ from: range.from + width / 4, to: range.to }),
      '-': () => scale.setVisibleLogicalRange({ from: range.from - width / 3, to: range.to }),
      0: () => this.#home(),
    };
    moves[key]?.();
    return key in moves;
  }
  #home() {
    const [count, width] = [this.#shown.bars?.length ?? 0, $('chart').clientWidth];
    const wanted = Math.min(count, Math.max(40, Math.round(width / 8)));
    this.#chart.priceScale('right').applyOptions({ autoScale: true });
    this.#chart.timeScale().setVisibleLogicalRange({ from: count - wanted, to: count + 4 });
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
    if (!this.#chart) return set($('chart-empty'), 'The chart could not be loaded.');
    this.#draw(name, bars, this.#view.decimals(symbol), interval);
    this.#line('Mark', this.#view.row('marks', symbol)?.markPrice, colour('accent'), 3);
    // A rising bar is hollow, so a line in its own colour would be invisible.
    this.#line('', this.#view.lastPrice, colour(Number(bars.at(-1)?.close) < Number(bars.at(-1)?.open) ? 'down' : 'up'), 2);
    this.#legend();
    this.#hatch();
    return this.#describe(bars);
  }

  #draw(name, bars, decimals, interval) {
    const before = this.#shown;
    if (before.bars === bars && before.decimals === decimals) return;
    this.#shown = { name, bars, decimals };
    if (before.decimals !== decimals || before.name !== name) {
      this.#bars.applyOptions({ priceFormat: { type: 'custom', minMove: 10 ** -decimals, formatter: (price) => grouped(price.toFixed(decimals), decimals) } });
      this.#chart.applyOptions({ timeScale: { timeVisible: seconds(interval) < 86_400, secondsVisible: seconds(interval) < 60 } });
    }
    const [up, down] = ['up-soft', 'down-soft'].map(colour);
    const point = ({ openTime, open, high, low, close }) => ({ time: openTime / 1000, open: Number(open), high: Number(high), low: Number(low), close: Number(close) });
    const column = ({ openTime, open, close, volume }) => ({ time: openTime / 1000, value: Number(volume), color: Number(close) < Number(open) ? down : up });
    const last = before.bars?.at(-1)?.openTime;
    const news = bars.slice(bars.findIndex(({ openTime }) => openTime >= last));
    const goesOn = before.name === name && last && before.bars[0].openTime <= bars[0].openTime && bars.some(({ openTime }) => openTime === last) && news.length < 5;
    if (goesOn) for (const bar of news) { this.#bars.update(point(bar)); this.#volume.update(column(bar)); } else {
      this.#bars.setData(bars.map(point));
      this.#volume.setData(bars.map(column));
    }
    if (before.name !== name || !(before.bars?.length > 2)) this.#home();
  }

  /** A line across the chart at a price; none without a price. */
  #line(title, text, color, lineStyle) {
    const [price, line] = [Number(text ?? NaN), this.#lines[title]];
    const isShown = price > 0 && this.#shown.bars?.length > 0;
    if (line && !isShown) { this.#bars.removePriceLine(line); delete this.#lines[title]; }
    if (!isShown || (line?.options().price === price && line.options().color === color)) return;
    const options = { price, color, lineWidth: 1, lineStyle, axisLabelVisible: true, title };
    if (line) line.applyOptions(options); else this.#lines[title] = this.#bars.createPriceLine(options);
  }

  /** Hatches the area without data: after the last bar. */
  #hatch() {
    const isOld = $('chart-box').classList.contains('aged-chart');
    const last = isOld && this.#shown.bars?.at(-1);
    const x = last ? this.#chart.timeScale().timeToCoordinate(last.openTime / 1000) : null;
    $('chart-hatch').hidden = x === null;
    if (x === null) return;
    $('chart-hatch').style.left = `${Math.max(0, x + 4)}px`;
    $('chart-hatch').style.right = `${this.#chart.priceScale('right').width()}px`;
  }

  /** The numbers of the bar under the pointer, or of the last one. */
  #legend() {
    const { bars = [], decimals } = this.#shown;
    const bar = (this.#pointed && bars.find(({ openTime }) => openTime / 1000 === this.#pointed)) ?? bars.at(-1);
    if (!bar) return set($('legend'), '');
    const number = (text) => grouped(text, decimals);
    const parts = [time(bar.openTime), `O ${number(bar.open)}`, `H ${number(bar.high)}`, `L ${number(bar.low)}`, `C ${number(bar.close)}`,
      percent(String(Number(bar.close) / Number(bar.open) - 1), 2), `Vol ${short(Number(bar.volume))}`];
    if (bar.isComplete === false) parts.push('incomplete');
    return set($('legend'), parts.join('  '));
  }

  /** Describes the chart in words for screen readers, from time to time. */
  #describe(bars) {
    const { symbol, interval } = this.#view;
    const subject = `${symbol.toUpperCase()}, bars of ${interval}`;
    if (performance.now() - this.#describedAt < 10_000 && $('chart').getAttribute('aria-label').startsWith(subject)) return;
    this.#describedAt = performance.now();
    const closes = bars.map(({ close }) => Number(close));
    const { decimals } = this.#shown;
    const text = (value) => grouped(value.toFixed(decimals), decimals);
    const range = closes.length ? `: ${closes.length} bars, from ${text(Math.min(...closes))} to ${text(Math.max(...closes))}, last ${text(closes.at(-1))}` : '';
    $('chart').setAttribute('aria-label', `${subject}${range}. Arrows move, plus and minus scale, 0 shows the end.`);
  }
}
