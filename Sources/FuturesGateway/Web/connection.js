// One connection to a gateway, for any number of tabs. This is also the script of the SharedWorker that they share.

import { clock, ruleFor, StreamContent } from './content.js';

/** The name of shared workers and channels. Increase the number when the messages between tabs and their connection change. */
export const sharedName = 'futures-gateway 7';
const eventNames = ['session', 'update', 'fetch', 'recover', 'fail', 'connect', 'disconnect', 'status', 'gap', 'live', 'bye', 'heartbeat'];
const soon = (ms = 2000) => ms * (0.75 + Math.random() / 2);
const later = ({ ageMs, unverifiedMs }, passed) => ({ ageMs: ageMs + passed, unverifiedMs: unverifiedMs + passed });

/** Requests a path of the gateway at `base`, with the credential if there is one. */
export async function request(base, credential, path, { headers, ...options } = {}) {
  const key = typeof credential === 'function' ? await credential() : credential;
  return fetch(new URL(path, base), { ...options, headers: { ...headers, ...(key && { Authorization: `Bearer ${key}` }) } });
}

/** A connection to a gateway. Its tabs say which streams they want; it makes the server send these, and passes on the events. */
export class Connection {
  #tabs = new Map();
  #streams = new Map();
  #reading = new Set();
  #paused = new Set();
  #broken = new Set();
  #work = Promise.resolve();
  #base;
  #credential;
  #catalogue;
  #upstreams;
  #listed;
  #source;
  #session;
  #lastID;
  #timer;
  #state = { state: 'connecting' };
  #hasty = 0; // The number of requests for the list of streams that wait for a response only briefly.
  #unread = 0; // The number of missed events that have not arrived. While there are any, the tabs show no content as live.
  /** Handles a tab's message: the gateway, and all streams that the tab wants. A stream that the tab starts to show first gets its current content. */
  serve(port, { base, credential, wants, paused, hidden, lock, retry, renew, bye }) {
    // A port does not report that its tab has closed, but the tab's lock is then released.
    if (lock) navigator.locks.request(lock, () => this.serve(port, { bye: true }));
    if (bye) return this.#tabs.delete(port) && this.#reconcile();
    const [before, live] = [this.#tabs.get(port), new Set(hidden ? [] : wants.filter((name) => !paused.includes(name)))];
    this.#base = base;
    this.#credential = credential;
    this.#tabs.set(port, { wants: new Set(wants), live });
    // After a suspension, the connection may be dead.
    if (renew) this.#hasty = 6;
    if (renew && this.#state.state !== 'closed') this.#reopen(0);
    if (!before) port.postMessage({ event: 'connection', data: this.#state });
    if ((retry || !before) && this.#state.state === 'closed') this.#reopen(0);
    for (const [name, stream] of this.#streams) {
      if (!live.has(name) || before?.live.has(name) || !stream.content.id) continue;
      // The gateway may have sent nothing of a paused stream for long.
      stream.isHeld = this.#paused.has(name);
      const data = { ...stream.data, ...stream.content.full, ...later(stream.data, clock() - stream.at) };
      port.postMessage({ event: 'update', data: stream.isHeld ? { ...data, state: 'recovering' } : data, rule: stream.rule });
    }
    return this.#reconcile();
  }

  /** Stops serving all tabs. */
  end() {
    this.#tabs.clear();
    this.#reconcile();
  }

  #tell(message, name, part = 'live') { this.#tabs.forEach((tab, port) => (!name || tab[part].has(name)) && port.postMessage(message)); }
  #become(state, error, status) {
    this.#state = { state, error, status, client: this.#session?.client, upstreams: this.#upstreams };
    this.#tell({ event: 'connection', data: this.#state });
  }
  /** Makes the server send what the tabs want, one request after the other. */
  #reconcile() { this.#work = this.#work.then(() => this.#step()).catch(() => this.#reopen()); }
  async #step() {
    const [wants, live] = ['wants', 'live'].map((part) => new Set([...this.#tabs.values()].flatMap((tab) => [...tab[part]])));
    if (!wants.size) this.#close(this.#state.state === 'open' ? 'connecting' : '');
    else if (!this.#source && !this.#timer && this.#state.state !== 'closed') await this.#open([...wants]);
    const [session, reading] = [this.#session, [...this.#reading]];
    const [action, names] = Object.entries({
      unsubscribe: reading.filter((name) => !wants.has(name) || this.#broken.has(name)),
      subscribe: [...wants].filter((name) => !this.#reading.has(name)),
      pause: reading.filter((name) => !live.has(name) && !this.#paused.has(name)),
      resume: reading.filter((name) => live.has(name) && this.#paused.has(name)),
    }).find(([, names]) => names.length) ?? [];
    // The number of missed events is only valid while the connection does not change.
    if (!session || this.#unread || !action) return;
    const answer = await this.#ask(`events/${session.client}/${action}?streams=${names.map(encodeURIComponent)}`, 'POST');
    if (session !== this.#session) return;
    if (answer.status !== 200) this.#judge(answer, names);
    else [this.#reading, this.#paused] = [new Set(answer.body.streams), new Set(answer.body.paused)];
    if (answer.status === 200 && action === 'unsubscribe') for (const name of names) for (const part of [this.#broken, this.#streams]) part.delete(name);
    await new Promise((done) => setTimeout(done, answer.status === 429 ? 1000 : 100)); // The server accepts ten control requests per second.
    this.#reconcile();
  }

  /** The status of a response, 0 if there was none, and its JSON. */
  async #ask(path, method = 'GET', limit = 10_000) {
    const answer = await request(this.#base, this.#credential, path, { method, signal: AbortSignal.timeout(limit) }).catch(() => ({}));
    return { status: answer.status ?? 0, body: (await answer.json?.().catch(() => undefined)) ?? {} };
  }

  /** The list of streams. After a suspension, each of the browser's idle connections may be dead until a request on it reaches its time limit. */
  async #list() {
    for (; this.#hasty; this.#hasty -= 1) {
      const since = performance.now();
      const list = await this.#ask('streams', 'GET', 1500);
      if (list.status || performance.now() - since < 1400) return list;
    }
    return this.#ask('streams');
  }

  /** Opens the event stream. If there is a credential, it gets a new ticket first, because each ticket is valid only once. */
  async #open(wanted) {
    const list = await this.#list();
    const pass = list.body.catalogue && this.#credential ? await this.#ask('tickets', 'POST') : list;
    if (!pass.body.catalogue && !pass.body.ticket) return this.#judge(pass);
    this.#catalogue = list.body.catalogue;
    this.#upstreams = list.body.upstreams;
    this.#listed = new Map(list.body.active.map((status) => [`${status.stream} ${status.id}`, { ...status, at: clock() }]));
    // An id is valid for the streams it was sent with. Streams that are to be added or removed are changed afterwards.
    const had = [...this.#reading];
    const resume = this.#lastID && had.some((name) => wanted.includes(name)) ? `&lastEventId=${this.#lastID}` : '';
    const path = `events?streams=${(resume ? had : wanted).map(encodeURIComponent)}&heartbeat=15&heartbeatEvent=true${resume}`;
    const source = (this.#source = new EventSource(new URL(pass === list ? path : `${path}&ticket=${pass.body.ticket}`, this.#base)));
    for (const event of eventNames) source.addEventListener(event, (message) => this.#hear(event, JSON.parse(message.data), message));
    source.onerror = async () => {
      const isRefused = source.readyState === EventSource.CLOSED;
      this.#reopen(isRefused ? 60_000 : soon(), !isRefused || this.#session ? 'lost' : '');
      // An EventSource does not report why it failed; a request does.
      if (isRefused) this.#judge(await this.#ask(`${path}&timeout=1`));
    };
    this.#expect();
  }

  #close(state, error, status) {
    this.#source?.close();
    clearTimeout(this.#timer);
    this.#source = undefined;
    this.#session = undefined;
    this.#timer = undefined;
    if (state) this.#become(state, error, status);
  }
  #wait(ms, run) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, ms);
  }
  /** Reconnects if not even a heartbeat arrives. */
  #expect() { this.#wait(40_000, () => this.#reopen()); }
  #reopen(ms = soon(), state = 'lost') {
    this.#close(state);
    this.#wait(ms, () => {
      this.#timer = undefined;
      this.#reconcile();
    });
  }

  /** Handles an unsuccessful response. @param {string[]} [names] the streams of a control request */
  #judge({ status, body: { streams = status === 400 ? names : undefined, detail } }, names) {
    for (const stream of streams ?? []) {
      this.#tell({ event: 'refused', data: { stream, error: detail } }, stream, 'wants');
      for (const part of [this.#reading, ...[...this.#tabs.values()].flatMap(({ wants, live }) => [wants, live])]) part.delete(stream);
    }
    // 409: the connection is still replaying missed events.
    if (names && (streams || [409, 429].includes(status))) return;
    if (streams || status >= 500 || [0, 200, 408, 429, names && 404].includes(status)) return this.#reopen(soon(streams && 100), streams ? '' : 'lost');
    this.#close('closed', detail ?? `The gateway answered ${status}.`, status);
  }

  /** Forgets all contents, and the id of the last event in them. */
  #forget() {
    this.#streams.clear();
    this.#broken.clear();
    this.#lastID = '';
  }

  #hear(event, data, { lastEventId }) {
    this.#expect();
    this.#lastID = lastEventId || this.#lastID;
    if (event === 'session') {
      this.#session = data;
      this.#reading = new Set(data.streams);
      this.#paused = new Set();
      if (data.resume !== 'exact') this.#forget();
      this.#unread = data.resume !== 'exact' ? 0 : data.replay ? Infinity : data.replayed;
    }
    if (data.stream) this.#keep(event, data, data.stream);
    else this.#tell({ event, data });
    if (event === 'bye') return this.#reopen(data.retryMs);
    const wasUnread = event === 'session' || this.#unread > 0;
    if (event === 'live') this.#unread = 0;
    else if (!['session', 'heartbeat'].includes(event)) this.#unread = Math.max(0, this.#unread - (event === 'gap' ? data.dropped : 1));
    const isReady = wasUnread && !this.#unread;
    if (isReady) this.#become('open');
    if (isReady || this.#broken.size) this.#reconcile();
  }
  /** Keeps a stream's data for tabs that start later, and passes it on. */
  #keep(event, data, name) {
    const { rule } = this.#streams.get(name) ?? { rule: ruleFor(this.#catalogue, name) };
    const stream = this.#streams.get(name) ?? { rule, content: new StreamContent(rule) };
    if (data.kind && stream.content.has(data)) return stream.isHeld && this.#tell({ event: 'status', data: { stream: name, state: data.state } }, name);
    const isWhole = event !== 'gap' && (!data.kind || stream.content.apply(data));
    // The gateway's content includes the dropped events, so it is requested again.
    if (!isWhole) stream.content = new StreamContent(rule);
    if ((!isWhole || stream.content.isThin) && this.#reading.has(name)) this.#broken.add(name);
    const listed = this.#listed.get(`${name} ${data.id}`) ?? { ageMs: 0, unverifiedMs: 0, at: clock() };
    if (data.kind && !('ageMs' in data)) Object.assign(data, later(listed, clock() - listed.at));
    if (typeof data.ageMs === 'number') Object.assign(stream, { at: clock(), data: { ...stream.data, ...data } });
    else if (data.state) stream.data = { ...stream.data, state: data.state };
    this.#streams.set(name, stream);
    if (isWhole || event === 'gap') this.#tell({ event, data, rule }, name);
  }
}

// A bundled copy of this module may run in an unrelated worker.
if (typeof SharedWorkerGlobalScope !== 'undefined' && globalThis.name?.startsWith(sharedName)) {
  const connection = new Connection();
  globalThis.onconnect = ({ ports: [port] }) => {
    port.onmessage = ({ data }) => connection.serve(port, data);
  };
}
