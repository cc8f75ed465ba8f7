// The gateway's streams in a browser: an ES module without dependencies. It is also the script of the SharedWorker that its tabs share.
//
//   import { Feed } from '/client.js';
//   const feed = new Feed(['btcusdt@markPrice']);
//   feed.addEventListener('update', ({ detail }) => console.log(feed.get(detail.stream).markPrice));

// Raised whenever tab and worker come to say something else to each other, so that a page never meets a worker of another build.
const messages = 2;
const eventNames = ['session', 'update', 'fetch', 'recover', 'fail', 'connect', 'disconnect', 'status', 'gap', 'bye'];
const soon = (ms = 2000) => ms * (0.75 + Math.random() / 2);
const epoch = (id) => id?.split('.')[0];

/**
 * Finds a stream's rule in the catalogue (`GET /streams`). In a pattern `{symbol}` is any text, `{5|10}` one of these, `[@1s]` may be left out.
 * @param {{pattern: string, merge: string}[]} catalogue @param {string} name
 */
export function ruleFor(catalogue, name) {
  const expression = (pattern) => pattern.replace(/[.*+?^$()\\]|\{[^}]*\}|\[|\]/g, (part) =>
    part === '[' ? '(?:' : part === ']' ? ')?' : !part.startsWith('{') ? '\\' + part
      : part.includes('|') ? `(?:${part.slice(1, -1)})` : '[^@]+');
  return catalogue.find(({ pattern }) => new RegExp(`^${expression(pattern)}$`).test(name));
}

/** The content of one stream, kept current by the stream's merge rule. Contents handed out are never changed afterwards. */
export class StreamContent {
  #rule; #content; #reach = {};

