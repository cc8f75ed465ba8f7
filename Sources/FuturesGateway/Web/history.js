// Past values of one kind, asked for from time to time. At most one request is open at a time.

/** How long an answer may take; the times between requests: usually, after a failure, after a refusal; ms. */
const [patience, usual, soon, late] = [10_000, 60_000, 5000, 300_000];
const nothing = { rows: [], askedAt: -Infinity, pause: 0, answeredAt: undefined, refusal: '', failure: '' };

/** Dispatches `change` after each answer. */
export class History extends EventTarget {
  #request;
  #now;
  #state = { key: undefined, paths: [], read: undefined, controller: undefined, ...nothing };

  /** @param {(path: string, options: RequestInit) => Promise<Response>} request @param {() => number} [now] ms */
  constructor(request, now = () => performance.now()) {
    super();
    this.#request = request;
    this.#now = now;
  }

  /** @returns {import('./pasts.js').Past[]} oldest first */
  get rows() { return this.#state.rows; }
  /** Why the venue or the gateway refuses the request; empty if it does not. */
  get refusal() { return this.#state.refusal; }
  /** Why the last request failed; empty if it did not. */
  get failure() { return this.#state.failure; }
  /** The age of the rows, ms; undefined without an answer. */
  get passed() { return this.#state.answeredAt === undefined ? undefined : this.#now() - this.#state.answeredAt; }

  /** Asks for other values from now on. The rows are empty until they arrive. @param {string} key @param {string[]} paths @param {(bodies: any[]) => object[]} read */
  follow(key, paths, read) {
    if (key === this.#state.key) return;
    this.#state.controller?.abort();
    this.#state = { key, paths, read, controller: undefined, ...nothing };
  }

  /** Sends the requests if they are due. */
  async ask() {
    const state = this.#state;
    if (!state.paths.length || state.controller || this.#now() - state.askedAt < state.pause) return;
    state.askedAt = this.#now();
    state.controller = new AbortController();
    const timer = setTimeout(() => state.controller?.abort(), patience);
    const { signal } = state.controller;
    const answers = await Promise.all(state.paths.map((path) => this.#fetch(path, signal)));
    clearTimeout(timer);
    state.controller = undefined;
    // Other values may have been chosen while the request was open.
    if (this.#state !== state) return;
    this.#take(answers);
    this.dispatchEvent(new Event('change'));
  }

  async #fetch(path, signal) {
    try {
      const answer = await this.#request(path, { signal });
      return { status: answer.status, age: Number(answer.headers.get('X-Feed-Age-Ms') ?? 0), body: await answer.json() };
    } catch {
      return { status: 0, age: 0, body: {} };
    }
  }

  #take(answers) {
    const state = this.#state;
    const bad = answers.find(({ status }) => status !== 200);
    if (!bad) {
      const age = Math.max(...answers.map((answer) => answer.age));
      Object.assign(state, { rows: state.read(answers.map(({ body }) => body)), answeredAt: this.#now() - age, pause: usual, refusal: '', failure: '' });
      return;
    }
    const { status, body } = bad;
    const words = body.msg ?? body.detail ?? (status ? `The gateway answered ${status}.` : 'The gateway did not answer.');
    // The venue does not have this, or the key does not permit it: the same answer would come again.
    if ([400, 401, 403, 404].includes(status)) Object.assign(state, { rows: [], answeredAt: undefined, refusal: words, failure: '', pause: late });
    else Object.assign(state, { failure: words, pause: soon });
  }
}
