// A stream's content, kept by the merge rules of the catalogue, and the clock of its age.

/** A stream's rule in the catalogue of `GET /streams`. In a pattern `{symbol}` is any text, `{5|10}` one of these, `[@1s]` is optional. */
export function ruleFor(catalogue, name) {
  const expression = (pattern) => pattern.replace(/[.*+?^$()\\]/g, '\\$&').replaceAll('[', '(?:').replaceAll(']', ')?')
    .replace(/\{([^{}]*\|[^{}]*)\}/g, '(?:$1)').replace(/\{[^{}]*\}/g, '[^@]+');
  return catalogue.find(({ pattern }) => new RegExp(`^${expression(pattern)}$`).test(name));
}

let last;
let slept = 0;
/** ms since an arbitrary moment. In some browsers `performance.now()` stops while the computer sleeps. So a wall clock that gets more than a second
 * ahead of it counts as sleep, and ages are never too low. */
export function clock() {
  const [wall, time] = [Date.now(), performance.now()];
  const ahead = last ? wall - last.wall - (time - last.time) : 0;
  if (ahead > 1000) slept += ahead;
  last = { wall, time };
  return time + slept;
}

/** The content of one stream, kept current by the stream's merge rule. Contents handed out are never changed afterwards. */
export class StreamContent {
  #rule;
  #content;
  #shown;
  #reach = {};
  /** @param {{merge: 'replace'|'byKey'|'book'|'append', key?: string, keep?: number}} [rule] without one, only full values are accepted */
  constructor(rule) { this.#rule = rule ?? { merge: 'replace' }; }
  /** The current content; undefined before the first full value. */
  get value() {
    const { merge, keep } = this.#rule;
    if (merge !== 'book' || !this.#content) return this.#content;
    this.#shown ??= { ...this.#content, bids: this.#content.bids.slice(0, keep), asks: this.#content.asks.slice(0, keep) };
    return this.#shown;
  }
  /** A full value that makes another content equal to this one. */
  get full() { return { id: this.id, kind: 'full', content: this.#content, reach: this.#reach }; }
  /** Whether the market has moved so far from the book's first levels that a full value would contain more. */
  get isThin() { return Object.keys(this.#reach).some((side) => this.#content[side].length < this.#rule.keep / 2); }

  /** Whether this data has already been merged: data without an id may be repeated after a reconnection. */
  has({ id, kind }) {
    const [[epoch, place], [own, last]] = [id, this.id ?? ''].map((text) => text.split('.'));
    return epoch === own && parseInt(place, 36) < parseInt(last, 36) + (kind !== 'full');
  }

  /** Merges the data of a `fetch` or `update`; false if the change does not follow the current content, so that a full value is needed. */
  apply({ id, kind, content, reach }) {
    const { merge, key, keep = Infinity } = this.#rule;
    if (this.has({ id, kind })) return true;
    if (kind === 'full' || merge === 'replace') {
      // Beyond the limit of a truncated book, levels are known only from updates, so they are incomplete.
      const isCut = (side) => merge === 'book' && content[side].length >= keep;
      this.#reach = reach ?? Object.fromEntries(['bids', 'asks'].filter(isCut).map((side) => [side, Number(content[side].at(-1)[0])]));
      this.#content = content;
      this.#shown = undefined;
    } else if (!this.#content || id.split('.')[0] !== this.id.split('.')[0]) {
      return false;
    } else if (merge === 'book') {
      if (content.previousUpdateId > this.#content.lastUpdateId) return false;
      if (content.lastUpdateId <= this.#content.lastUpdateId) return true;
      this.#content = { ...this.#content, ...content, bids: this.#side('bids', -1, content), asks: this.#side('asks', 1, content) };
      this.#shown = undefined;
    } else if (merge === 'append') {
      this.#content = [...this.#content, ...content].slice(-keep);
    } else {
      this.#content = [...new Map([...this.#content, ...content].map((row) => [row[key], row])).values()];
      // Only bars have a limit. Their key is a time.
      if (keep < Infinity) this.#content = this.#content.sort((a, b) => a[key] - b[key]).slice(-keep);
    }
    this.id = id;
    return true;
  }

  #side(side, sign, changes) {
    const levels = [...this.#content[side]];
    for (const level of changes[side]) {
      const price = Number(level[0]);
      let [place, end] = [0, levels.length];
      while (place < end) {
        const middle = (place + end) >> 1;
        if (sign * (levels[middle][0] - price) < 0) place = middle + 1;
        else end = middle;
      }
      const known = Number(levels[place]?.[0]) === price ? 1 : 0;
      if (Number(level[1]) === 0) levels.splice(place, known);
      else if (!(sign * (price - this.#reach[side]) > 0)) levels.splice(place, known, level);
    }
    return levels;
  }
}
