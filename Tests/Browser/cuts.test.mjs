// client.js under two hundred cuts, each at a byte that dice choose: node --test Tests/Browser (SEED=N repeats a run)
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Feed } from '../../Sources/FuturesGateway/Web/client.js';

const cuts = 200;
const [trades, marks] = ['a@aggTrade', '!markPrice@arr'];
const catalogue = [{ pattern: '{symbol}@aggTrade', merge: 'append', keep: 100 }, { pattern: '!markPrice@arr', merge: 'byKey', key: 'symbol' }];

/** Numbers from 0 up to 1, the same for a seed (mulberry32). */
function dice(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A gateway that keeps its newest four hundred events, and begins a new epoch now and then. */
class Gateway {
  epoch = 0; number = 0; log = []; rows = []; prices = new Map(); sessions = []; #roll;
  constructor(roll) { this.#roll = roll; for (let count = 0; count < 40; count++) this.happen(); }

  id(number) { return `e${this.epoch}.${number.toString(36)}`; }
  happen() {
    const number = ++this.number;
    const isTrade = this.#roll() < 0.7;
    const content = isTrade ? [{ id: (this.rows.at(-1)?.id ?? 0) + 1 }] : [{ symbol: `S${Math.floor(this.#roll() * 9)}`, price: String(number) }];
    if (isTrade) this.rows = [...this.rows, ...content].slice(-100);
    else this.prices.set(content[0].symbol, content[0]);
    this.log = [...this.log, { number, stream: isTrade ? trades : marks, content }].slice(-400);
    return this.log.at(-1);
  }
  text(event, data, id) { return `event: ${event}\ndata: ${JSON.stringify(data)}\n${id ? `id: ${id}\n` : ''}\n`; }
  /** Not every event is a point to resume from, so some come twice. */
  update({ number, stream, content }) {
    const data = { stream, id: this.id(number), kind: 'delta', state: 'live', source: 'websocket', content };
    return this.text('update', data, number % 3 === 0 && this.id(number));
  }

  /** What a reader is sent, part by part, without an end. */
  * serve(last) {
    for (let count = this.#roll() * 40; count > 0; count--) this.happen();
    if (this.#roll() < 0.05) { this.epoch++; this.log = []; }
    const [epoch, number] = last?.split('.') ?? [];
    const from = parseInt(number, 36);
    const isExact = epoch === `e${this.epoch}` && from >= (this.log[0]?.number ?? Infinity) - 1;
    const resume = !last ? 'none' : isExact ? 'exact' : 'reset';
    this.sessions.push(resume);
    const missed = isExact ? this.log.filter((event) => event.number > from) : [];
    yield this.text('session', { client: 'c', streams: [trades, marks], resume, replayed: missed.length, heartbeat: 15 });
    if (!isExact) {
      const full = { id: this.id(this.number), kind: 'full', state: 'live', source: 'websocket' };
      yield this.text('update', { ...full, stream: trades, content: this.rows });
      yield this.text('update', { ...full, stream: marks, content: [...this.prices.values()] }, this.id(this.number));
    }
    for (const event of missed) yield this.update(event);
    for (;;) yield this.update(this.happen());
  }
}

test('a reader that is cut at any byte goes on exactly, or is told that it did not', async () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));
  console.log(`# seed ${seed}`);
  const roll = dice(seed);
  const [gateway, startTimer] = [new Gateway(roll), globalThis.setTimeout];
  let [connections, finish] = [0, undefined];
  const done = new Promise((resolve) => { finish = resolve; });
  const natives = ['EventSource', 'fetch', 'setTimeout'].map((name) => [name, globalThis[name]]);
  globalThis.fetch = async () => Response.json({ catalogue, upstreams: [], active: [] });
  // It waits some seconds after a cut; here a hundredth of them.
  globalThis.setTimeout = (run, ms) => startTimer(run, ms / 100);
  globalThis.EventSource = class extends EventTarget {
    static CLOSED = 2;
    readyState = 1;
    constructor(url) {
      super();
      this.last = new URL(url).searchParams.get('lastEventId') ?? '';
      startTimer(() => this.#read());
    }
    close() { this.readyState = 2; }
    /** As a browser does: an event counts when its empty line has come, and its id with it. */
    #read() {
      connections++;
      const isLast = connections > cuts;
      let room = isLast ? 20_000 : Math.floor(roll() * 12_000);
      let text = '';
      for (const part of gateway.serve(this.last)) {
        text += isLast ? part : part.slice(0, room);
        room -= part.length;
        if (room <= 0) break;
      }
      const whole = text.split('\n\n').slice(0, -1);
      for (const event of whole) {
        const fields = Object.fromEntries(event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
        if (fields.id) this.last = fields.id;
        this.dispatchEvent(Object.assign(new Event(fields.event), { data: fields.data, lastEventId: this.last }));
      }
      if (isLast) return finish();
      this.readyState = 0;
      return this.onerror();
    }
  };
  const feed = new Feed([trades, marks], { url: 'http://gateway.test/', shared: false });
  const told = [];
  let [last, updates] = [undefined, 0];
  feed.addEventListener('session', ({ detail }) => { told.push(detail.resume); if (detail.resume !== 'exact') last = undefined; });
  feed.addEventListener('update', ({ detail }) => {
    if (detail.stream !== trades) return;
    updates++;
    const ids = feed.get(trades).map(({ id }) => id);
    assert.ok(ids.every((id, index) => index === 0 || id === ids[index - 1] + 1), `a trade is missing or there twice: ${ids.slice(-30)}`);
    assert.ok(last === undefined || ids.at(-1) > last, `${ids.at(-1)} after ${last}`);
    assert.ok(last === undefined || ids[0] <= last + 1, `nobody told of the trades from ${last} to ${ids[0]}`);
    last = ids.at(-1);
  });
  const failures = [];
  // What a listener throws is reported as uncaught, later.
  const note = (error) => failures.push(error);
  process.on('uncaughtException', note);
  try {
    await done;
    assert.deepEqual(feed.get(trades), gateway.rows);
    assert.deepEqual(new Map(feed.get(marks).map((row) => [row.symbol, row])), gateway.prices);
  } finally {
    process.off('uncaughtException', note);
    feed.close();
    for (const [name, native] of natives) globalThis[name] = native;
  }
  assert.deepEqual(failures, []);
  const count = (resume) => gateway.sessions.filter((one) => one === resume).length;
  console.log(`# ${cuts} cuts: ${count('exact')} resumed exactly, ${count('reset')} told as reset, ${updates} updates of trades`);
  assert.equal(connections, cuts + 1);
  assert.ok(count('exact') > cuts / 3 && count('reset') > 0 && updates > 500, 'the run shows too little');
  // A session that was cut off before its empty line was told to nobody.
  assert.ok(told.length > cuts / 2 && told.every((resume) => gateway.sessions.includes(resume)));
});
