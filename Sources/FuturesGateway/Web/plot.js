// The drawing of the chart: lightweight-charts behind the few operations that the panel needs.

import { colour, pixels } from './dom.js';
import { grouped } from './format.js';
import { Studies } from './studies.js';
import { zone } from './zone.js';

/** How many pixels a bar has at first. */
const barWidth = 8;

export class Plot {
  #chart;
  #element;
  #bars;
  #volume;
  #marks;
  #shape;
  #format;
  #lines = new Map();
  #seconds = 60;

  /** @param {HTMLElement} element @param {{pointed: (time: number|undefined) => void, moved: () => void}} calls */
  constructor(element, { pointed, moved }) {
    const { createChart, HistogramSeries } = globalThis.LightweightCharts;
    this.#element = element;
    // The library styles its logo inline, which the page's policy forbids; the page's footer names its authors instead.
    this.#chart = createChart(element, { autoSize: true, layout: { attributionLogo: false, fontSize: pixels('small'), background: { color: 'transparent' } },
      crosshair: { mode: 0 }, rightPriceScale: { borderVisible: false, scaleMargins: { top: 0.08, bottom: 0.22 } },
      localization: { timeFormatter: (time) => zone.stamp(time * 1000) },
      timeScale: { borderVisible: false, rightOffset: 4, minBarSpacing: 1.5, tickMarkFormatter: (time) => zone.mark(time * 1000, this.#seconds < 60) } });
    this.#volume = this.#chart.addSeries(HistogramSeries, { priceScaleId: 'volume', lastValueVisible: false, priceLineVisible: false,
      priceFormat: { type: 'volume' } });
    this.#volume.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    this.studies = new Studies(this.#chart);
    this.#chart.subscribeCrosshairMove(({ time }) => pointed(time));
    this.#chart.timeScale().subscribeVisibleLogicalRangeChange(moved);
    this.shape('candles', false);
    this.dress();
  }

