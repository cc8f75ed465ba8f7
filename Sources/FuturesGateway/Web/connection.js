// The connection that all tabs of an origin share: this file is the script of a SharedWorker, or runs in the tab where that cannot be.

import { StreamContent, ruleFor } from './content.js';

const eventNames = ['session', 'update', 'fetch', 'recover', 'fail', 'connect', 'disconnect', 'status', 'gap', 'bye'];
const soon = (ms = 2000) => ms * (0.75 + Math.random() / 2);
const isPassing = ({ status, headers }) =>
  status === 200 ? headers.get('Content-Type')?.startsWith('text/event-stream') : status >= 500 || status === 408 || status === 429;

/** The one connection to a gateway, and the tabs that share it. */
class Hub {
  #base; #ports = new Map(); #streams = new Map(); #catalogue; #source; #session; #reading = new Set(); #pausedThere = new Set();
  #lastID; #asked; #busy = false; #timer; #connection = { state: 'connecting' }; #heardAt = 0; #refused = new Map();

  constructor(base) {
    this.#base = base;
    setInterval(() => this.#watch(), 5000);
  }

  join(port) {
    this.#ports.set(port, { wants: new Set(), live: new Set(), synced: new Set() });
    port.onmessage = ({ data }) => (data.bye ? this.#leave(port) : this.#want(port, data));
    port.postMessage({ connection: this.#connection });
  }

  #want(port, { wants, paused, hidden, lock, retry }) {
    const tab = this.#ports.get(port) ?? { synced: new Set() };
    // A port does not tell that its tab is gone, but the tab's lock becomes free.
    if (lock) navigator.locks.request(lock, () => this.#leave(port));
    tab.wants = new Set(wants);
    tab.live = new Set(hidden ? [] : wants.filter((name) => !paused.includes(name)));
    for (const name of tab.synced) if (!tab.live.has(name)) tab.synced.delete(name);
    this.#ports.set(port, tab);
    if (retry) {
      this.#refused.clear();
      if (this.#connection.state === 'closed') this.#reopen(0);
    }
    for (const name of wants) if (this.#refused.has(name)) port.postMessage({ refused: name, error: this.#refused.get(name) });
    for (const name of tab.live) this.#bringUp(port, tab, name);
    this.#reconcile();
  }

  #bringUp(port, tab, name) {
    const stream = this.#streams.get(name);
    if (tab.synced.has(name) || !stream?.content.value) return;
    const { content, state, at } = stream;
    port.postMessage({
      event: 'update', rule: stream.rule, ageMs: performance.now() - at,
      data: { stream: name, id: content.id, kind: 'full', state, content: content.value },
    });
    tab.synced.add(name);
  }

  #leave(port) {
    this.#ports.delete(port);
    this.#reconcile();
  }

  #tell(message) { for (const port of this.#ports.keys()) port.postMessage(message); }

  #become(state, error) {
    this.#connection = { state, error, client: this.#session?.client };
    this.#tell({ connection: this.#connection });
  }

  #union(part) { return new Set([...this.#ports.values()].flatMap((tab) => [...tab[part]]).filter((name) => !this.#refused.has(name))); }

  /** Brings what the server sends to what the tabs want, one control request after the other. */
  async #reconcile() {
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (let step; (step = this.#nextStep());) await step();
    } finally { this.#busy = false; }
  }

  #nextStep() {
    const [wanted, live] = [this.#union('wants'), this.#union('live')];
    for (const name of this.#streams.keys()) if (!wanted.has(name)) this.#streams.delete(name);
    if (!wanted.size) {
      this.#close();
      return undefined;
    }
    if (!this.#source && !this.#timer && this.#connection.state !== 'closed') return () => this.#open([...wanted]);
    if (!this.#session) return undefined;
    const [reading, paused] = [[...this.#reading], this.#pausedThere];
    const steps = {
      unsubscribe: reading.filter((name) => !wanted.has(name) || this.#streams.get(name)?.isBroken),
      subscribe: [...wanted].filter((name) => !this.#reading.has(name)),
      pause: reading.filter((name) => !live.has(name) && !paused.has(name)),
      resume: reading.filter((name) => live.has(name) && paused.has(name)),
    };
    const step = Object.keys(steps).find((step) => steps[step].length);
    return step && (() => this.#control(step, steps[step]));
  }

  async #control(action, names) {
    const session = this.#session;
    const path = `events/${session.client}/${action}?streams=${names.map(encodeURIComponent)}`;
    const answer = await this.#fetch(path, { method: 'POST' }).catch(() => undefined);
    if (session !== this.#session) return;
    if (answer?.ok) {
      const { streams, paused } = await answer.json();
      [this.#reading, this.#pausedThere] = [new Set(streams), new Set(paused)];
      for (const name of action === 'unsubscribe' ? names : []) this.#streams.delete(name);
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

  #fetch(path, options) { return fetch(new URL(path, this.#base), { signal: AbortSignal.timeout(10_000), ...options }); }

  async #open(names) {
    if (!this.#catalogue && !(await this.#learn())) return this.#reopen();
    // Whoever has nothing of a stream yet needs its full value, not what came since.
    const isKnown = names.every((name) => this.#streams.get(name)?.content.value);
    const resume = this.#lastID && isKnown ? `&lastEventId=${this.#lastID}` : '';
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
    if (source !== this.#source) return;
    const wanted = this.#union('wants');
    if (source.readyState !== EventSource.CLOSED) {
      // The browser comes back by itself, but with the streams it was opened with.
      const isSame = wanted.size === this.#asked.names.length && this.#asked.names.every((name) => wanted.has(name));
      if (!isSame) return this.#reopen();
      this.#session = undefined;
      return this.#become('lost');
    }
    // An EventSource does not tell why it gave up; a request does.
    const path = this.#asked.path;
    this.#reopen(60_000);
    const stop = new AbortController();
    const answer = await fetch(new URL(path, this.#base), { headers: { Accept: 'text/event-stream' }, signal: stop.signal }).catch(() => undefined);
    const problem = answer?.status >= 400 ? await answer.json().catch(() => ({})) : {};
    stop.abort();
    if (problem.streams) this.#refuse(problem.streams, problem.detail);
    else if (answer && !isPassing(answer)) {
      this.#close();
      return this.#become('closed', problem.detail ?? `The gateway answers ${answer.status} ${answer.statusText}.`);
    }
    this.#reopen();
  }

  #hear(event, data, lastID) {
    this.#heardAt = performance.now();
    if (lastID) this.#lastID = lastID;
    if (event === 'session') {
      this.#session = data;
      [this.#reading, this.#pausedThere] = [new Set(data.streams), new Set()];
      if (data.resume !== 'exact') {
        this.#streams.clear();
        for (const tab of this.#ports.values()) tab.synced.clear();
      }
      this.#become('open');
      this.#learn();
      this.#reconcile();
    }
    const name = data.stream;
    if (!name) return this.#tell({ event, data });
    const stream = this.#streams.get(name) ?? this.#makeStream(name);
    if (event === 'update' || event === 'fetch') {
      if (!stream.content.apply(data)) {
        stream.isBroken = true;
        return this.#reconcile();
      }
      stream.at = this.#heardAt;
      stream.isBroken ||= stream.content.isThin;
    }
    // What was left out is in the gateway's content, so that is asked for anew.
    if (event === 'gap') stream.isBroken = true;
    if (event === 'status' && data.ageMs !== null) stream.at = this.#heardAt - data.ageMs;
    stream.state = data.state ?? stream.state;
    for (const [port, tab] of this.#ports) {
      if (!tab.live.has(name)) continue;
      if (data.kind) tab.synced.add(name);
      port.postMessage({ event, data, rule: stream.rule, ageMs: this.#heardAt - stream.at });
    }
    if (stream.isBroken) this.#reconcile();
  }

  #makeStream(name) {
    const rule = ruleFor(this.#catalogue ?? [], name);
    const stream = { rule, content: new StreamContent(rule), state: 'connecting', at: performance.now(), isBroken: false };
    this.#streams.set(name, stream);
    return stream;
  }

  /** Reads the merge rules, and how old what was cached really is. */
  async #learn() {
    const answer = await this.#fetch('streams').then((answer) => answer.json()).catch(() => undefined);
    if (!answer?.catalogue) return false;
    this.#catalogue = answer.catalogue;
    for (const { stream, id, state, ageMs } of answer.active) {
      if (id && this.#streams.get(stream)?.content.id === id) this.#hear('status', { stream, state, ageMs });
    }
    return true;
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

const hubs = new Map();

/** Lets a tab in. The first message says which gateway; later ones what the tab wants. @param {MessagePort} port */
export function accept(port) {
  port.onmessage = ({ data: { base } }) => {
    // Not every browser has it in workers.
    if (typeof EventSource === 'undefined') return port.postMessage({ alone: true });
    if (!hubs.has(base)) hubs.set(base, new Hub(base));
    hubs.get(base).join(port);
  };
}

if (typeof SharedWorkerGlobalScope !== 'undefined') globalThis.onconnect = ({ ports: [port] }) => accept(port);
