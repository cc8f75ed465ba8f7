// The gateway's streams in a browser: an ES module without dependencies.
//
//   import { Feed } from '/client.js';
//   const feed = new Feed(['btcusdt@markPrice']);
//   feed.addEventListener('update', ({ detail }) => console.log(feed.get(detail.stream).markPrice));

import { accept } from './connection.js';
import { StreamContent } from './content.js';

// Raised whenever tab and worker come to say something else to each other, so that a page never meets a worker of another build.
const messages = 1;

/**
 * Streams of a gateway. Dispatches a `CustomEvent` for each event of the server, named as there (`update`, `fetch`, `recover`, `status`, …),
 * whose `detail` is the event's data; `connection` when the connection's state changes; `refused` for a stream that cannot be had.
 */
export class Feed extends EventTarget {
  #port; #base; #wants; #paused = new Set(); #streams = new Map(); #connection = { state: 'connecting' }; #lock; #hide;

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
    if (pauseWhenHidden) globalThis.document?.addEventListener('visibilitychange', this.#hide);
    this.isPausedWhenHidden = pauseWhenHidden;
    globalThis.addEventListener?.('pagehide', () => this.#port.postMessage({ bye: true }));
    globalThis.addEventListener?.('pageshow', ({ persisted }) => persisted && this.#say());
    try {
      if (!shared) throw new Error('not wanted');
      const worker = new SharedWorker(new URL('connection.js', import.meta.url), { type: 'module', name: `futures-gateway ${messages}` });
      worker.onerror = () => this.#connect(undefined);
      this.#connect(worker.port);
    } catch { this.#connect(undefined); }
  }

  #connect(shared) {
    let port = shared;
    if (!port) {
      const { port1, port2 } = new MessageChannel();
      accept(port2);
      port = port1;
    }
    this.#port = port;
    port.onmessage = ({ data }) => (data.alone ? this.#connect(undefined) : this.#hear(data));
    port.postMessage({ base: this.#base });
    this.#say();
    /** Whether the tabs of this origin share the connection. */
    this.isShared = Boolean(shared);
    if (!shared || !globalThis.navigator?.locks) return;
    const lock = `futures-gateway ${Math.random()}`;
    navigator.locks.request(lock, () => new Promise((release) => {
      this.#lock = release;
      this.#say({ lock });
    }));
  }

  #say(more) {
    const hidden = this.isPausedWhenHidden && globalThis.document?.visibilityState === 'hidden';
    this.#port.postMessage({ wants: [...this.#wants], paused: [...this.#paused], hidden, ...more });
  }

  #stream(name, rule) {
    if (!this.#streams.has(name)) this.#streams.set(name, { content: new StreamContent(rule), state: 'connecting' });
    return this.#streams.get(name);
  }

  #hear({ connection, refused, error, event, data, rule, ageMs }) {
    if (connection) {
      this.#connection = connection;
      this.#dispatch('connection', connection);
    } else if (refused) {
      if (this.#wants.has(refused)) this.#stream(refused).error = error;
      this.#dispatch('refused', { stream: refused, error });
    } else {
      if (event === 'session' && data.resume !== 'exact') {
        for (const [name, { error }] of this.#streams) if (!error) this.#streams.delete(name);
      }
      if (data.stream) {
        if (!this.#wants.has(data.stream)) return;
        const stream = this.#stream(data.stream, rule);
        if (data.kind) stream.content.apply(data);
        Object.assign(stream, { at: performance.now() - ageMs, state: data.state ?? stream.state });
      }
      this.#dispatch(event, data);
    }
  }

  #dispatch(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  /** The connection: `connecting`, `open`, `lost` (it comes back by itself) or `closed` (with `error`: it does not, until {@link retry}). */
  get connection() { return this.#connection; }

  /** The names of the streams. */
  get names() { return [...this.#wants]; }

  /**
   * A stream's current content, as `GET /streams/{name}` would give it; undefined before it came. Of a long order book the last levels may lack.
   * @param {string} name
   */
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
  remove(...names) { for (const name of names) { this.#wants.delete(name); this.#paused.delete(name); this.#streams.delete(name); } this.#say(); }

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
    this.#lock?.();
  }
}
