// What client.js makes of what a gateway says, with an EventSource and a fetch of the test's own: node --test Tests/Browser
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Feed } from '../../Sources/FuturesGateway/Web/client.js';

const turn = () => new Promise((done) => setTimeout(done, 5));

class Source extends EventTarget {
  static CLOSED = 2;
  static all = [];
  readyState = 1;
  constructor(url) { super(); this.url = String(url); Source.all.push(this); }
  close() { this.readyState = 2; }
  say(event, data, lastEventId = '') { this.dispatchEvent(Object.assign(new Event(event), { data: JSON.stringify(data), lastEventId })); }
  refuse() { this.readyState = 2; return this.onerror(); }
}
globalThis.EventSource = Source;

const upstreams = [{ name: 'demo', venue: 'aster', simulated: true }];
const list = { upstreams, catalogue: [{ pattern: '{symbol}@markPrice', merge: 'replace' }], active: [] };
const value = (more) => ({ stream: 'a@markPrice', id: 'e.1', kind: 'full', state: 'live', source: 'websocket', receivedAt: 1, content: { markPrice: '1' }, ...more });

/** Opens a feed; `answers` by the beginning of the path. */
async function open(names, answers = {}) {
  globalThis.fetch = async (url) => {
    const path = new URL(url).pathname.slice(1);
    const { status = 200, body } = answers[path] ?? { body: list };
    return { status, ok: status === 200, json: async () => body };
  };
  const states = [];
  const feed = new Feed(names, { url: 'http://gateway.example/', shared: false });
  feed.addEventListener('connection', ({ detail }) => states.push(detail.state));
  await turn();
  return { feed, states, source: Source.all.at(-1) };
}
const begin = async (source, names, resume = 'none') => { source.say('session', { client: 'c', streams: names, resume, replayed: 0, heartbeat: 15 }); await turn(); };

test('a cached value is as old, and as long unverified, as the gateway says, and both count up', async () => {
  const { feed, source } = await open(['a@markPrice']);
  await begin(source, ['a@markPrice']);
  source.say('update', value({ ageMs: 90_000, unverifiedMs: 7000 }));
  await turn();
  const { age, unverified } = feed.status('a@markPrice');
  assert.ok(age >= 90_000 && age < 91_000 && unverified >= 7000 && unverified < 8000, `${age} ${unverified}`);
  await turn();
  assert.ok(feed.status('a@markPrice').unverified > unverified);
  source.say('update', value({ id: 'e.2' }));
  await turn();
  assert.ok(feed.status('a@markPrice').unverified < 1000, 'what has just come is verified');
  source.say('status', { stream: 'a@markPrice', state: 'stale', ageMs: 5000, unverifiedMs: 4000 });
  await turn();
  assert.ok(feed.status('a@markPrice').unverified >= 4000 && feed.status('a@markPrice').state === 'stale');
  feed.close();
});

test('the sleep of the computer counts, and a wall clock that is set back does not', async () => {
  const { feed, source } = await open(['a@markPrice']);
  await begin(source, ['a@markPrice']);
  source.say('update', value({ ageMs: 0, unverifiedMs: 0 }));
  await turn();
  const today = Date.now;
  try {
    for (const [set, least, most] of [[-3_600_000, 0, 1000], [0, 3_600_000, 3_601_000], [60_000, 3_660_000, 3_661_000]]) {
      Date.now = () => today() + set;
      const { age, unverified } = feed.status('a@markPrice');
      assert.ok(age >= least && age < most && unverified >= least && unverified < most, `${set}: ${age} ${unverified}`);
    }
  } finally {
    Date.now = today;
  }
  source.say('update', value({ id: 'e.2', ageMs: 0, unverifiedMs: 0 }));
  await turn();
  assert.ok(feed.status('a@markPrice').age < 1000);
  feed.close();
});

test('what is replayed is as long unverified as was listed', async () => {
  const active = [{ stream: 'a@markPrice', id: 'e.5', state: 'live', ageMs: 30_000, unverifiedMs: 20_000 }];
  const { feed, source } = await open(['a@markPrice'], { streams: { body: { ...list, active } } });
  await begin(source, ['a@markPrice']);
  source.say('update', value({ id: 'e.5' }));
  await turn();
  const { age, unverified } = feed.status('a@markPrice');
  assert.ok(age >= 30_000 && unverified >= 20_000 && unverified < 21_000);
  feed.close();
});

test('the upstreams are told with the connection', async () => {
  const { feed, source } = await open(['a@markPrice']);
  await begin(source, ['a@markPrice']);
  assert.deepEqual(feed.connection.upstreams, upstreams);
  feed.close();
});

