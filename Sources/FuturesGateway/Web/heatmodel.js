// The sizes of an order book over time, one sample each second. Times without a sample are gaps and stay gaps.

/** The largest number of samples, and the time between two of them, ms. A longer time is a gap. */
export const [most, period, gap] = [300, 1000, 2500];
/** The size of a bin and the recorded distance to the middle, as fractions of the price. */
const [bin, reach] = [0.00005, 0.01];

/** @typedef {{time: number, middle: number, first: number, sizes: Float32Array, low: number, high: number}} Sample `first`: the number of the lowest bin;
 *   `low`, `high`: the prices between which the book is known */

export class HeatModel {
  #state = { name: undefined, step: 0, samples: [], range: {} };

  /** The stream whose book is recorded. */
  get name() { return this.#state.name; }
  /** @returns {Sample[]} oldest first */
  get samples() { return this.#state.samples; }
  /** The height of a bin, as a price. */
  get step() { return this.#state.step; }

  /** Records a book. @param {string} name of its stream; another one begins a new record @param {{bids: [string, string][], asks: [string, string][]}} book
   * @param {number} time of the venue, ms @param {number} decimals of the price */
  record(name, book, time, decimals) {
    const [ask, bid] = [Number(book.asks[0]?.[0]), Number(book.bids[0]?.[0])];
    const middle = (ask + bid) / 2;
    if (!middle) return;
    const state = this.#state;
    if (state.name !== name) {
      // A bin has whole units of the last decimal, so that no level is between two bins.
      const unit = 10 ** -decimals;
      Object.assign(state, { name, step: Math.max(1, Math.round(middle * bin / unit)) * unit, samples: [] });
    }
    if (state.samples.length && time - state.samples.at(-1).time < period / 2) return;
    const [first, last] = [this.binOf(middle * (1 - reach)), this.binOf(middle * (1 + reach))];
    const sizes = new Float32Array(last - first + 1);
    for (const [price, size] of [...book.bids, ...book.asks]) {
      const place = this.binOf(Number(price)) - first;
      if (place >= 0 && place < sizes.length) sizes[place] += Number(size);
    }
    state.samples.push({ time, middle, first, sizes, low: Number(book.bids.at(-1)[0]), high: Number(book.asks.at(-1)[0]) });
    if (state.samples.length > most) state.samples.shift();
  }

  /** The number of a price's bin. Rounded first, because 0.3 / 0.1 is less than 3. @param {number} price */
  binOf(price) { return Math.floor(Math.round((price / this.#state.step) * 1e6) / 1e6); }

  /** The spans without samples. @param {number} now the venue's time @returns {{from: number, to: number}[]} */
  gaps(now) {
    const times = [...this.#state.samples.map(({ time }) => time), now];
    return times.slice(1).map((to, place) => ({ from: times[place] + period, to })).filter(({ from, to }) => to - from > gap - period);
  }

  /** The size at a time and a price; undefined in a gap, and beyond the known part of the book. @param {number} time @param {number} price */
  at(time, price) {
    const sample = this.#state.samples.findLast((one) => one.time <= time);
    if (!sample || time - sample.time >= gap || price < sample.low || price > sample.high) return undefined;
    return sample.sizes[this.binOf(price) - sample.first];
  }

  /** The sizes of the last minute that have the weakest and the strongest color: the median, and one that is larger than 99 of 100. */
  get range() {
    const { samples, range } = this.#state;
    const last = samples.at(-1);
    if (range.last === last) return range;
    // One of six samples is enough, and takes a sixth of the time.
    const some = samples.slice(-60).filter((_, place) => place % 6 === 0);
    const sizes = some.flatMap(({ sizes: all }) => [...all].filter((size) => size > 0)).sort((a, b) => a - b);
    this.#state.range = { last, weakest: sizes[sizes.length >> 1] ?? 0, strongest: sizes[Math.floor(sizes.length * 0.99)] ?? 0 };
    return this.#state.range;
  }
}