  /** @param {{merge: 'replace'|'byKey'|'book'|'append', key?: string, keep?: number}} [rule] without one, only full values can be taken */
  constructor(rule) { this.#rule = rule ?? { merge: 'replace' }; }

  /** The current content; undefined before the first full value. */
  get value() {
    const { merge, keep } = this.#rule;
    if (merge !== 'book' || !this.#content) return this.#content;
    return { ...this.#content, bids: this.#content.bids.slice(0, keep), asks: this.#content.asks.slice(0, keep) };
  }

  /** Whether the market has walked away from the levels a book began with, so that a full value would tell more. */
  get isThin() {
    return ['bids', 'asks'].some((side) => this.#reach[side] !== undefined && this.#content[side].length < this.#rule.keep / 2);
  }

  /** Takes the data of a `fetch` or `update`; false where the change does not follow what is here: a full value is needed. */
  apply({ id, kind, content }) {
    const { merge, key, keep = Infinity } = this.#rule;
    if (kind === 'full' || merge === 'replace') {
      this.#content = content;
      for (const side of merge === 'book' ? ['bids', 'asks'] : []) {
        // What lies beyond a book cut off at its limit is known from updates alone, so nobody knows it whole.
        this.#reach[side] = content[side].length >= keep ? Number(content[side].at(-1)[0]) : undefined;
      }
    } else if (!this.#content || epoch(id) !== epoch(this.id)) {
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
    this.id = id;
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

/** The one connection to a gateway. Its tabs say what they want; it brings the server to send that, and passes on what comes. */
class Connection {
  #base; #tabs = new Map(); #source; #session; #reading = new Set(); #paused = new Set(); #awaited = new Set(); #had = new Set();
  #refused = new Map(); #lastID; #asked; #isBusy = false; #timer; #state = { state: 'connecting' }; #heardAt = 0;

  constructor(base) { this.#base = base; setInterval(() => this.#watch(), 5000); }

  join(port) {
    port.onmessage = ({ data }) => (data.bye ? this.#leave(port) : this.#want(port, data));
    port.postMessage({ connection: this.#state });
  }

  #leave(port) { this.#tabs.delete(port); this.#reconcile(); }

  #want(port, { wants, paused, hidden, again, lock, retry }) {
    const tab = this.#tabs.get(port) ?? { whole: new Set() };
    // A port does not tell that its tab is gone, but the tab's lock becomes free.
    if (lock && !tab.lock) navigator.locks.request((tab.lock = lock), () => this.#leave(port));
    tab.wants = new Set(wants);
    tab.live = new Set(hidden ? [] : wants.filter((name) => !paused.includes(name)));
    for (const name of tab.whole) if (!tab.wants.has(name) || name === again) tab.whole.delete(name);
    this.#tabs.set(port, tab);
    if (retry) this.#refused.clear();
    if (retry && this.#state.state === 'closed') this.#reopen(0);
    for (const name of wants) if (this.#refused.has(name)) port.postMessage({ refused: name, error: this.#refused.get(name) });
    this.#reconcile();
  }

  #tell(message) { for (const port of this.#tabs.keys()) port.postMessage(message); }

  #become(state, error) {
    this.#state = { state, error, client: this.#session?.client };
    this.#tell({ connection: this.#state });
  }

  #union(part) { return new Set([...this.#tabs.values()].flatMap((tab) => [...tab[part]]).filter((name) => !this.#refused.has(name))); }

  /** A tab that shows the stream lacks its full value, and none is on its way. */
  #isMissed(name) {
    return !this.#awaited.has(name) && !this.#paused.has(name) && [...this.#tabs.values()].some(({ live, whole }) => live.has(name) && !whole.has(name));
  }

  /** Brings what the server sends to what the tabs want, one control request after the other. */
  async #reconcile() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (let step; (step = this.#nextStep());) await step();
    } finally { this.#isBusy = false; }
  }

  #nextStep() {
    const [wanted, live, reading] = [this.#union('wants'), this.#union('live'), [...this.#reading]];
    if (!wanted.size) return this.#close();
    if (!this.#source && !this.#timer && this.#state.state !== 'closed') return () => this.#open([...wanted]);
    if (!this.#session) return undefined;
    const steps = {
      unsubscribe: reading.filter((name) => !wanted.has(name) || this.#isMissed(name)),
      subscribe: [...wanted].filter((name) => !this.#reading.has(name)),
      pause: reading.filter((name) => !live.has(name) && !this.#paused.has(name)),
      resume: reading.filter((name) => live.has(name) && this.#paused.has(name)),
    };
    const step = Object.keys(steps).find((step) => steps[step].length);
    return step && (() => this.#control(step, steps[step]));
  }

  async #control(action, names) {
    const session = this.#session;
    if (action === 'subscribe') for (const name of names) this.#awaited.add(name);
    const answer = await this.#fetch(`events/${session.client}/${action}?streams=${names.map(encodeURIComponent)}`, 'POST').catch(() => undefined);
    if (session !== this.#session) return;
    if (answer?.ok) {
      const { streams, paused } = await answer.json();
      [this.#reading, this.#paused] = [new Set(streams), new Set(paused)];
      for (const set of action === 'unsubscribe' ? [this.#had, this.#awaited] : []) for (const name of names) set.delete(name);
    } else if (answer?.status === 404 || answer?.status === 400) {
      const problem = await answer.json().catch(() => ({}));
      if (problem.streams || answer.status === 400) this.#refuse(problem.streams ?? names, problem.detail);
      else this.#reopen();
    } else { await new Promise((done) => setTimeout(done, soon(1000))); }
  }

  #refuse(names, error) {
    for (const name of names) {
      this.#refused.set(name, error);
      this.#tell({ refused: name, error });
    }
  }

  #fetch(path, method = 'GET') { return fetch(new URL(path, this.#base), { method, signal: AbortSignal.timeout(10_000) }); }

  #open(names) {
    // Whoever has nothing of a stream yet needs its full value, not what came since.
    const resume = this.#lastID && names.every((name) => this.#had.has(name)) ? `&lastEventId=${this.#lastID}` : '';
    this.#asked = { names, path: `events?streams=${names.map(encodeURIComponent)}${resume}` };
    const source = (this.#source = new EventSource(new URL(this.#asked.path, this.#base)));
    this.#heardAt = performance.now();
    source.onerror = () => this.#lost(source);
    for (const event of eventNames) source.addEventListener(event, (message) => this.#hear(event, JSON.parse(message.data), message.lastEventId));
  }

  #close() {
    this.#source?.close();
    clearTimeout(this.#timer);
    [this.#source, this.#session, this.#timer] = [undefined, undefined, undefined];
  }

  #reopen(ms = soon()) {
    this.#close();
    this.#become('lost');
    this.#timer = setTimeout(() => { this.#timer = undefined; this.#reconcile(); }, ms);
  }

  async #lost(source) {
    if (source !== this.#source) return undefined;
    const { names, path } = this.#asked;
    if (source.readyState !== EventSource.CLOSED) {
      // The browser comes back by itself, but with the streams it was opened with.
      const wanted = this.#union('wants');
      if (wanted.size !== names.length || !names.every((name) => wanted.has(name))) return this.#reopen();
      this.#session = undefined;
      return this.#become('lost');
    }
    // An EventSource does not tell why it gave up; a request does.
    this.#reopen(60_000);
    const stop = new AbortController();
    const answer = await fetch(new URL(path, this.#base), { headers: { Accept: 'text/event-stream' }, signal: stop.signal }).catch(() => undefined);
    const problem = answer?.status >= 400 ? await answer.json().catch(() => ({})) : {};
    stop.abort();
    const { status = 0, statusText, headers } = answer ?? {};
    const passes = status === 200 ? headers.get('Content-Type')?.startsWith('text/event-stream') : !status || status >= 500 || [408, 429].includes(status);
    if (problem.streams) this.#refuse(problem.streams, problem.detail);
    if (problem.streams || passes) return this.#reopen();
    this.#close();
    return this.#become('closed', problem.detail ?? `The gateway answers ${status} ${statusText}.`);
  }

  #hear(event, data, lastID) {
    this.#heardAt = performance.now();
    if (lastID) this.#lastID = lastID;
    if (event === 'session') {
      [this.#session, this.#reading, this.#paused, this.#awaited] = [data, new Set(data.streams), new Set(), new Set()];
      if (data.resume !== 'exact') {
        this.#had.clear();
        this.#awaited = new Set(data.streams);
        for (const tab of this.#tabs.values()) tab.whole.clear();
      }
      this.#become('open');
    }
    const name = data.stream;
    if (data.kind === 'full') { this.#awaited.delete(name); this.#had.add(name); }
    for (const [port, tab] of this.#tabs) {
      if (!name || tab.live.has(name)) {
        if (data.kind === 'full') tab.whole.add(name);
        // What was left out is in the gateway's content, so that is asked for anew.
        if (event === 'gap') tab.whole.delete(name);
        if (data.kind !== 'delta' || tab.whole.has(name)) port.postMessage({ event, data });
      } else if (data.kind) { tab.whole.delete(name); }
    }
    if (event === 'session' || event === 'gap') this.#reconcile();
  }

  /** A connection that died in silence looks like a quiet one; the server knows. */
  async #watch() {
    const session = this.#session;
    if (!session || performance.now() - this.#heardAt < session.heartbeat * 2000) return;
    this.#heardAt = performance.now();
    const answer = await this.#fetch(`events/${session.client}`).catch(() => undefined);
    if (!answer?.ok && session === this.#session) this.#reopen();
  }
}

const connections = new Map();

/** Lets a tab in. The first message says which gateway; later ones what the tab wants. */
function accept(port) {
  port.onmessage = ({ data: { base } }) => {
    // Not every browser has it in workers.
    if (typeof EventSource === 'undefined') return port.postMessage({ alone: true });
    if (!connections.has(base)) connections.set(base, new Connection(base));
    return connections.get(base).join(port);
  };
}

if (typeof SharedWorkerGlobalScope !== 'undefined') globalThis.onconnect = ({ ports: [port] }) => accept(port);

/**
 * Streams of a gateway. Dispatches a `CustomEvent` for each event of the server, named as there (`update`, `fetch`, `recover`, `status`, …),
 * whose `detail` is the event's data; `connection` when the connection's state changes; `refused` for a stream that cannot be had.
 */
export class Feed extends EventTarget {
  #port; #base; #wants; #paused = new Set(); #streams = new Map(); #catalogue; #connection = { state: 'connecting' }; #lock; #release; #hide;

  /**
   * @param {string[]} names streams to begin with
   * @param {{url?: string|URL, shared?: boolean, pauseWhenHidden?: boolean}} [options] `url`: the gateway, by default where this module came
   *   from; `shared: false` opens a connection for this tab alone; a hidden page is paused on the server unless told otherwise
   */
  constructor(names = [], { url = new URL('..', import.meta.url), shared = true, pauseWhenHidden = true } = {}) {
    super();
    this.#base = new URL(url, globalThis.location?.href).href;
    this.#wants = new Set(names);
    this.#hide = () => this.#say();
    this.isPausedWhenHidden = pauseWhenHidden;
    if (pauseWhenHidden) globalThis.document?.addEventListener('visibilitychange', this.#hide);
    globalThis.addEventListener?.('pagehide', () => this.#port.postMessage({ bye: true }));
    globalThis.addEventListener?.('pageshow', ({ persisted }) => persisted && this.#say());
    try {
      if (!shared) throw new Error('not wanted');
      const worker = new SharedWorker(import.meta.url, { type: 'module', name: `futures-gateway ${messages}` });
      worker.onerror = () => this.#connect(undefined);
      this.#connect(worker.port);
    } catch { this.#connect(undefined); }
    this.#learn();
  }

  #connect(shared) {
    const { port1, port2 } = new MessageChannel();
    if (!shared) accept(port2);
    this.#port = shared ?? port1;
    /** Whether the tabs of this origin share the connection. */
    this.isShared = Boolean(shared);
    this.#port.onmessage = ({ data }) => (data.alone ? this.#connect(undefined) : this.#hear(data));
    this.#port.postMessage({ base: this.#base });
    this.#say();
    if (!shared || this.#lock || !globalThis.navigator?.locks) return;
    const lock = `futures-gateway ${Math.random()}`;
    navigator.locks.request(lock, () => new Promise((release) => {
      [this.#lock, this.#release] = [lock, release];
      this.#say();
    }));
  }

  /** Reads the merge rules, before anything is asked for, and how old what was cached really is. */
  async #learn() {
    const answer = await fetch(new URL('streams', this.#base)).then((answer) => answer.json()).catch(() => undefined);
    if (!answer?.catalogue) return setTimeout(() => this.#catalogue ?? this.#learn(), soon());
    const isFirst = !this.#catalogue;
    this.#catalogue = answer.catalogue;
    for (const { stream: name, id, state, ageMs } of answer.active) {
      if (id && this.#streams.get(name)?.content.id === id) this.#hear({ event: 'status', data: { stream: name, state, ageMs } });
    }
    return isFirst && this.#say();
  }

  #say(more) {
    if (!this.#catalogue) return;
    const hidden = this.isPausedWhenHidden && globalThis.document?.visibilityState === 'hidden';
    this.#port.postMessage({ wants: [...this.#wants], paused: [...this.#paused], hidden, lock: this.#lock, ...more });
  }

  #stream(name) {
    if (!this.#streams.has(name)) this.#streams.set(name, { content: new StreamContent(ruleFor(this.#catalogue, name)), state: 'connecting' });
    return this.#streams.get(name);
  }

  #hear({ connection, refused, error, event, data }) {
    if (connection) this.#connection = connection;
    if (refused && this.#wants.has(refused)) this.#stream(refused).error = error;
    if (event === 'session') {
      if (data.resume !== 'exact') for (const [name, { error }] of this.#streams) if (!error) this.#streams.delete(name);
      this.#learn();
    }
    if (data?.stream) {
      if (!this.#wants.has(data.stream)) return;
      const stream = this.#stream(data.stream);
      if (data.kind && (!stream.content.apply(data) || stream.content.isThin)) this.#say({ again: data.stream });
      if (data.kind || event === 'status') stream.at = performance.now() - (data.ageMs ?? 0);
      stream.state = data.state ?? stream.state;
    }
    const type = connection ? 'connection' : refused ? 'refused' : event;
    this.dispatchEvent(new CustomEvent(type, { detail: connection ?? (refused ? { stream: refused, error } : data) }));
  }

  /** The connection: `connecting`, `open`, `lost` (it comes back by itself) or `closed` (with `error`: it does not, until {@link retry}). */
  get connection() { return this.#connection; }

  /** The names of the streams. */
  get names() { return [...this.#wants]; }

  /** A stream's current content, as `GET /streams/{name}` would give it; undefined before it came. Of a long order book the last levels may lack. */
  get(name) { return this.#streams.get(name)?.content.value; }

  /**
   * What is known of a stream: `state` as the gateway says, or `lost` while the connection is; `age` in ms since the gateway received the
   * value, by the monotonic clock; `error` where it was refused.
   * @param {string} name @returns {{state: string, age?: number, id?: string, paused: boolean, error?: string}}
   */
  status(name) {
    const { state = 'connecting', at, content, error } = this.#streams.get(name) ?? {};
    const shown = error ? 'failed' : this.#connection.state === 'open' || state === 'connecting' ? state : 'lost';
    return { state: shown, age: content?.id && performance.now() - at, id: content?.id, paused: this.#paused.has(name), error };
  }

  /** Adds streams on the live connection. @param {...string} names */
  add(...names) { for (const name of names) this.#wants.add(name); this.#say(); }

  /** Removes streams on the live connection. @param {...string} names */
  remove(...names) { for (const name of names) for (const part of [this.#wants, this.#paused, this.#streams]) part.delete(name); this.#say(); }

  /** Pauses streams on the server; all, where none is named. @param {...string} names */
  pause(...names) { for (const name of names.length ? names : this.#wants) this.#paused.add(name); this.#say(); }

  /** Resumes streams; each gives its latest value and goes on live. All, where none is named. @param {...string} names */
  resume(...names) { for (const name of names.length ? names : this.#wants) this.#paused.delete(name); this.#say(); }

  /** Tries again what was refused or closed. */
  retry() { for (const [name, { error }] of this.#streams) if (error) this.#streams.delete(name); this.#say({ retry: true }); }

  /** Has the gateway fetch a stream's complete data over REST; every reader gets `fetch`. Throws with the gateway's reason. @param {string} name */
  async refetch(name) {
    const answer = await fetch(new URL(`streams/${encodeURIComponent(name)}/refetch`, this.#base), { method: 'POST' });
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail ?? `The gateway answers ${answer.status}.`);
  }

  /** Ends this feed; the connection ends with the last one. */
  close() {
    globalThis.document?.removeEventListener('visibilitychange', this.#hide);
    this.#port.postMessage({ bye: true });
    this.#release?.();
  }
}
