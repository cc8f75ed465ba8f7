// The gateway's streams in a browser: an ES module without dependencies. It is also the script of the SharedWorker that its tabs share.
//   import { Feed } from '/client.js';
//   const feed = new Feed(['btcusdt@markPrice']);   // new Feed([…], { credential: key }) where the gateway asks for a key
//   feed.addEventListener('update', ({ detail }) => console.log(feed.get(detail.stream).markPrice));

const workerName = 'futures-gateway 4'; // counted up when tab and worker come to say other things to each other
const eventNames = ['session', 'update', 'fetch', 'recover', 'fail', 'connect', 'disconnect', 'status', 'gap', 'bye', 'heartbeat'];
const soon = (ms = 2000) => ms * (0.75 + Math.random() / 2);
const later = ({ ageMs, unverifiedMs }, passed) => ({ ageMs: ageMs + passed, unverifiedMs: unverifiedMs + passed });

async function request(base, credential, path, { headers, ...options } = {}) {
  const key = typeof credential === 'function' ? await credential() : credential;
  return fetch(new URL(path, base), { ...options, headers: { ...headers, ...(key && { Authorization: `Bearer ${key}` }) } });
}

/** A stream's rule in the catalogue of `GET /streams`. In a pattern `{symbol}` is any text, `{5|10}` one of these, `[@1s]` may lack. */
export function ruleFor(catalogue, name) {
  const expression = (pattern) => pattern.replace(/[.*+?^$()\\]/g, '\\$&').replaceAll('[', '(?:').replaceAll(']', ')?')
    .replace(/\{([^{}]*\|[^{}]*)\}/g, '(?:$1)').replace(/\{[^{}]*\}/g, '[^@]+');
  return catalogue.find(({ pattern }) => new RegExp(`^${expression(pattern)}$`).test(name));
}

