// The examples of docs/read/browser.md for React, Vue and Svelte, run as they stand there: node --test Tests/Browser
// React is Debian's node-react-test-renderer or what npm installed. Vue is what npm installed, or the ES module that VUE names. Svelte compiles its
// components, so here is what it does with `$book`: the store contract that svelte.dev documents.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { Feed } from '../../Sources/FuturesGateway/Web/client.js';

const document = readFileSync(new URL('../../docs/read/browser.md', import.meta.url), 'utf8');
const example = (framework) => new RegExp(`// ${framework}\\b.*\\n([^]*?)\\n(?:\\n//|\`\`\`)`).exec(document)[1];
const book = 'btcusdt@depth';
const levels = (price) => ({ lastUpdateId: Number(price), bids: [[price, '1']], asks: [['999', '1']] });
const drawn = () => new Promise((done) => setTimeout(done, 60));

// Debian's packages are there; its own node looks there by itself.
process.env.NODE_PATH ??= '/usr/share/nodejs';
Module._initPaths();
function real(name) {
  try { return createRequire(import.meta.url)(name); } catch (error) { if (error.code !== 'MODULE_NOT_FOUND') throw error; }
  return undefined;
}

/** A feed whose gateway says what the test has it say. */
async function open() {
  let source;
  globalThis.EventSource = class extends EventTarget {
    static CLOSED = 2;
    readyState = 1;
    constructor() { super(); source = this; }
    close() { this.readyState = 2; }
  };
  const say = (event, data) => source.dispatchEvent(Object.assign(new Event(event), { data: JSON.stringify(data), lastEventId: '' }));
  globalThis.fetch = async (url) => Response.json(url.pathname === '/streams'
    ? { catalogue: [{ pattern: '{symbol}@depth', merge: 'book', keep: 1000 }], upstreams: [], active: [] }
    : { client: 'c', streams: [book, 'a@depth'], paused: [] });
  const feed = new Feed([book], { url: 'http://gateway.test/', shared: false });
  await drawn();
  say('session', { client: 'c', streams: [book], resume: 'none', replayed: 0, heartbeat: 15 });
  const send = (number, price, stream = book) => say('update', { stream, id: `e.${number}`, kind: 'full', state: 'live', source: 'websocket', content: levels(price) });
  return { feed, send };
}

test('the React example shows what comes, once a frame, and leaves the stream when it is unmounted', async (context) => {
  const [react, renderer] = [real('react'), real('react-test-renderer')];
  if (!react || !renderer) return context.skip('react and react-test-renderer are not installed (apt-get install node-react-test-renderer)');
  globalThis.IS_REACT_ACT_ENVIRONMENT = true;
  const { feed, send } = await open();
  const useStream = new Function('feed', 'useSyncExternalStore', `${example('React')}\nreturn useStream;`)(feed, react.useSyncExternalStore);
  let renders = 0;
  const Price = ({ name }) => {
    const { content, state } = useStream(name);
    renders++;
    return `${state} ${content?.bids[0][0] ?? '–'}`;
  };
  const { act } = renderer;
  let tree;
  await act(async () => { tree = renderer.create(react.createElement(Price, { name: book })); });
  assert.equal(tree.toJSON(), 'connecting –');
  await act(async () => { send(1, '100'); send(2, '101'); await drawn(); });
  assert.equal(tree.toJSON(), 'live 101');
  const before = renders;
  await act(async () => { await drawn(); });
  assert.equal(renders, before, 'nothing came, and it renders');
  await act(async () => { tree.update(react.createElement(Price, { name: 'a@depth' })); });
  assert.ok(feed.names.includes('a@depth'), 'another stream is asked for');
  await act(async () => { tree.unmount(); });
  await new Promise((done) => setTimeout(done, 1100));
  assert.deepEqual(feed.names, [book], 'what nobody shows is left');
  feed.close();
  return undefined;
});

test('the Vue example shows what comes, and leaves the stream with its scope', async (context) => {
  const vue = process.env.VUE ? await import(pathToFileURL(process.env.VUE)) : real('vue');
  if (!vue?.effectScope) return context.skip('vue 3 is not installed (npm install vue, or VUE=…/vue.esm-browser.js)');
  const { feed, send } = await open();
  const useStream = new Function('feed', 'shallowRef', 'onScopeDispose', `${example('Vue')}\nreturn useStream;`)(feed, vue.shallowRef, vue.onScopeDispose);
  const scope = vue.effectScope();
  const shown = [];
  scope.run(() => {
    const value = useStream('a@depth');
    vue.watchEffect(() => shown.push(`${value.value.state} ${value.value.content?.bids[0][0] ?? '–'}`), { flush: 'sync' });
  });
  await drawn();
  send(1, '100', 'a@depth');
  await drawn();
  assert.deepEqual([shown[0], shown.at(-1)], ['connecting –', 'live 100']);
  assert.ok(feed.names.includes('a@depth'));
  scope.stop();
  const before = shown.length;
  send(2, '101', 'a@depth');
  await new Promise((done) => setTimeout(done, 1100));
  assert.equal(shown.length, before, 'a scope that has ended is told');
  assert.deepEqual(feed.names, [book], 'what nobody shows is left');
  feed.close();
  return undefined;
});

test('the Svelte example is a store: told at once, told of changes, and no more when it has left', async () => {
  const { feed, send } = await open();
  const store = new Function('feed', `${example('Svelte')}\nreturn book;`)(feed);
  // What `$book` becomes: one subscription with the component, whose value each change replaces.
  let $book;
  const leave = store.subscribe((value) => { $book = value; });
  assert.equal($book.state, 'connecting', 'subscribe calls at once');
  send(1, '100');
  await drawn();
  assert.equal($book.content?.bids[0][0], '100');
  assert.ok(typeof leave === 'function' || typeof leave.unsubscribe === 'function');
  leave();
  send(2, '101');
  await drawn();
  assert.equal($book.content.bids[0][0], '100');
  feed.close();
});