test('a stream that is refused at first is no lost connection', async () => {
  const answers = { events: { status: 404, body: { streams: ['nope'], detail: 'There is no such stream: nope.' } } };
  const { feed, states, source } = await open(['a@markPrice', 'nope'], answers);
  const refused = [];
  feed.addEventListener('refused', ({ detail }) => refused.push(detail));
  await source.refuse();
  await new Promise((done) => setTimeout(done, 200));
  await begin(Source.all.at(-1), ['a@markPrice']);
  assert.deepEqual(refused, [{ stream: 'nope', error: 'There is no such stream: nope.' }]);
  assert.deepEqual(states, ['connecting', 'open']);
  assert.deepEqual(feed.names, ['a@markPrice']);
  feed.close();
});

test('an open connection that is refused is lost', async () => {
  const { feed, states, source } = await open(['a@markPrice'], { events: { status: 502 } });
  await begin(source, ['a@markPrice']);
  await source.refuse();
  assert.equal(states.at(-1), 'lost');
  feed.close();
});

test('a store shows the same frozen value until something changes, and is told once a frame', async () => {
  const { feed, source } = await open(['a@markPrice']);
  const [store, told] = [feed.stream('a@markPrice'), []];
  const leave = store.subscribe((value) => told.push(value));
  assert.equal(feed.stream('a@markPrice'), store);
  assert.deepEqual([told.length, told[0].state, store.value === told[0], Object.isFrozen(store.value)], [1, 'connecting', true, true]);
  await begin(source, ['a@markPrice']);
  source.say('update', value());
  source.say('update', value({ id: 'e.2', content: { markPrice: '2' } }));
  await new Promise((done) => setTimeout(done, 50));
  assert.deepEqual([told.length, told.at(-1).content.markPrice, store.value === told.at(-1), store.value === store.value], [2, '2', true, true]);
  feed.pause();
  await new Promise((done) => setTimeout(done, 50));
  assert.equal(told.at(-1).paused, true);
  leave();
  await new Promise((done) => setTimeout(done, 1100));
  assert.deepEqual(feed.names, ['a@markPrice'], 'what was named is not a subscriber\'s to remove');
  feed.close();
});

test('a stream is read while somebody subscribes to it, and a moment longer', async () => {
  const { feed, source } = await open(['a@markPrice']);
  await begin(source, ['a@markPrice']);
  const store = feed.stream('b@markPrice');
  assert.deepEqual(feed.names, ['a@markPrice'], 'nobody looks yet');
  const run = () => {};
  const leaves = [store.subscribe(run), store.subscribe(run)];
  assert.deepEqual(feed.names, ['a@markPrice', 'b@markPrice']);
  leaves.forEach((leave) => leave());
  const again = store.subscribe(run);
  await new Promise((done) => setTimeout(done, 1100));
  assert.deepEqual(feed.names, ['a@markPrice', 'b@markPrice'], 'who mounts anew goes on');
  again();
  await new Promise((done) => setTimeout(done, 1100));
  assert.deepEqual(feed.names, ['a@markPrice']);
  feed.close();
});

test('a module that did not come from a gateway asks for the address of one', () => {
  assert.throws(() => new Feed(['a@markPrice']), /url/);
});

test('where there is no EventSource, as on a server that renders pages, a feed does nothing', () => {
  delete globalThis.EventSource;
  try {
    const feed = new Feed(['a@markPrice'], { url: 'http://gateway.example/' });
    assert.deepEqual([feed.stream('a@markPrice').value.state, feed.connection.state], ['connecting', 'connecting']);
    feed.close();
  } finally { globalThis.EventSource = Source; }
});

test('after a reset without a new id, the next connection begins with snapshots and not after the old id', async () => {
  const { feed, source } = await open(['a@markPrice']);
  await begin(source, ['a@markPrice']);
  source.say('update', value(), 'e.1.s');
  await turn();
  source.say('bye', { code: 'slow', reason: 'r', retryMs: 1 });
  await turn();
  await turn();
  const again = Source.all.at(-1);
  assert.match(again.url, /lastEventId=e\.1\.s/);
  await begin(again, ['a@markPrice'], 'reset');
  again.say('bye', { code: 'slow', reason: 'r', retryMs: 1 });
  await turn();
  await turn();
  assert.notEqual(Source.all.at(-1), again);
  assert.doesNotMatch(Source.all.at(-1).url, /lastEventId/);
  feed.close();
});

