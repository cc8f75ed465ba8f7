// What a stream's events make of its content: the merge rules of the gateway's catalogue.

const epoch = (id) => id?.split('.')[0];

/**
 * What the catalogue (`GET /streams`) says of a kind of stream.
 * @typedef {{pattern: string, merge: 'replace'|'byKey'|'book'|'append', key?: string, keep?: number, refetch: boolean}} Rule
 */

/**
 * Finds a stream's rule in the catalogue. In a pattern `{symbol}` is any text, `{5|10}` one of these, `[@1s]` may be left out.
 * @param {Rule[]} catalogue @param {string} name @returns {Rule|undefined}
 */
export function ruleFor(catalogue, name) {
  const expression = (pattern) => pattern.replace(/[.*+?^$()\\]|\{[^}]*\}|\[|\]/g, (part) =>
    part === '[' ? '(?:' : part === ']' ? ')?' : !part.startsWith('{') ? '\\' + part
      : part.includes('|') ? `(?:${part.slice(1, -1)})` : '[^@]+');
  return catalogue.find(({ pattern }) => new RegExp(`^${expression(pattern)}$`).test(name));
}

/** The content of one stream, kept current by the stream's merge rule. Contents handed out are never changed afterwards. */
export class StreamContent {
  #rule; #content; #id; #reach = {};

  /** @param {Rule} [rule] without one, only full values can be taken */
  constructor(rule) { this.#rule = rule ?? { merge: 'replace' }; }

  /** The current content; undefined before the first full value. */
  get value() {
    const { merge, keep } = this.#rule;
    if (merge !== 'book' || !this.#content) return this.#content;
    return { ...this.#content, bids: this.#content.bids.slice(0, keep), asks: this.#content.asks.slice(0, keep) };
  }

  /** The id of the change that made the content. */
  get id() { return this.#id; }

  /** Whether the market has walked away from the levels a book began with, so that a full value would tell more. */
  get isThin() {
    return ['bids', 'asks'].some((side) => this.#reach[side] !== undefined && this.#content[side].length < this.#rule.keep / 2);
  }

  /**
   * Takes the data of a `fetch` or `update`.
   * @param {{id: string, kind: 'full'|'delta', content: any}} change
   * @returns {boolean} false where the change does not follow what is here: a full value is needed
   */
  apply({ id, kind, content }) {
    const { merge, key, keep = Infinity } = this.#rule;
    if (kind === 'full' || merge === 'replace') {
      this.#content = content;
      for (const side of merge === 'book' ? ['bids', 'asks'] : []) {
        // What lies beyond a book cut off at its limit is known from updates alone, so nobody knows it whole.
        this.#reach[side] = content[side].length >= keep ? Number(content[side].at(-1)[0]) : undefined;
      }
    } else if (!this.#content || epoch(id) !== epoch(this.#id)) {
      return false;
    } else if (merge === 'book') {
      if (content.previousUpdateId > this.#content.lastUpdateId) return false;
      if (content.lastUpdateId <= this.#content.lastUpdateId) return true;
      this.#content = { ...this.#content, ...content, bids: this.#side('bids', -1, content), asks: this.#side('asks', 1, content) };
    } else if (merge === 'append') {
      this.#content = [...this.#content, ...content].slice(-keep);
    } else {
      const rows = new Map(this.#content.map((row) => [row[key], row]));
      for (const row of content) rows.set(row[key], row);
      this.#content = [...rows.values()];
      if (key === 'openTime') this.#content = this.#content.sort((a, b) => a.openTime - b.openTime).slice(-keep);
    }
    this.#id = id;
    return true;
  }

  #side(side, sign, changes) {
    const levels = new Map(this.#content[side]);
    for (const [price, quantity] of changes[side]) {
      if (Number(quantity) === 0) levels.delete(price);
      else if (!(sign * (price - this.#reach[side]) > 0)) levels.set(price, quantity);
    }
    return [...levels].sort(([a], [b]) => sign * (a - b));
  }
}