/** The content of one stream, kept current by the stream's merge rule. Contents handed out are never changed afterwards. */
export class StreamContent {
  #rule; #content; #reach = {};
  /** @param {{merge: 'replace'|'byKey'|'book'|'append', key?: string, keep?: number}} [rule] without one only full values can be taken */
  constructor(rule) { this.#rule = rule ?? { merge: 'replace' }; }
  /** The current content; undefined before the first full value. */
  get value() {
    const { merge, keep } = this.#rule;
    if (merge !== 'book' || !this.#content) return this.#content;
    return { ...this.#content, bids: this.#content.bids.slice(0, keep), asks: this.#content.asks.slice(0, keep) };
  }
  /** The full value that makes another one equal to this one. */
  get full() { return { id: this.id, kind: 'full', content: this.#content, reach: this.#reach }; }
  /** Whether the market has walked away from the levels a book began with, so that a full value would tell more. */
  get isThin() { return Object.keys(this.#reach).some((side) => this.#content[side].length < this.#rule.keep / 2); }

  /** Whether these data have been taken: what came without an id may come again after a cut. */
  has({ id, kind }) {
    const [[epoch, place], [own, last]] = [id, this.id ?? ''].map((text) => text.split('.'));
    return epoch === own && parseInt(place, 36) < parseInt(last, 36) + (kind !== 'full');
  }

  /** Takes the data of a `fetch` or `update`; false where the change does not follow what is here: a full value is needed. */
  apply({ id, kind, content, reach }) {
    const { merge, key, keep = Infinity } = this.#rule;
    if (this.has({ id, kind })) return true;
    if (kind === 'full' || merge === 'replace') {
      // What lies beyond a book cut off at its limit is known from updates alone, so nobody knows it whole.
      const isCut = (side) => merge === 'book' && content[side].length >= keep;
      this.#reach = reach ?? Object.fromEntries(['bids', 'asks'].filter(isCut).map((side) => [side, Number(content[side].at(-1)[0])]));
      this.#content = content;
    } else if (!this.#content || id.split('.')[0] !== this.id.split('.')[0]) {
      return false;
    } else if (merge === 'book') {
      if (content.previousUpdateId > this.#content.lastUpdateId) return false;
      if (content.lastUpdateId <= this.#content.lastUpdateId) return true;
      this.#content = { ...this.#content, ...content, bids: this.#side('bids', -1, content), asks: this.#side('asks', 1, content) };
    } else if (merge === 'append') {
      this.#content = [...this.#content, ...content].slice(-keep);
    } else {
      this.#content = [...new Map([...this.#content, ...content].map((row) => [row[key], row])).values()];
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

/** A connection to a gateway. Its tabs say what they want; it brings the server to send that, and passes on what comes. */
class Connection {
  #tabs = new Map(); #streams = new Map(); #reading = new Set(); #paused = new Set(); #broken = new Set(); #work = Promise.resolve();
  #base; #credential; #catalogue; #upstreams; #listed; #source; #session; #lastID; #timer; #state = { state: 'connecting' };
  /** Takes what a tab says: which gateway, and all it wants of it. A stream that it begins to show is caught up on. */
  serve(port, { base, credential, wants, paused, hidden, lock, retry, bye }) {
    // A port does not tell that its tab is gone, but what the tab has locked becomes free.
    if (lock) navigator.locks.request(lock, () => this.serve(port, { bye: true }));
    if (bye) return this.#tabs.delete(port) && this.#reconcile();
    const [before, live] = [this.#tabs.get(port), new Set(hidden ? [] : wants.filter((name) => !paused.includes(name)))];
    [this.#base, this.#credential] = [base, credential];
    this.#tabs.set(port, { wants: new Set(wants), live });
    if (!before) port.postMessage({ event: 'connection', data: this.#state });
    if ((retry || !before) && this.#state.state === 'closed') this.#reopen(0);
    for (const [name, { content, data, rule, at }] of this.#streams) {
      const isLate = live.has(name) && !before?.live.has(name) && content.id;
      if (isLate) port.postMessage({ event: 'update', data: { ...data, ...content.full, ...later(data, performance.now() - at) }, rule });
    }
    return this.#reconcile();
  }

  #tell(message, name, part = 'live') { this.#tabs.forEach((tab, port) => (!name || tab[part].has(name)) && port.postMessage(message)); }
  #become(state, error, status) {
    this.#state = { state, error, status, client: this.#session?.client, upstreams: this.#upstreams };
    this.#tell({ event: 'connection', data: this.#state });
  }
  /** Brings what the server sends to what the tabs want, one request after the other. */
  #reconcile() { this.#work = this.#work.then(() => this.#step()).catch(() => this.#reopen()); }
  async #step() {
    const [wants, live] = ['wants', 'live'].map((part) => new Set([...this.#tabs.values()].flatMap((tab) => [...tab[part]])));
    if (!wants.size) this.#close();
    else if (!this.#source && !this.#timer && this.#state.state !== 'closed') await this.#open([...wants]);
    const [session, reading] = [this.#session, [...this.#reading]];
    const [action, names] = Object.entries({
      unsubscribe: reading.filter((name) => !wants.has(name) || this.#broken.has(name)),
      subscribe: [...wants].filter((name) => !this.#reading.has(name)),
      pause: reading.filter((name) => !live.has(name) && !this.#paused.has(name)),
      resume: reading.filter((name) => live.has(name) && this.#paused.has(name)),
    }).find(([, names]) => names.length) ?? [];
    if (!session || !action) return;
    const answer = await this.#ask(`events/${session.client}/${action}?streams=${names.map(encodeURIComponent)}`, 'POST');
    if (session !== this.#session) return;
    if (answer.status !== 200) this.#judge(answer, names);
    else [this.#reading, this.#paused] = [new Set(answer.body.streams), new Set(answer.body.paused)];
    if (action === 'unsubscribe') for (const name of names) for (const part of [this.#broken, this.#streams]) part.delete(name);
    await new Promise((done) => setTimeout(done, 100)); // The server takes ten of these a second.
    this.#reconcile();
  }

  /** The status of an answer, 0 for none, and its JSON. */
  async #ask(path, method = 'GET') {
    const answer = await request(this.#base, this.#credential, path, { method, signal: AbortSignal.timeout(10_000) }).catch(() => ({}));
    return { status: answer.status ?? 0, body: (await answer.json?.().catch(() => undefined)) ?? {} };
  }

  /** Opens the event stream, with a ticket of its own where there is a credential: an address can be shown but once. */
  async #open(wanted) {
    const list = await this.#ask('streams');
    const pass = list.body.catalogue && this.#credential ? await this.#ask('tickets', 'POST') : list;
    if (!pass.body.catalogue && !pass.body.ticket) return this.#judge(pass);
    [this.#catalogue, this.#upstreams] = [list.body.catalogue, list.body.upstreams];
    this.#listed = new Map(list.body.active.map((status) => [`${status.stream} ${status.id}`, { ...status, at: performance.now() }]));
    // An id holds for the streams it came with; what is wanted besides or not any more is changed afterwards.
    const had = [...this.#reading];
    const resume = this.#lastID && had.some((name) => wanted.includes(name)) ? `&lastEventId=${this.#lastID}` : '';
    const path = `events?streams=${(resume ? had : wanted).map(encodeURIComponent)}&heartbeat=15&heartbeatEvent=true${resume}`;
    const source = (this.#source = new EventSource(new URL(pass === list ? path : `${path}&ticket=${pass.body.ticket}`, this.#base)));
    for (const event of eventNames) source.addEventListener(event, (message) => this.#hear(event, JSON.parse(message.data), message));
    source.onerror = async () => {
      const isRefused = source.readyState === EventSource.CLOSED;
      this.#reopen(isRefused ? 60_000 : soon(), !isRefused || this.#session ? 'lost' : '');
      // An EventSource does not tell why it gave up; a request does.
      if (isRefused) this.#judge(await this.#ask(`${path}&timeout=1`));
    };
    this.#expect();
  }

  #close(state, error, status) {
    this.#source?.close();
    clearTimeout(this.#timer);
    [this.#source, this.#session, this.#timer] = [];
    if (state) this.#become(state, error, status);
  }
  #wait(ms, run) { clearTimeout(this.#timer); this.#timer = setTimeout(run, ms); }
  /** Comes back where not even a heartbeat is heard. */
  #expect() { this.#wait(40_000, () => this.#reopen()); }
  #reopen(ms = soon(), state = 'lost') {
    this.#close(state);
    this.#wait(ms, () => { this.#timer = undefined; this.#reconcile(); });
  }

  /** Does what is due after another answer than was hoped for. @param {string[]} [names] what a control request was about */
  #judge({ status, body: { streams = status === 400 ? names : undefined, detail } }, names) {
    for (const stream of streams ?? []) {
      this.#tell({ event: 'refused', data: { stream, error: detail } }, stream, 'wants');
      for (const part of [this.#reading, ...[...this.#tabs.values()].flatMap(({ wants, live }) => [wants, live])]) part.delete(stream);
    }
    // 409: it is still played what it missed.
    if (names && (streams || [409, 429].includes(status))) return;
    if (streams || status >= 500 || [0, 200, 408, 429, names && 404].includes(status)) return this.#reopen(soon(streams && 100), streams ? '' : 'lost');
    this.#close('closed', detail ?? `The gateway answers ${status}.`, status);
  }

  #hear(event, data, { lastEventId }) {
    this.#expect();
    this.#lastID = lastEventId || this.#lastID;
    if (event === 'session') {
      [this.#session, this.#reading, this.#paused, this.#broken] = [data, new Set(data.streams), new Set(), new Set()];
      if (data.resume !== 'exact') this.#streams.clear();
      this.#become('open');
    }
    if (data.stream) this.#keep(event, data, data.stream);
    else if (event !== 'heartbeat') this.#tell({ event, data });
    if (event === 'bye') this.#reopen(data.retryMs);
    if (event === 'session' || this.#broken.size) this.#reconcile();
  }
  /** Keeps what comes of a stream, for tabs that come later, and passes it on. */
  #keep(event, data, name) {
    const { rule } = this.#streams.get(name) ?? { rule: ruleFor(this.#catalogue, name) };
    const stream = this.#streams.get(name) ?? { rule, content: new StreamContent(rule) };
    if (data.kind && stream.content.has(data)) return;
    const isWhole = event !== 'gap' && (!data.kind || stream.content.apply(data));
    // What was left out is in the gateway's content, so that is asked for anew.
    if (!isWhole) stream.content = new StreamContent(rule);
    if ((!isWhole || stream.content.isThin) && this.#reading.has(name)) this.#broken.add(name);
    const listed = this.#listed.get(`${name} ${data.id}`) ?? { ageMs: 0, unverifiedMs: 0, at: performance.now() };
    if (data.kind && !('ageMs' in data)) Object.assign(data, later(listed, performance.now() - listed.at));
    if ('ageMs' in data) Object.assign(stream, { at: performance.now(), data: { ...stream.data, ...data } });
    this.#streams.set(name, stream);
    if (isWhole || event === 'gap') this.#tell({ event, data, rule }, name);
  }
}

if (typeof SharedWorkerGlobalScope !== 'undefined') {
  const connection = new Connection();
  globalThis.onconnect = ({ ports: [port] }) => { port.onmessage = ({ data }) => connection.serve(port, data); };
}

/** Streams of a gateway. Dispatches the server's events as `CustomEvent`s (`update`, `fetch`, `status`, …) whose `detail` is their data,
 * `connection` when the connection's state changes, and `refused` for a stream that cannot be had. */
export class Feed extends EventTarget {
  #send; #base; #credential; #isHidden; #wants; #paused = new Set(); #streams = new Map(); #connection = { state: 'connecting' };
  /** @param {string[]} names streams to begin with
   * @param {{url?: string|URL, credential?: string|(() => string|Promise<string>), shared?: boolean, pauseWhenHidden?: boolean}} [options]
   *   `url`: the gateway, by default where this module came from; `credential`: a key or token, or a function that gives one for each
   *   request; `shared: false` opens a connection for this tab alone, as does a function, which cannot cross to a worker */
  constructor(names = [], { url = new URL('..', import.meta.url), credential, shared = true, pauseWhenHidden = true } = {}) {
    super();
    [this.#base, this.#wants] = [new URL(url, globalThis.location?.href).href, new Set(names)];
    this.#isHidden = () => pauseWhenHidden && globalThis.document?.visibilityState === 'hidden';
    globalThis.document?.addEventListener('visibilitychange', () => this.#say());
    globalThis.addEventListener?.('pagehide', () => this.#say({ bye: true }));
    globalThis.addEventListener?.('pageshow', () => this.#say());
    this.#connect(credential, shared);
  }

  /** Turns to the connection of all tabs with this gateway and credential, or to one of this tab's own. */
  #connect(credential, shared) {
    [this.#credential, this.isShared] = [credential, shared && typeof credential !== 'function'];
    try {
      if (!this.isShared) throw new Error('not wanted');
      const sum = [...credential ?? ''].reduce((sum, letter) => (sum * 31 + letter.codePointAt()) % 2 ** 40, 0);
      const worker = new SharedWorker(import.meta.url, { type: 'module', name: `${workerName} ${this.#base} ${sum}` });
      worker.onerror = () => this.#connect(credential, false);
      worker.port.onmessage = ({ data }) => this.#hear(data);
      this.#send = (message) => worker.port.postMessage(message);
      const lock = `futures-gateway ${Math.random()}`;
      navigator.locks?.request(lock, () => { this.#say({ lock }); return new Promise(() => {}); });
    } catch {
      const [connection, port] = [new Connection(), { postMessage: (message) => queueMicrotask(() => this.#hear(message)) }];
      [this.#send, this.isShared] = [(message) => connection.serve(port, message), false];
    }
    this.#say();
  }

  #say(more) {
    const wish = { wants: [...this.#wants], paused: [...this.#paused], hidden: this.#isHidden(), ...more };
    this.#send({ base: this.#base, credential: this.#credential, ...wish });
  }

  #hear({ event, data, rule }) {
    if (data.stream && !this.#wants.has(data.stream)) return;
    const stream = this.#streams.get(data.stream) ?? { state: 'connecting' };
    if (data.stream) this.#streams.set(data.stream, stream);
    if (event === 'connection') this.#connection = data;
    if (event === 'session' && data.resume !== 'exact') for (const name of this.#wants) this.#streams.delete(name);
    if (event === 'refused') this.#wants.delete(data.stream);
    if (data.kind === 'full') stream.content = new StreamContent(rule);
    if (data.kind) stream.content?.apply(data);
    if ('ageMs' in data) [stream.at, stream.verified] = [data.ageMs, data.unverifiedMs].map((ms) => performance.now() - ms);
    Object.assign(stream, data.state && { state: data.state }, event === 'refused' && { error: data.error });
    this.dispatchEvent(new CustomEvent(event, { detail: data }));
  }

  /** Its `state`: `connecting`, `open`, `lost` (back by itself) or `closed` (until {@link retry}; with `error`, HTTP `status`); the `upstreams`. */
  get connection() { return this.#connection; }
  /** The names of the streams, but of those that were refused. */
  get names() { return [...this.#wants]; }
  /** A stream's current content, as `GET /streams/{name}` gives it; undefined before it came. A long book may lack its last levels. */
  get(name) { return this.#streams.get(name)?.content?.value; }
  /** A stream's `state` as the gateway says, or `lost`; `id`, `paused`, `error` if refused; `age` and time `unverified` in ms, monotonic. */
  status(name) {
    const { state = 'connecting', at, verified, content, error } = this.#streams.get(name) ?? {};
    const shown = error ? 'failed' : this.#connection.state === 'open' || !content ? state : 'lost';
    const [age, unverified] = content ? [at, verified].map((since) => performance.now() - since) : [];
    return { state: shown, age, unverified, id: content?.id, paused: this.#paused.has(name), error };
  }
  #change(names, change) { for (const name of names) change(name); this.#say(); }
  /** Adds streams on the live connection. @param {...string} names */
  add(...names) { this.#change(names, (name) => this.#wants.has(name) || (this.#streams.delete(name), this.#wants.add(name))); }
  /** Removes streams on the live connection. @param {...string} names */
  remove(...names) { this.#change(names, (name) => [this.#wants, this.#paused, this.#streams].forEach((part) => part.delete(name))); }
  /** Pauses streams on the server; all, where none is named. @param {...string} names */
  pause(...names) { this.#change(names.length ? names : this.#wants, (name) => this.#paused.add(name)); }
  /** Resumes streams; each gives its latest value and goes on live. All, where none is named. @param {...string} names */
  resume(...names) { this.#change(names.length ? names : this.#wants, (name) => this.#paused.delete(name)); }
  /** Tries again what was refused or closed, from now on with this key or token where one is given. @param {string} [credential] */
  retry(credential = this.#credential) {
    if (credential !== this.#credential) { this.#say({ bye: true }); this.#connect(credential, this.isShared); }
    this.add(...this.#streams.keys());
    this.#say({ retry: true });
  }
  /** Requests something, as in `streams/btcusdt@depth`, with the credential. @param {string} path @param {RequestInit} [options] */
  request(path, options) { return request(this.#base, this.#credential, path, options); }
  /** Has the gateway fetch a stream's data over REST; every reader gets `fetch`. Throws with the gateway's reason. @param {string} name */
  async refetch(name) {
    const answer = await this.request(`streams/${encodeURIComponent(name)}/refetch`, { method: 'POST' });
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail ?? `The gateway answers ${answer.status}.`);
  }
  /** Ends this feed; the connection ends with the last one. */
  close() { this.#say({ bye: true }); this.#send = () => undefined; }
}
