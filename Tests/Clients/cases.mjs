// Gives the cases to client.js, whose address is the first argument; prints a line for each that it fails.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

const { Feed, ruleFor, StreamContent } = await import(process.argv[2]);
const { contents, names, catalogue, feeds } = JSON.parse(readFileSync(new URL('cases.json', import.meta.url)));
for (const { name, stream, rule, steps } of contents) {
  const content = new StreamContent(ruleFor([rule], stream));
  steps.forEach(({ data, follows, value }, number) => {
    if (content.apply(data) !== follows) console.log(`${name}, step ${number + 1}: should ${follows ? '' : 'not '}follow`);
    if (!isDeepStrictEqual(content.value ?? null, value)) console.log(`${name}, step ${number + 1}: ${JSON.stringify(content.value)}`);
  });
}
for (const { name, pattern, fits } of names) if (!!ruleFor([{ pattern }], name) !== fits) console.log(`${name} and ${pattern}`);

// The feeds, against an EventSource and a fetch that do what the table says. Timers run fifty times as fast.
const startTimer = globalThis.setTimeout;
globalThis.setTimeout = (run, ms) => startTimer(run, ms / 50);
const pass = () => new Promise((done) => startTimer(done, 2));
async function until(condition) {
  for (let tries = 0; tries < 500; tries++) if (await pass(), condition()) return true;
  return false;
}
let [now, sources, reading, asked] = [{}, [], new Set(), []];
globalThis.EventSource = class extends EventTarget {
  static CLOSED = 2;
  readyState = 1;
  lastEventId = '';
  constructor(url) {
    super();
    this.url = new URL(url);
    sources.push(this);
    if (now.answers) startTimer(() => { this.readyState = 2; this.onerror(); });
  }
  close() { this.readyState = 2; }
  say({ event, data, id }) {
    if (id) this.lastEventId = id;
    this.dispatchEvent(Object.assign(new Event(event), { data: JSON.stringify(data), lastEventId: this.lastEventId }));
  }
};
globalThis.fetch = async (url) => {
  const [place, action, names] = [url.pathname.slice(1), url.pathname.split('/')[3], url.searchParams.get('streams')?.split(',')];
  if (place === 'streams') return Response.json({ catalogue, upstreams: [], active: now.active ?? [] });
  if (place === 'events') return new Response(null, { status: now.answers ?? 200 });
  asked.push(action);
  for (const name of names) reading[action === 'subscribe' ? 'add' : 'delete'](name);
  return Response.json({ client: 'c', streams: [...reading], paused: [] });
};

for (const { name, streams, steps } of feeds) {
  [now, sources, reading, asked] = [{}, [], new Set(streams), []];
  const [heard, resumes, asks] = [[], [null], []];
  const feed = new Feed(streams, { url: 'http://gateway.test/', shared: false });
  for (const event of ['session', 'update', 'fetch', 'recover', 'fail', 'connect', 'disconnect', 'status', 'gap', 'live', 'bye']) {
    feed.addEventListener(event, () => heard.push(event));
  }
  for (const [index, step] of steps.entries()) {
    const wrong = (what, ...shown) => console.log(`${name}, step ${index + 1}: ${what}`, ...shown.map((one) => JSON.stringify(one)));
    const { event, stream } = step;
    if (!await until(() => sources.length === resumes.length)) wrong('it does not connect');
    now = step;
    heard.length = 0;
    if (event === 'cut') sources.at(-1).onerror();
    else if (event === 'suspend' || event === 'resume') feed[event]();
    else sources.at(-1).say(step);
    await pass();
    if (!['cut', 'novelty', 'suspend', 'resume'].includes(event) && heard.includes(event) !== (step.told ?? true)) wrong('it tells', heard);
    if ('value' in step && !isDeepStrictEqual(feed.get(stream) ?? null, step.value)) wrong('it holds', feed.get(stream));
    const { state, age, unverified } = stream ? feed.status(stream) : {};
    if (step.state && state !== step.state) wrong('it is', state);
    for (const [ms, least] of [[age, step.ageMs], [unverified, step.unverifiedMs]]) {
      if (least !== undefined && !(ms >= least && ms < least + 1000)) wrong('it is as old as', ms);
    }
    asks.push(...step.asks ?? []);
    if (!await until(() => asked.length >= asks.length)) wrong('it asks for', asked);
    if (step.resumesFrom) resumes.push(step.resumesFrom);
    if (step.stops && !await until(() => feed.connection.state === 'closed')) wrong('it does not stop', feed.connection);
  }
  const resumed = sources.map(({ url }) => url.searchParams.get('lastEventId'));
  if (!isDeepStrictEqual(asked, asks)) console.log(`${name}: it asks for`, asked);
  if (!isDeepStrictEqual(resumed, resumes)) console.log(`${name}: it resumes from`, resumed);
  feed.close();
}

// What the module has stands in its declarations, and the other way round.
const text = readFileSync(new URL('../../clients/typescript/client.d.ts', import.meta.url), 'utf8');
for (const type of [Feed, StreamContent]) {
  const body = text.split(`export class ${type.name} `)[1].split('\n}')[0];
  const declared = [...body.matchAll(/^  (?:readonly )?(\w+)(?=[(<:?])/gm)].map(([, name]) => name);
  const own = [...Object.getOwnPropertyNames(type.prototype), ...(type === Feed ? ['isShared', 'addEventListener', 'removeEventListener'] : ['id'])];
  const odd = [...own.filter((name) => !declared.includes(name)), ...declared.filter((name) => !own.includes(name))];
  if (odd.length) console.log(`${type.name} is declared otherwise: ${odd}`);
}
process.exit();
