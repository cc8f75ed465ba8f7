// The panel with the sizes of the order book over time.

import { crosshair } from './crosshair.js';
import { $, colour, fitted, hatched, rgb, set, setState, smallFont, watchWidth } from './dom.js';
import { clock, grouped, notional, short, unitsOf } from './format.js';
import { HeatModel, most, period } from './heatmodel.js';
import { paint } from './heatpixels.js';

/** The room for the times, px. */
const bottom = 18;

export class Heat {
  #view;
  #freshness;
  #canvas = $('heat');
  #model = new HeatModel();
  #image = document.createElement('canvas');
  #state = { pointed: undefined, drawn: -Infinity, scale: undefined, width: 0 };

  constructor(view, freshness) {
    this.#view = view;
    this.#freshness = freshness;
    watchWidth(this.#canvas, this.#state, () => this.measure());
    $('heat-reach').addEventListener('change', () => this.measure());
    crosshair(this.#canvas, (pointed) => {
      this.#state.pointed = pointed;
      this.#read();
    });
    setInterval(() => this.#record(), period);
  }

  /** Draws again, because the size, the colors or the time zone have changed. */
  measure() {
    this.#state.drawn = -Infinity;
    if (this.#view.symbol) this.show();
  }

  /** Only a live book in a visible tab is recorded. */
  #record() {
    const { symbol, streams, feed } = this.#view;
    if (!symbol) return;
    const book = feed.get(streams.book);
    const now = this.#freshness.venueTime;
    const isLive = this.#freshness.look(streams.book).shown === 'live' && document.visibilityState === 'visible';
    if (isLive && book && now !== undefined) this.#model.record(streams.book, book, now, this.#view.decimals(symbol));
    this.show();
  }

  show() {
    const { symbol, streams } = this.#view;
    const look = this.#freshness.look(streams.book);
    setState($('heat-state'), look, look.shown === 'live' ? '' : look.words);
    if (!this.#state.width || performance.now() - this.#state.drawn < period * 0.9) return;
    this.#state.drawn = performance.now();
    const { context, width, height } = fitted(this.#canvas);
    const samples = this.#model.name === streams.book ? this.#model.samples : [];
    const last = samples.at(-1);
    const now = this.#freshness.venueTime;
    $('heat-empty').hidden = Boolean(last);
    this.#state.scale = undefined;
    if (!last || now === undefined) {
      this.#canvas.setAttribute('aria-label', 'Sizes of the book over time: nothing yet');
      return this.#read();
    }
    const half = last.middle * Number($('heat-reach').value);
    const decimals = this.#view.decimals(symbol);
    context.font = smallFont();
    const right = Math.ceil(context.measureText(grouped((last.middle + half).toFixed(decimals), decimals)).width) + 8;
    const scale = { now, low: last.middle - half, high: last.middle + half, width: width - right, height: height - bottom, decimals };
    this.#canvas.dataset.right = String(right);
    this.#state.scale = scale;
    this.#paint(context, samples, scale, look.isAged);
    this.#axes(context, samples, scale);
    this.#canvas.setAttribute('aria-label', `Sizes of the book over time, since ${clock(samples[0].time)}, ${this.#model.gaps(now).length} gaps`);
    return this.#read();
  }

  /** One pixel for each second and bin, drawn larger. */
  #paint(context, samples, { now, low, high, width, height }, isAged) {
    const first = this.#model.binOf(low);
    const count = Math.max(1, this.#model.binOf(high) - first);
    const pixels = paint(samples, { now, first, count, range: this.#model.range, color: rgb(colour('heat')) });
    Object.assign(this.#image, { width: most, height: count });
    this.#image.getContext('2d').putImageData(pixels, 0, 0);
    context.imageSmoothingEnabled = false;
    context.globalAlpha = isAged ? 0.5 : 1;
    context.drawImage(this.#image, 0, 0, width, height);
    const pixel = width / most;
    const x = (time) => Math.max(0, width - ((now - time) / period) * pixel);
    for (const sample of samples) this.#shade(context, sample, x(sample.time), pixel, { low, high, height });
    context.globalAlpha = 1;
    for (const { from, to } of this.#model.gaps(now)) hatched(context, x(from), 0, x(to) - x(from), height);
  }

  /** Marks the prices that the book does not reach: their sizes are unknown and not zero. */
  #shade(context, sample, x, pixel, { low, high, height }) {
    const y = (price) => ((high - price) / (high - low)) * height;
    context.fillStyle = colour('sunk');
    if (sample.high < high) context.fillRect(x, 0, pixel + 0.6, y(sample.high));
    if (sample.low > low) context.fillRect(x, y(sample.low), pixel + 0.6, height - y(sample.low));
  }

  #axes(context, samples, { now, low, high, width, height, decimals }) {
    const pixel = width / most;
    context.strokeStyle = colour('text');
    context.lineWidth = 1;
    context.beginPath();
    samples.forEach(({ time, middle }, place) => {
      const [x, y] = [width - ((now - time) / period) * pixel, ((high - middle) / (high - low)) * height];
      const isAfterGap = place === 0 || time - samples[place - 1].time >= period * 2.5;
      if (x >= 0 && !isAfterGap) context.lineTo(x, y);
      else if (x >= 0) context.moveTo(x, y);
    });
    context.stroke();
    context.fillStyle = colour('muted');
    context.textAlign = 'left';
    for (const part of height > 90 ? [0.02, 0.25, 0.5, 0.75, 0.98] : [0.02, 0.98]) {
      const price = high - (high - low) * part;
      context.fillText(grouped(price.toFixed(decimals), decimals), width + 4, Math.max(9, Math.min(height, height * part + 4)));
    }
    context.fillText(clock(now - most * period), 0, height + 13);
    context.textAlign = 'right';
    context.fillText(clock(now), width, height + 13);
  }

  /** The size under the pointer, or the meaning of the colors. */
  #read() {
    const { pointed, scale } = this.#state;
    const { base, quote } = unitsOf(this.#view.symbol ?? '');
    if (!scale) return set($('heat-read'), '');
    if (!pointed || pointed.x > scale.width || pointed.y > scale.height) return set($('heat-read'), `Since ${clock(this.#model.samples[0].time)}; strongest color: ≥ ${short(this.#model.range.strongest)} ${base}`);
    const time = scale.now - ((scale.width - pointed.x) / (scale.width / most)) * period;
    const price = scale.high - (pointed.y / scale.height) * (scale.high - scale.low);
    const size = this.#model.at(time, price);
    const what = size === undefined ? 'no live data' : `${short(size)} ${base}, ${notional(size * price, quote)}`;
    return set($('heat-read'), `${clock(time)} at ${grouped(price.toFixed(scale.decimals), scale.decimals)}: ${what}`);
  }
}
