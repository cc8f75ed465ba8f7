// Order flow: what a market order would cost, the balance of the book, and the sums of buys and sells.

/** The levels of a side in groups, best first: bids are rounded down and asks up, so that no group looks better than it is.
 * @param {[string, string][]} levels @param {'asks'|'bids'} side @param {number} decimals of the price @param {number} group in units of the last decimal
 * @param {number} [count] the largest number of groups @returns {[number, number][]} price in those units, quantity */
export function grouping(levels, side, decimals, group, count = Infinity) {
  const groups = [];
  const scale = 10 ** decimals;
  const round = side === 'bids' ? Math.floor : Math.ceil;
  for (const [price, quantity] of levels) {
    const place = round(Math.round(price * scale) / group) * group;
    if (groups.at(-1)?.[0] === place) groups.at(-1)[1] += Number(quantity);
    else if (groups.length === count) break;
    else groups.push([place, Number(quantity)]);
  }
  return groups;
}

/** The cost of a market order that takes levels, best first. @param {[string, string][]} levels @param {number} size
 * @returns {{average: number, slippage: number, filled: number}|undefined} `slippage`: as a fraction of the best price; `filled`: less than `size` if the levels end */
export function cost(levels, size) {
  const best = Number(levels[0]?.[0]);
  let [filled, paid] = [0, 0];
  for (const [price, quantity] of levels) {
    const part = Math.min(size - filled, Number(quantity));
    filled += part;
    paid += part * Number(price);
    if (filled >= size) break;
  }
  return filled > 0 ? { average: paid / filled, slippage: Math.abs(paid / filled / best - 1), filled } : undefined;
}

/** The share of bids, 0 to 1, among the quantities within a distance of the middle; undefined without both sides.
 * @param {{bids: [string, string][], asks: [string, string][]}|undefined} book @param {number} distance as a fraction */
export function balance(book, distance) {
  const middle = (Number(book?.bids[0]?.[0]) + Number(book?.asks[0]?.[0])) / 2;
  if (!middle) return undefined;
  const near = (levels) => levels.reduce((sum, [price, quantity]) => (Math.abs(Number(price) / middle - 1) <= distance ? sum + Number(quantity) : sum), 0);
  const [bids, asks] = [near(book.bids), near(book.asks)];
  return bids + asks > 0 ? bids / (bids + asks) : undefined;
}

/** The worth of a trade in the quote asset. @param {{price: string, qty: string}} trade */
export const worth = ({ price, qty }) => Number(price) * Number(qty);

/** The sums of a symbol's trades since the first one that was seen. Each trade counts once. */
export class Flow {
  #symbol;
  #last;
  #sums = { buys: 0, sells: 0, since: undefined, missed: 0 };

  /** @param {string} symbol @param {{id: number, price: string, qty: string, time: number, isBuyerMaker: boolean}[]} trades oldest first */
  add(symbol, trades = []) {
    if (this.#symbol !== symbol) {
      this.#symbol = symbol;
      this.#last = undefined;
      this.#sums = { buys: 0, sells: 0, since: trades[0]?.time, missed: 0 };
    }
    const news = this.#last === undefined ? trades : trades.filter(({ id }) => id > this.#last);
    if (!news.length) return;
    this.#sums.since ??= news[0].time;
    // Ids have no holes, so a jump shows missing trades.
    if (this.#last !== undefined) this.#sums.missed += news[0].id - this.#last - 1;
    this.#last = news.at(-1).id;
    for (const trade of news) this.#sums[trade.isBuyerMaker ? 'sells' : 'buys'] += worth(trade);
  }

  /** The sums in the quote asset, the time of the first trade, and the number of missing trades. */
  get sums() { return this.#sums; }
}
