// The lines that are drawn over the bars or below them.

import { colour } from './dom.js';
import { bollinger, delta, ema, rsi, vwap } from './indicators.js';

const part = (name) => (values) => values.map((value) => value?.[name]);

/** Each study: its words, its lines, and whether they are in a pane below the bars. `of` computes a line from the bars and their closes. */
export const studies = {
  ema20: { words: 'EMA 20', lines: [{ color: 'study-1', of: (_, closes) => ema(closes, 20) }] },
  ema50: { words: 'EMA 50', lines: [{ color: 'study-2', of: (_, closes) => ema(closes, 50) }] },
  vwap: { words: 'VWAP since 00:00', isIntraday: true, lines: [{ color: 'study-3', of: (bars) => vwap(bars) }] },
  bollinger: {
    words: 'Bollinger 20, 2',
    lines: ['upper', 'middle', 'lower'].map((name) => ({ color: 'study-4', isDashed: name === 'middle', of: (_, closes) => part(name)(bollinger(closes)) })),
  },
  delta: { words: 'Cumulative delta', isBelow: true, lines: [{ color: 'study-3', of: (bars) => delta(bars) }] },
  rsi: { words: 'RSI 14', isBelow: true, levels: [30, 70], lines: [{ color: 'study-1', of: (_, closes) => rsi(closes) }] },
};

/** The lines of a chart. */
export class Studies {
  #chart;
  #series = new Map();
  #bars;
  #format;

  constructor(chart) { this.#chart = chart; }

  /** Draws the chosen studies. @param {string[]} chosen @param {object[]} bars as the gateway sends them @param {boolean} isIntraday whether a day has several bars */
  show(chosen, bars, isIntraday) {
    const wanted = chosen.filter((name) => studies[name] && (isIntraday || !studies[name].isIntraday));
    for (const [name, lines] of this.#series) if (!wanted.includes(name)) this.#remove(name, lines);
    const added = wanted.filter((name) => !this.#series.has(name));
    for (const name of added) this.#series.set(name, studies[name].lines.map((line) => this.#add(studies[name], line)));
    if (this.#bars === bars && !added.length) return;
    this.#bars = bars;
    const closes = bars.map(({ close }) => Number(close));
    for (const [name, lines] of this.#series) {
      lines.forEach((series, place) => {
        const values = studies[name].lines[place].of(bars, closes);
        series.setData(bars.map(({ openTime }, index) => (values[index] === undefined ? { time: openTime / 1000 } : { time: openTime / 1000, value: values[index] })));
      });
    }
  }

  /** The values of the bar at this place; none while too few bars are known. @returns {{name: string, values: number[], color: string, isPrice: boolean}[]} */
  at(place) {
    return [...this.#series].map(([name, lines]) => ({ name: studies[name].words, color: studies[name].lines[0].color, isPrice: !studies[name].isBelow,
      values: lines.map((series) => series.dataByIndex(place)?.value).filter((value) => value !== undefined) }));
  }

  /** Writes prices as the bars do. @param {object} priceFormat of lightweight-charts */
  format(priceFormat) {
    this.#format = priceFormat;
    for (const [name, lines] of this.#series) if (!studies[name].isBelow) for (const series of lines) series.applyOptions({ priceFormat });
  }

  /** Applies the colours of the style sheet. */
  dress() {
    for (const [name, lines] of this.#series) lines.forEach((series, place) => series.applyOptions({ color: colour(studies[name].lines[place].color) }));
  }

  #add({ isBelow, levels = [] }, { color, isDashed }) {
    const pane = isBelow ? this.#chart.panes().length : 0;
    const series = this.#chart.addSeries(globalThis.LightweightCharts.LineSeries, { color: colour(color), lineWidth: 1, lineStyle: isDashed ? 2 : 0,
      lastValueVisible: isBelow === true, priceLineVisible: false, crosshairMarkerVisible: false }, pane);
    for (const price of levels) series.createPriceLine({ price, color: colour('faint'), lineWidth: 1, lineStyle: 2, axisLabelVisible: false, title: '' });
    if (isBelow) this.#chart.panes()[pane]?.setStretchFactor(0.25);
    else if (this.#format) series.applyOptions({ priceFormat: this.#format });
    return series;
  }

  #remove(name, lines) {
    for (const series of lines) this.#chart.removeSeries(series);
    this.#series.delete(name);
  }
}
