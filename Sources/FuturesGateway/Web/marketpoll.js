// The contracts of one asset at all venues, as `GET /markets/{asset}` returns them. At most one request is open at a time.

import { prefixOf } from './venues.js';

/** How long an answer may take, and how long the rows count as current after the last one, ms. */
const [patience, current] = [5000, 3000];
/** How long a refused asset is not asked for again, ms. */
const pause = 30_000;

/** The venues with streams in an answer, in order; the first venue's streams have no prefix.
 * @param {{rows: object[], streams: string[]}} answer @returns {{name: string, prefix: string}[]} */
function venuesOf({ rows, streams }) {
  const prefixes = [...new Set(streams.map(prefixOf))];
  const first = rows.find(({ venue }) => !prefixes.includes(`${venue}:`));
  return prefixes.map((prefix) => ({ name: prefix.slice(0, -1) || first?.venue, prefix })).filter(({ name }) => name);
}

/** Dispatches `change` after each answer. */
export class MarketPoll extends EventTarget {
  #request;
  #now;
  #state = { asset: '', venues: [], rows: [], answeredAt: undefined, refusedAt: undefined, refusal: '', isFailing: false, controller: undefined };

  /** @param {(path: string, options: RequestInit) => Promise<Response>} request @param {() => number} [now] ms */
  constructor(request, now = () => performance.now()) {
    super();
    this.#request = request;
    this.#now = now;
  }

  get asset() { return this.#state.asset; }
  get venues() { return this.#state.venues; }
  get rows() { return this.#state.rows; }
  /** Why the gateway refuses the asset; empty if it does not. */
  get refusal() { return this.#state.refusal; }
  /** How long ago the rows arrived, ms; undefined without rows. */
  get passed() { return this.#state.answeredAt === undefined ? undefined : this.#now() - this.#state.answeredAt; }
  /** Whether the rows may be old because requests fail or take too long. */
  get isLost() { return this.#state.isFailing || (this.passed ?? 0) > current; }

  /** Asks for another asset from now on. Its rows are empty until they arrive. @param {string} asset */
  follow(asset) {
    if (asset === this.#state.asset) return;
    this.#state.controller?.abort();
    this.#state = { ...this.#state, asset, rows: [], answeredAt: undefined, refusedAt: undefined, refusal: '', isFailing: false, controller: undefined };
  }

  /** Sends one request, unless one is open or the gateway has just refused the asset. */
  async ask() {
    const { asset, controller: open, refusedAt } = this.#state;
    const isRefused = refusedAt !== undefined && this.#now() - refusedAt < pause;
    if (!asset || open || isRefused) return;
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), patience);
    this.#state.controller = controller;
    const answer = await this.#fetch(`markets/${encodeURIComponent(asset)}?wait=0`, controller.signal);
    clearTimeout(timer);
    // Another asset may have been chosen meanwhile.
    if (this.#state.controller !== controller) return;
    this.#state.controller = undefined;
    this.#take(answer);
    this.dispatchEvent(new Event('change'));
  }

  async #fetch(path, signal) {
    try {
      const answer = await this.#request(path, { signal });
      return { status: answer.status, body: await answer.json() };
    } catch {
      return { status: 0, body: {} };
    }
  }

  #take({ status, body }) {
    this.#state.isFailing = status !== 200;
    if (status === 200) Object.assign(this.#state, { venues: venuesOf(body), rows: body.rows, answeredAt: this.#now(), refusedAt: undefined, refusal: '' });
    else if ([401, 403, 404].includes(status)) Object.assign(this.#state, { venues: [], rows: [], refusedAt: this.#now(), refusal: body.detail ?? `The gateway answered ${status}.` });
  }
}