/** Opens a feed of trades that have begun; `answer` gives the status of a control request. Timers run thirty times as fast. */
async function trades(run, answer) {
  const [slow, asked] = [globalThis.setTimeout, []];
  const name = 'a@aggTrade';
  const { feed, source } = await open([name], { streams: { body: { ...list, catalogue: [{ pattern: '{symbol}@aggTrade', merge: 'append', keep: 9 }] } } });
  const asList = globalThis.fetch;
  globalThis.fetch = async (url, options) => {
    const action = new URL(url).pathname.split('/')[3];
    if (!action) return asList(url, options);
    asked.push(action);
    const status = await answer(action, asked);
    return { status, ok: status === 200, json: async () => ({ streams: action === 'unsubscribe' ? [] : [name], paused: action === 'pause' ? [name] : [] }) };
  };
  globalThis.setTimeout = (run, ms) => slow(run, ms / 30);
  try {
    await begin(source, [name]);
    source.say('update', { stream: name, id: 'e.1', kind: 'full', state: 'live', content: [{ id: 1 }] }, 'e.1.x');
    await turn();
    await run({ feed, source, asked, name, until: async (done) => { for (let tries = 0; tries < 400 && !done(); tries++) await new Promise((go) => slow(go, 5)); } });
  } finally {
    feed.close();
    globalThis.setTimeout = slow;
  }
}

test('after a gap there is no content, and a refused unsubscription is repeated without a new change', () => trades(async ({ feed, source, asked, name, until }) => {
  source.say('gap', { stream: name, dropped: 3 });
  await turn();
  assert.deepEqual([feed.get(name), feed.status(name).state], [undefined, 'connecting']);
  await until(() => asked.includes('subscribe'));
  assert.deepEqual(asked, ['unsubscribe', 'unsubscribe', 'subscribe']);
}, (action, asked) => (asked.length === 1 ? 429 : 200)));

test('a stream that was to begin anew when the connection was cut begins anew after an exact resume', () => {
  let cut;
  return trades(async ({ source, asked, name, until }) => {
    source.say('gap', { stream: name, dropped: 3 });
    await until(() => asked.length === 1);
    source.onerror();
    cut(0);
    await until(() => Source.all.at(-1) !== source);
    await begin(Source.all.at(-1), [name], 'exact');
    await until(() => asked.includes('subscribe'));
    assert.deepEqual(asked, ['unsubscribe', 'unsubscribe', 'subscribe']);
  }, (action, asked) => (asked.length === 1 ? new Promise((done) => { cut = done; }) : 200));
});

test('what was paused is not live before the gateway sends it again, even if it has not changed', () => trades(async ({ feed, source, asked, name, until }) => {
  const states = [];
  for (const event of ['update', 'status']) feed.addEventListener(event, ({ detail }) => states.push(detail.state));
  feed.pause(name);
  await until(() => asked.includes('pause'));
  feed.resume(name);
  await until(() => asked.includes('resume'));
  assert.deepEqual([states, feed.status(name).state], [['recovering'], 'recovering']);
  source.say('update', { stream: name, id: 'e.1', kind: 'full', state: 'live', content: [{ id: 1 }] }, 'e.1.x');
  await turn();
  assert.deepEqual([states, feed.status(name).state, feed.get(name)], [['recovering', 'live'], 'live', [{ id: 1 }]]);
}, () => 200));

/** Locks as in a browser: one holder of each name, which another may rob. */
class Locks {
  #held = new Map();
  #waiting = new Map();
  async request(name, ...rest) {
    const [work, { steal, signal } = {}] = [rest.at(-1), rest.length > 1 ? rest[0] : {}];
    const thief = this.#held.get(name);
    if (thief && !steal) {
      await new Promise((go, stop) => {
        signal?.addEventListener('abort', () => stop(new Error('aborted')));
        this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), go]);
      });
    }
    let rob;
    const robbed = new Promise((_, stop) => { rob = stop; });
    if (steal) thief?.(new Error('robbed'));
    this.#held.set(name, rob);
    return Promise.race([work(), robbed]);
  }
}

/** Two tabs of another origin that have begun: the first one leads. `hang` stops its channels, or lets them go on. Timers run forty times as fast. */
async function twoTabs(run) {
  const [slow, Channel, channels, name] = [globalThis.setTimeout, globalThis.BroadcastChannel, [], 'a@markPrice'];
  Object.defineProperty(globalThis, 'navigator', { value: { locks: new Locks() }, configurable: true });
  let isHung = false;
  // All channels but the two of the second tab are the first one's.
  const isOwn = (channel) => ![channels[2], channels[3]].includes(channel);
  globalThis.BroadcastChannel = class extends Channel {
    constructor(name) { super(name); channels.push(this); this.unref?.(); }
    postMessage(message) { if (!isHung || !isOwn(this)) super.postMessage(message); }
    set onmessage(hear) { super.onmessage = (message) => { if (!isHung || !isOwn(this)) hear(message); }; }
  };
  await open([name]).then(({ feed }) => feed.close());
  const begun = Source.all.length;
  globalThis.setTimeout = (run, ms) => slow(run, ms / 40);
  const tabs = [0, 1].map(() => new Feed([name], { url: 'http://gateway.example/', pauseWhenHidden: false }));
  const wait = (ms) => new Promise((go) => slow(go, ms));
  const until = async (done) => { for (let tries = 0; tries < 400 && !done(); tries++) await wait(5); };
  try {
    await until(() => Source.all.length > begun);
    await begin(Source.all.at(-1), [name]);
    Source.all.at(-1).say('update', value({}), 'e.1.x');
    await until(() => tabs[1].status(name).state === 'live');
    await run({ follower: tabs[1], source: Source.all.at(-1), name, wait, until, hang: (now) => { isHung = now; }, opened: () => Source.all.length - begun });
  } finally {
    for (const tab of tabs) tab.close();
    for (const channel of channels) channel.close();
    [globalThis.setTimeout, globalThis.BroadcastChannel] = [slow, Channel];
    delete globalThis.navigator;
  }
}

