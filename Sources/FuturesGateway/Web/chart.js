// A line chart of one price over time, with the times in which nothing came left open and hatched.

import { grouped } from './format.js';

const hour = 3_600_000;
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const fullClock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });

/** A price's history, at most an hour of it. Times are ms since 1970. */
export class History {
  points = [];
  bars = [];

  /** @param {number} time @param {number} value */
  add(time, value) {
    const last = this.points.at(-1);
    if (last && time <= last[0]) return;
    this.points.push([time, value]);
    if (this.points[0][0] < time - hour - 60_000) this.points.splice(0, this.points.findIndex(([at]) => at > time - hour));
  }
}

/** A tick distance of 1, 2 or 5 times a power of ten, so that about `count` fit. */
function step(range, count) {
  const rough = range / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
}

/** Draws a history on a canvas. */
export class Chart {
  #canvas; #context; #pointer;

  /** @param {HTMLCanvasElement} canvas @param {() => void} redraw called where the pointer or the size asks for a new drawing */
  constructor(canvas, redraw) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d');
    new ResizeObserver(redraw).observe(canvas);
    canvas.addEventListener('pointermove', ({ offsetX }) => { this.#pointer = offsetX; redraw(); });
    canvas.addEventListener('pointerleave', () => { this.#pointer = undefined; redraw(); });
  }

  /**
   * @param {History} history @param {{minutes: number, now: number, digits: number, isLive: boolean, silence: number}} view `silence`: ms
   *   without a value that count as a gap
   */
  draw(history, { minutes, now, digits, isLive, silence }) {
    const { width, height } = this.#canvas.getBoundingClientRect();
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    if (this.#canvas.width !== Math.round(width * ratio) || this.#canvas.height !== Math.round(height * ratio)) {
      [this.#canvas.width, this.#canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    }
    const style = getComputedStyle(this.#canvas);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    const context = this.#context;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `11px ${style.fontFamily}`;

    const from = now - minutes * 60_000;
    const points = history.points.filter(([time]) => time >= from - silence);
    const bars = history.bars.filter(([time]) => time >= from - 60_000 && time <= (points[0]?.[0] ?? now));
    const values = [...points, ...bars].map(([, value]) => value);
    if (!values.length) return this.#say('Waiting for the first value', color('faint'), width, height);
    let [low, high] = [Math.min(...values), Math.max(...values)];
    const least = high * 2e-4 || 1;
    if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
    const room = (high - low) * 0.12;
    [low, high] = [low - room, high + room];
    const label = (value) => grouped(value.toFixed(8), digits);
    const plot = { right: width - context.measureText(label(high)).width - 18, bottom: height - 22 };
    const x = (time) => ((time - from) / (now - from)) * plot.right;
    const y = (value) => plot.bottom - ((value - low) / (high - low)) * plot.bottom;

    this.#grid({ low, high, from, now, plot, x, y, label, width, height, taken: points.length ? y(points.at(-1)[1]) : -99 }, color);
    this.#gaps(points, { now, silence, plot, x, isLive }, color);
    context.lineJoin = 'round';
    context.save();
    context.beginPath();
    context.rect(0, 0, plot.right, plot.bottom + 1);
    context.clip();
    this.#line(bars, Infinity, x, y, color('faint'), 1);
    const end = this.#line(points, silence, x, y, isLive ? color('accent') : color('faint'), 1.8, isLive && color('accent-soft'), plot.bottom);
    context.restore();
    if (end) this.#last(end, { plot, y, label, isLive }, color);
    if (this.#pointer !== undefined && this.#pointer < plot.right) {
      this.#cross(points.length > 1 ? points : bars, { from, now, plot, x, y, label }, color);
    }
  }

  #say(text, color, width, height) {
    this.#context.fillStyle = color;
    this.#context.textAlign = 'center';
    this.#context.fillText(text, width / 2, height / 2);
  }

  #grid({ low, high, from, now, plot, x, y, label, width, height, taken }, color) {
    const context = this.#context;
    context.lineWidth = 1;
    context.strokeStyle = color('line');
    context.fillStyle = color('muted');
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    const distance = step(high - low, Math.max(2, height / 60));
    for (let value = Math.ceil(low / distance) * distance; value < high; value += distance) {
      const at = Math.round(y(value)) + 0.5;
      if (at < 8 || at > plot.bottom - 6) continue;
      context.beginPath();
      context.moveTo(0, at);
      context.lineTo(plot.right, at);
      context.stroke();
      if (Math.abs(at - taken) > 16) context.fillText(label(value), plot.right + 10, at);
    }
    context.textAlign = 'center';
    const minutes = [1, 2, 5, 10, 15, 20, 30].find((each) => (now - from) / 60_000 / each <= Math.max(3, width / 130)) ?? 30;
    for (let time = Math.ceil(from / (minutes * 60_000)) * minutes * 60_000; time < now; time += minutes * 60_000) {
      if (x(time) > 20 && x(time) < plot.right - 16) context.fillText(clock.format(time), x(time), height - 8);
    }
  }

  #gaps(points, { now, silence, plot, x, isLive }, color) {
    const context = this.#context;
    const gaps = points.slice(1).flatMap(([time], index) => (time - points[index][0] > silence ? [[points[index][0], time]] : []));
    if (points.length && !isLive) gaps.push([points.at(-1)[0], now]);
    context.save();
    context.strokeStyle = color('faint');
    context.globalAlpha = 0.35;
    context.lineWidth = 1;
    for (const [start, end] of gaps) {
      const [left, right] = [Math.max(0, x(start)), Math.min(plot.right, x(end))];
      context.save();
      context.beginPath();
      context.rect(left, 0, right - left, plot.bottom);
      context.clip();
      context.beginPath();
      for (let at = left - plot.bottom; at < right; at += 7) {
        context.moveTo(at, plot.bottom);
        context.lineTo(at + plot.bottom, 0);
      }
      context.stroke();
      context.restore();
    }
    context.restore();
  }

  #line(points, silence, x, y, color, width, fill, bottom) {
    if (!points.length) return undefined;
    const context = this.#context;
    context.strokeStyle = color;
    context.lineWidth = width;
    let run = [];
    const flush = () => {
      if (run.length < 2) return;
      const path = new Path2D();
      run.forEach(([time, value], index) => (index ? path.lineTo(x(time), y(value)) : path.moveTo(x(time), y(value))));
      if (fill) {
        const area = new Path2D(path);
        area.lineTo(x(run.at(-1)[0]), bottom);
        area.lineTo(x(run[0][0]), bottom);
        const shade = context.createLinearGradient(0, 0, 0, bottom);
        shade.addColorStop(0, fill);
        shade.addColorStop(1, 'transparent');
        context.fillStyle = shade;
        context.fill(area);
      }
      context.stroke(path);
    };
    for (const point of points) {
      if (run.length && point[0] - run.at(-1)[0] > silence) {
        flush();
        run = [];
      }
      run.push(point);
    }
    flush();
    return points.at(-1);
  }

  #last([, value], { plot, y, label, isLive }, color) {
    const context = this.#context;
    const at = y(value);
    context.strokeStyle = context.fillStyle = isLive ? color('accent') : color('faint');
    context.globalAlpha = 0.5;
    context.setLineDash([2, 3]);
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(0, Math.round(at) + 0.5);
    context.lineTo(plot.right, Math.round(at) + 0.5);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
    const text = label(value);
    context.beginPath();
    context.roundRect(plot.right + 4, at - 10, context.measureText(text).width + 12, 20, 5);
    context.fill();
    context.fillStyle = color('surface');
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.fillText(text, plot.right + 10, at + 0.5);
  }

  #cross(points, { from, now, plot, x, y, label }, color) {
    const time = from + (this.#pointer / plot.right) * (now - from);
    const nearest = points.reduce((best, point) => (Math.abs(point[0] - time) < Math.abs((best?.[0] ?? Infinity) - time) ? point : best), undefined);
    if (!nearest) return;
    const context = this.#context;
    const [left, top] = [x(nearest[0]), y(nearest[1])];
    context.strokeStyle = color('faint');
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(Math.round(left) + 0.5, 0);
    context.lineTo(Math.round(left) + 0.5, plot.bottom);
    context.stroke();
    context.fillStyle = color('accent');
    context.beginPath();
    context.arc(left, top, 3, 0, 7);
    context.fill();
    const text = `${fullClock.format(nearest[0])}   ${label(nearest[1])}`;
    const size = context.measureText(text).width + 16;
    const start = Math.min(Math.max(left - size / 2, 0), plot.right - size);
    context.fillStyle = color('sunk');
    context.beginPath();
    context.roundRect(start, 0, size, 22, 6);
    context.fill();
    context.fillStyle = color('text');
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.fillText(text, start + 8, 11.5);
  }
}
