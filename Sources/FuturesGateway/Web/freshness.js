// What a stream's values tell of one another: how long it is silent while all is well, and how far its price has moved.

/** The longest silence of a stream while all was well. */
export class Cadence {
  #at; #longest = 0; #count = 0;

  /** Something came. @param {number} now ms */
  hear(now) {
    if (this.#at !== undefined) [this.#longest, this.#count] = [Math.max(this.#longest, now - this.#at), this.#count + 1];
    this.#at = now;
  }

  /** The silence that ends next is no usual one: the stream was paused or lost, or nobody looked on. */
  interrupt() { this.#at = undefined; }

  /** Whether a silence is two seconds longer than any before; false while too few are known. @param {number|undefined} ms */
  isExceededBy(ms) { return this.#count >= 3 && ms > this.#longest + 2000; }
}

/** The first price of a stream. */
export class Opening {
  #first;

  /** @param {{price?: string, symbol?: string}} value */
  take({ price, symbol }) {
    if (price === undefined) return;
    this.#first ??= { symbol, price: Number(price) };
    // Prices of several symbols have nothing to do with one another.
    if (this.#first.symbol !== symbol) this.#first.price = NaN;
  }

  /** What the latest price is to be compared with; NaN where there is no such thing. */
  get price() { return this.#first?.price ?? NaN; }
}