test('a tab whose leader hangs is lost within 40 s, and then leads', () => twoTabs(async ({ follower, source, name, wait, until, hang, opened }) => {
  // Heartbeats keep it live.
  for (let beats = 0; beats < 4; beats++) {
    await wait(400);
    source.say('heartbeat', {});
  }
  await wait(50);
  assert.deepEqual([follower.status(name).state, opened()], ['live', 1]);
  hang(true);
  await until(() => opened() === 2);
  assert.deepEqual([follower.status(name).state, opened()], ['lost', 2]);
  await begin(Source.all.at(-1), [name]);
  Source.all.at(-1).say('update', value({ id: 'e.2', content: { markPrice: '2' } }), 'e.2.x');
  await until(() => follower.status(name).state === 'live');
  assert.deepEqual(follower.get(name), { markPrice: '2' });
}));

test('a hidden tab whose leader hangs is lost, and live with the newest content when the leader continues', async () => {
  globalThis.document = Object.assign(new EventTarget(), { visibilityState: 'hidden' });
  await twoTabs(async ({ follower, source, name, until, hang, opened }) => {
    hang(true);
    // The leader's own connection stays alive.
    await until(() => source.say('heartbeat', {}) || follower.status(name).state === 'lost');
    source.say('update', value({ id: 'e.2', content: { markPrice: '2' } }), 'e.2.x');
    hang(false);
    source.say('heartbeat', {});
    await until(() => follower.status(name).state === 'live');
    assert.deepEqual([follower.status(name).state, follower.get(name), opened()], ['live', { markPrice: '2' }, 1]);
  }).finally(() => delete globalThis.document);
});

test('a tab that wakes shows no stream as live that its shared connection has dropped', () => twoTabs(async ({ follower, name, until, opened }) => {
  const other = 'b@markPrice';
  let [reading, isFull] = [[name], false];
  globalThis.fetch = async (url) => {
    const { pathname, searchParams } = new URL(url);
    const [action, names] = [pathname.split('/')[3], searchParams.get('streams')?.split(',')];
    const isRefused = action === 'subscribe' && isFull;
    if (action === 'subscribe' && !isFull) reading = [...reading, ...names];
    if (action === 'unsubscribe') reading = reading.filter((one) => !names.includes(one));
    return { status: isRefused ? 429 : 200, ok: !isRefused, json: async () => (action ? { streams: reading, paused: [] } : list) };
  };
  follower.add(other);
  await until(() => reading.includes(other));
  Source.all.at(-1).say('update', value({ stream: other, id: 'e.2' }), 'e.2.y');
  await until(() => follower.status(other).state === 'live');
  follower.suspend();
  await until(() => !reading.includes(other));
  isFull = true;
  follower.resume();
  await until(() => opened() === 2);
  await begin(Source.all.at(-1), [name], 'exact');
  await until(() => follower.connection.state === 'open');
  assert.deepEqual([name, other].map((one) => follower.status(one).state), ['live', 'lost']);
  isFull = false;
  await until(() => reading.includes(other));
  Source.all.at(-1).say('update', value({ stream: other, id: 'e.3' }), 'e.3.y');
  await until(() => follower.status(other).state === 'live');
  assert.equal(follower.status(other).state, 'live');
}));

test('a status without ages leaves them as they are', async () => {
  const { feed, source } = await open(['a@markPrice']);
  await begin(source, ['a@markPrice']);
  source.say('update', value({ ageMs: 90_000, unverifiedMs: 70_000 }));
  source.say('status', { stream: 'a@markPrice', state: 'stale', ageMs: null, unverifiedMs: null });
  await turn();
  const { state, age, unverified } = feed.status('a@markPrice');
  assert.ok(state === 'stale' && age >= 90_000 && unverified >= 70_000, `${state} ${age} ${unverified}`);
  feed.close();
});