  /** Applies the colours of the style sheet. Rising bars are hollow, so that they can be distinguished without colour. */
  dress() {
    const [text, line, faint] = ['muted', 'line', 'faint'].map(colour);
    this.#chart.applyOptions({ layout: { textColor: text, fontSize: pixels('small'), fontFamily: getComputedStyle(document.body).fontFamily, panes: { separatorColor: line } },
      grid: { vertLines: { color: line }, horzLines: { color: line } },
      crosshair: Object.fromEntries(['vertLine', 'horzLine'].map((name) => [name, { color: faint, labelBackgroundColor: faint }])) });
    this.#dressBars();
    this.studies.dress();
  }

  #dressBars() {
    const [up, down, surface, accent] = ['up', 'down', 'surface', 'accent'].map(colour);
    this.#bars.applyOptions(this.#shape === 'line' ? { color: accent, lineWidth: 2 }
      : { upColor: surface, downColor: down, borderUpColor: up, borderDownColor: down, wickUpColor: up, wickDownColor: down });
  }

  /** @param {'candles'|'heikinAshi'|'line'} shape @param {boolean} isLogarithmic */
  shape(shape, isLogarithmic) {
    this.#chart.priceScale('right').applyOptions({ mode: isLogarithmic ? 1 : 0 });
    const isOther = (this.#shape === 'line') !== (shape === 'line');
    if (this.#bars && !isOther) return;
    if (this.#bars) this.#chart.removeSeries(this.#bars);
    this.#shape = shape;
    this.#lines.clear();
    const { CandlestickSeries, createSeriesMarkers, LineSeries } = globalThis.LightweightCharts;
    this.#bars = this.#chart.addSeries(shape === 'line' ? LineSeries : CandlestickSeries, { lastValueVisible: false, priceLineVisible: false });
    this.#marks = createSeriesMarkers(this.#bars, []);
    if (this.#format) this.#bars.applyOptions({ priceFormat: this.#format });
    this.#dressBars();
  }

  /** @param {{decimals: number, seconds: number}} format `seconds`: the length of a bar */
  format({ decimals, seconds }) {
    this.#seconds = seconds;
    this.#format = { type: 'custom', minMove: 10 ** -decimals, formatter: (price) => grouped(price.toFixed(decimals), decimals) };
    this.#bars.applyOptions({ priceFormat: this.#format });
    this.studies.format(this.#format);
    this.#chart.applyOptions({ timeScale: { timeVisible: seconds < 86_400, secondsVisible: seconds < 60 } });
  }

  /** Draws bars. @param {object[]} bars @param {boolean} areNews whether they continue the drawn ones */
  set(bars, areNews) {
    const [up, down] = ['up-soft', 'down-soft'].map(colour);
    const points = bars.map(({ time, open, high, low, close }) => (this.#shape === 'line' ? { time, value: close } : { time, open, high, low, close }));
    const columns = bars.map(({ time, volume, isDown }) => ({ time, value: volume, color: isDown ? down : up }));
    if (areNews) {
      for (const point of points) this.#bars.update(point);
      for (const column of columns) this.#volume.update(column);
    } else {
      this.#bars.setData(points);
      this.#volume.setData(columns);
    }
  }

  /** Draws lines across the chart, and removes the others. @param {{title: string, price: number, color: string, style: number}[]} lines each with its own title */
  lines(lines) {
    for (const [title, line] of this.#lines) {
      if (lines.some((one) => one.title === title)) continue;
      this.#bars.removePriceLine(line);
      this.#lines.delete(title);
    }
    for (const { title, price, color, style } of lines) {
      const line = this.#lines.get(title);
      if (line?.options().price === price && line.options().color === color) continue;
      const options = { price, color, lineWidth: 1, lineStyle: style, axisLabelVisible: title.trim() !== '', title: title.trim() };
      if (line) line.applyOptions(options);
      else this.#lines.set(title, this.#bars.createPriceLine(options));
    }
  }
  /** Draws marks, in the order of time. */
  marks(marks) { this.#marks.setMarkers(marks); }

  /** The horizontal place of a bar, or of a place between two bars, in pixels; null if the chart is empty. */
  x(place) {
    const scale = this.#chart.timeScale();
    const [left, right] = [scale.logicalToCoordinate(Math.floor(place)), scale.logicalToCoordinate(Math.floor(place) + 1)];
    return left === null || right === null ? null : left + (right - left) * (place - Math.floor(place));
  }
  /** The height of a price, in pixels from the top; null if the chart is empty. @param {number} price */
  y(price) { return this.#bars.priceToCoordinate(price); }
  /** The height of the area with bars, and the width of the prices beside it, in pixels. */
  get size() { return { height: this.#chart.panes()[0].getHeight(), axis: this.#chart.priceScale('right').width() }; }
  /** The width of the area with bars, in pixels. */
  get width() { return this.#chart.timeScale().width(); }

  /** Scrolls or scales the chart for a key. @returns whether the key is one of these */
  move(key) {
    const scale = this.#chart.timeScale();
    const range = scale.getVisibleLogicalRange();
    if (!range) return false;
    const width = range.to - range.from;
    const moves = {
      ArrowLeft: () => scale.setVisibleLogicalRange({ from: range.from - width / 10, to: range.to - width / 10 }),
      ArrowRight: () => scale.setVisibleLogicalRange({ from: range.from + width / 10, to: range.to + width / 10 }),
      '+': () => scale.setVisibleLogicalRange({ from: range.from + width / 4, to: range.to }),
      '-': () => scale.setVisibleLogicalRange({ from: range.from - width / 3, to: range.to }),
      0: () => this.home(),
    };
    moves[key]?.();
    return key in moves;
  }

  /** Shows the end. */
  home() {
    const count = this.#bars.data().length;
    const wanted = Math.min(count, Math.max(40, Math.round(this.#element.clientWidth / barWidth)));
    this.#chart.priceScale('right').applyOptions({ autoScale: true });
    this.#chart.timeScale().setVisibleLogicalRange({ from: count - wanted, to: count + 4 });
  }
}
