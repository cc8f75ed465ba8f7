// The gateway's streams in a browser: an ES module without dependencies.
//   import { Feed } from '/client.js';
//   const feed = new Feed(['btcusdt@markPrice']);   // new Feed([…], { credential: key }) if the gateway requires a key
//   feed.addEventListener('update', ({ detail }) => console.log(feed.get(detail.stream).markPrice));

import { request } from './connection.js';
import { clock, StreamContent } from './content.js';
import { alone, throughLeader, throughWorker } from './link.js';

export { ruleFor, StreamContent } from './content.js';

/** The URL that this module was loaded from, if a gateway serves it. */
function home() {
  if (!import.meta.url?.endsWith('/web/client.js')) throw new TypeError('Set the option `url` to the address of the gateway: this module was not loaded from a gateway.');
  return new URL('..', import.meta.url);
}

// Node 18 has no `CustomEvent`.
const withDetail = (name, detail) => (globalThis.CustomEvent ? new CustomEvent(name, { detail }) : Object.assign(new Event(name), { detail }));

/** Streams of a gateway. Dispatches the server's events as `CustomEvent`s (`update`, `fetch`, `status`, …) whose `detail` is their data,
 * `connection` when the connection's state changes, and `refused` for a stream that the gateway refuses. */
export class Feed extends EventTarget {
  #link;
  #base;
  #credential;
  #isHidden;
  #isSuspended = false;
  #isTelling = false;
  #wants;
  #paused = new Set();
  #streams = new Map();
  #stores = new Map();
  #lent = new Set();
  #connection = { state: 'connecting' };
  /** @param {string[]} names the first streams
   * @param {{url?: string|URL, credential?: string|(() => string|Promise<string>), shared?: boolean, pauseWhenHidden?: boolean}} [options]
   *   `url`: the gateway, by default the one that served this module; `credential`: a key or token, or a function that returns one for each
   *   request; `shared: false` opens a connection only for this tab; so does a function, because it cannot be sent to another tab */
  constructor(names = [], { url = home(), credential, shared = true, pauseWhenHidden = true } = {}) {
    super();
    this.#base = new URL(url, globalThis.location?.href).href;
    this.#wants = new Set(names);
    this.#isHidden = () => pauseWhenHidden && globalThis.document?.visibilityState === 'hidden';
    globalThis.document?.addEventListener('visibilitychange', () => this.#say());
    for (const [target, out, back] of [[globalThis, 'pagehide', 'pageshow'], [globalThis.document, 'freeze', 'resume']]) {
      let isOut = false;
      target?.addEventListener?.(out, () => {
        isOut = !this.#isSuspended;
        this.suspend();
      });
      target?.addEventListener?.(back, () => {
        if (isOut) this.#wake();
        isOut = false;
      });
    }
    this.#connect(credential, shared);
  }

  /** Uses the connection that all tabs with this gateway and credential share, or one only for this tab. */
  #connect(credential, shared, ways = [throughWorker, throughLeader]) {
    this.#credential = credential;
    this.#link?.close();
    this.#link = undefined;
    // On a server that only renders pages there is no `EventSource`.
    if (typeof EventSource === 'undefined') return;
    const sum = [...String(credential ?? '')].reduce((sum, letter) => (sum * 31 + letter.codePointAt()) % 2 ** 40, 0);
    const [name, hear] = [`${this.#base} ${sum}`, (message) => this.#hear(message)];
    const calls = { hear, say: (more) => this.#say(more), fail: () => this.#connect(credential, shared, [throughLeader]) };
    for (const way of shared && typeof credential !== 'function' ? ways : []) {
      this.#link ??= way === throughWorker ? way(name, this.#base, calls) : way(name, calls);
    }
    this.isShared = Boolean(this.#link);
    this.#link ??= alone(hear);
    this.#say();
  }

  #say(more) {
    if (this.#isSuspended && !more?.bye) return;
    const wish = { wants: [...this.#wants], paused: [...this.#paused], hidden: this.#isHidden(), ...more };
    this.#link?.send({ base: this.#base, credential: this.#credential, ...wish });
  }

  #hear({ event, data, rule }) {
    if (this.#isSuspended) return;
    if (data.stream && !this.#wants.has(data.stream)) return;
    const stream = this.#streams.get(data.stream) ?? { state: 'connecting' };
    if (data.stream) this.#streams.set(data.stream, stream);
    if (event === 'connection') this.#connection = data;
    if (event === 'session' && data.resume !== 'exact') for (const name of this.#wants) this.#streams.delete(name);
    if (event === 'refused') this.#wants.delete(data.stream);
    if (event === 'gap') Object.assign(stream, { content: undefined, state: 'connecting' });
    if (data.kind === 'full') stream.content = new StreamContent(rule);
    if (data.kind) Object.assign(stream, { isAway: false }).content?.apply(data);
    // A node of a cluster may not know the ages.
    if (typeof data.ageMs === 'number') Object.assign(stream, { at: clock() - data.ageMs, verified: clock() - data.unverifiedMs });
    Object.assign(stream, data.state && { state: data.state }, event === 'refused' && { error: data.error });
    this.#tellStores();
    this.dispatchEvent(withDetail(event, data));
  }

  /** The `upstreams`, and the `state`: `connecting`, `open`, `lost` (reconnects) or `closed` (until {@link retry}; with `error`, HTTP `status`). */
  get connection() { return this.#connection; }
  /** The names of the streams, except refused ones. */
  get names() { return [...this.#wants]; }
  /** A stream's current content, as `GET /streams/{name}` returns it; undefined before the first snapshot. The last levels of a long book may be missing. */
  get(name) { return this.#streams.get(name)?.content?.value; }
  /** A stream's `state` as the gateway reports it, or `lost`; `id`, `paused`, `error` if refused; `age` and time `unverified` in ms, sleep included. */
  status(name) {
    const { state = 'connecting', at, verified, content, error, isAway } = this.#streams.get(name) ?? {};
    const shown = error ? 'failed' : (this.#connection.state === 'open' && !isAway) || !content ? state : 'lost';
    const [age, unverified] = content ? [at, verified].map((since) => clock() - since) : [];
    return { state: shown, age, unverified, id: content?.id, paused: this.#paused.has(name), error };
  }
  /** A stream as a store. `value` is the same frozen object until something changes. `subscribe(run)` calls `run(value)` immediately and after changes,
   * at most once per frame, and returns a function that unsubscribes. The first subscriber adds the stream, the last one removes it. @param {string} name */
  stream(name) {
    if (!this.#stores.has(name)) this.#stores.set(name, this.#store(name));
    return this.#stores.get(name).store;
  }
  #store(name) {
    const runs = new Set();
    let value = {};
    const look = () => {
      const { state, id, paused, error } = this.status(name);
      const next = { content: this.get(name), state, id, paused, error };
      const isNew = Object.keys(next).some((member) => next[member] !== value[member]);
      if (isNew) value = Object.freeze(next);
      return isNew;
    };
    const leave = () => {
      if (!runs.size && this.#lent.delete(name)) this.remove(name);
    };
    look();
    const store = {
      get value() {
        if (!runs.size) look();
        return value;
      },
      subscribe: (run) => {
        // The same function may be passed twice.
        const own = (value) => run(value);
        if (!this.#wants.has(name)) {
          this.add(name);
          this.#lent.add(name);
        }
        if (!runs.size) look();
        runs.add(own);
        run(value);
        // A framework that remounts a component subscribes again immediately.
        return () => {
          if (runs.delete(own)) setTimeout(leave, 1000);
        };
      },
    };
    return { store, tell: () => runs.size && look() && runs.forEach((run) => run(value)) };
  }
  #tellStores() {
    if (this.#isTelling || !this.#stores.size) return;
    this.#isTelling = true;
    const tell = () => {
      this.#isTelling = false;
      this.#stores.forEach((store) => store.tell());
    };
    if (globalThis.document?.visibilityState === 'visible') requestAnimationFrame(tell);
    else setTimeout(tell, 16);
  }

  #change(names, change) {
    for (const name of names) change(name);
    this.#say();
    this.#tellStores();
  }
  /** Adds streams on the live connection. @param {...string} names */
  add(...names) {
    this.#change(names, (name) => {
      this.#lent.delete(name);
      this.#want(name);
    });
  }
  #want(name) {
    if (this.#wants.has(name)) return;
    this.#streams.delete(name);
    this.#wants.add(name);
  }
  /** Removes streams on the live connection. @param {...string} names */
  remove(...names) { this.#change(names, (name) => [this.#wants, this.#paused, this.#streams].forEach((part) => part.delete(name))); }
  /** Pauses streams on the server; without names, all streams. @param {...string} names */
  pause(...names) { this.#change(names.length ? names : this.#wants, (name) => this.#paused.add(name)); }
  /** Resumes streams; each sends its latest value and continues live. Without names, all streams; after {@link suspend} only the feed.
   * @param {...string} names */
  resume(...names) {
    if (this.#isSuspended && !names.length) this.#wake();
    else this.#change(names.length ? names : this.#wants, (name) => this.#paused.delete(name));
  }
  /** Reads nothing until {@link resume}, such as while an app is in the background. Until all missed events have arrived, every
   * state is `lost`. A page that the browser freezes does this by itself. */
  suspend() {
    if (this.#isSuspended) return;
    this.#say({ bye: true });
    this.#hear({ event: 'connection', data: { ...this.#connection, state: 'lost' } });
    this.#isSuspended = true;
  }
  #wake() {
    this.#isSuspended = false;
    // For the other tabs, the shared connection may continue without this tab's streams.
    for (const stream of this.#streams.values()) stream.isAway = true;
    this.#say({ renew: true });
  }
  /** Retries refused streams or a closed connection; a given key or token is used from now on. @param {string} [credential] */
  retry(credential = this.#credential) {
    if (credential !== this.#credential) {
      this.#say({ bye: true });
      this.#connect(credential, this.isShared);
    }
    this.#change([...this.#streams.keys()], (name) => this.#want(name));
    this.#say({ retry: true });
  }
  /** Requests a path of the gateway, such as `streams/btcusdt@depth`, with the credential. @param {string} path @param {RequestInit} [options] */
  request(path, options) { return request(this.#base, this.#credential, path, options); }
  /** Makes the gateway fetch a stream's data over REST; every reader gets `fetch`. Throws an error with the gateway's reason. @param {string} name */
  async refetch(name) {
    const answer = await this.request(`streams/${encodeURIComponent(name)}/refetch`, { method: 'POST' });
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail ?? `The gateway answered ${answer.status}.`);
  }
  /** Ends this feed. The connection ends with its last feed. */
  close() {
    this.#say({ bye: true });
    this.#link?.close();
    this.#link = undefined;
  }
}
