// The page that a trader keeps open: it connects the state to the panels, and redraws changes at most five times a second.

import { Access } from './access.js';
import { Alarm } from './alarm.js';
import { Alerts } from './alerts.js';
import { Candles } from './candles.js';
import { $, set } from './dom.js';
import { age } from './format.js';
import { Freshness } from './freshness.js';
import { agreeing, judge, lines } from './health.js';
import { Instrument } from './instrument.js';
import { Keys } from './keys.js';
import { Ladder } from './ladder.js';
import { Log } from './log.js';
import { Markets } from './markets.js';
import { Picker } from './picker.js';
import { Streams } from './streams.js';
import { Trades } from './trades.js';
import { View } from './view.js';
import { showStar, Watchlist } from './watchlist.js';

const access = new Access((key) => { farewell = undefined; feed.retry(key); alerts.retry(key); begin(); });
const view = new View(access.key);
const { feed } = view;
const freshness = new Freshness(feed);
const log = new Log($('log'));
const watchlist = new Watchlist();
const alerts = new Alerts(access.key);
const alarm = new Alarm(alerts, view, log);
const markets = new Markets(view, freshness, watchlist);
const picker = new Picker(view, freshness, markets, watchlist);
const panels = {
  instrument: new Instrument(view, freshness), candles: new Candles(view, freshness, alerts), ladder: new Ladder(view, freshness),
  trades: new Trades(view, freshness), markets, picker, streams: new Streams(view, freshness, log),
};
let farewell;
let isFirst = true;
let ready = '';
let reason = '';
let troubleSince;

// All panels that show a change redraw it together.
const due = new Set();
let isPlanned = false;
function plan(...names) {
  for (const name of names) due.add(name);
  if (isPlanned) return;
  isPlanned = true;
  setTimeout(() => requestAnimationFrame(() => {
    isPlanned = false;
    const now = [...due];
    due.clear();
    view.settle();
    for (const name of now) if (view.symbol || name === 'streams') panels[name].show();
    showHealth();
  }), 200);
}
const planAll = () => plan(...Object.keys(panels));

// The gateway polls these; their ages are shown in the list of streams.
const isPolled = (name) => /^!funding|@(openInterest|fundingRate|longShortRatio)/.test(name);

const panelsOf = (name) => {
  const { streams } = view;
  if (name === streams.book) return ['ladder'];
  if (name === streams.bars) return ['candles'];
  // Three panels show the last price, and all show the same one.
  if (name === streams.trades) return ['trades', 'instrument', 'candles', 'markets'];
  if (name === streams.liquidations) return ['trades', 'candles'];
  return ['markets', 'instrument', 'candles', 'picker'];
};
alerts.addEventListener('change', () => plan('candles'));
view.addEventListener('news', ({ detail }) => plan(...panelsOf(detail)));
view.addEventListener('unlisted', ({ detail }) => log.say('bad', 'Not listed', `${detail.toUpperCase()} is not a symbol of this venue.`));
view.addEventListener('change', () => { remember(); planAll(); });

// The URL contains the view, so that it can be bookmarked and shared.
const remember = () => history.replaceState(null, '', `#${view.address}`);

function showHealth() {
  const shown = feed.names.map((name) => ({ name, ...freshness.look(name) }));
  const { state } = feed.connection;
  const { level, word, detail } = judge({ connection: state, shown: shown.filter(({ name }) => !isPolled(name)).map((look) => look.shown), refused: refused(),
    isAsking: access.isAsking, lines: standing(), ready });
  const isTrouble = ['bad', 'warn'].includes(level);
  troubleSince = isTrouble ? troubleSince ?? performance.now() : undefined;
  if (!isTrouble) reason = '';
  document.body.dataset.level = level;
  Object.assign($('connection').dataset, { state, level });
  set($('connection'), word);
  const lasting = isTrouble && !access.isAsking ? `for ${age(performance.now() - troubleSince)}` : '';
  set($('health'), [lasting, detail, level === 'bad' && state === 'open' ? reason : ''].filter(Boolean).join(' · '));
  $('health').title = $('health').textContent;
  showStanding(word);
  const verified = shown.filter(({ name, shown, unverified }) => !['paused', 'refused', 'ended'].includes(shown) && unverified !== undefined && !isPolled(name));
  const longest = verified.reduce((longest, { unverified }) => Math.max(longest, unverified), -1);
  set($('unverified'), longest < 0 ? '–' : age(longest));
  const { delay } = freshness;
  set($('delay'), delay === undefined ? '–' : delay < 0 ? 'clocks differ' : `${Math.round(delay)} ms`);
  const isPaused = shown.length > 0 && shown.every((look) => look.paused);
  $('pause').setAttribute('aria-pressed', String(isPaused));
  set($('pause'), isPaused ? 'Resume' : 'Pause');
}

function togglePause() {
  const isPaused = feed.names.length > 0 && feed.names.every((name) => feed.status(name).paused);
  if (isPaused) feed.resume(); else feed.pause();
  freshness.interrupt();
  log.say('', isPaused ? 'Resumed' : 'Paused on the server');
  planAll();
}

for (const event of ['session', 'bye', 'disconnect', 'connect', 'recover', 'fail', 'gap', 'status']) {
  // The first and the good states are not logged.
  feed.addEventListener(event, ({ detail }) => { if (event !== 'status' || !['connecting', 'live'].includes(detail.state)) log.event(event, detail); });
}
// Many streams report it together.
let asking;
const askSoon = () => { asking ??= setTimeout(() => { asking = undefined; showLines(); }, 500); };
feed.addEventListener('disconnect', ({ detail }) => { reason = detail.reason ?? ''; askSoon(); });
feed.addEventListener('connect', askSoon);
feed.addEventListener('refused', ({ detail }) => {
  if (view.watched.has(detail.stream)) log.event('refused', detail);
  remember();
  planAll();
});
feed.addEventListener('session', () => { farewell = undefined; remember(); planAll(); askSoon(); });
feed.addEventListener('bye', ({ detail: { code, reason } }) => { farewell = ['expired', 'revoked'].includes(code) ? reason : undefined; });
feed.addEventListener('connection', ({ detail: { state, error, status, upstreams } }) => {
  if (upstreams?.length) showUpstream(upstreams[0]);
  const before = $('connection').dataset.state;
  if (state === 'open' && before === 'connecting' && isFirst) log.say('good', 'Connected to the gateway', 'through the connection of another tab');
  isFirst = false;
  const isBarred = state === 'closed' && [401, 403].includes(status);
  if (isBarred) askForKey(farewell ?? error);
  $('retry').hidden = $('notice').hidden = state !== 'closed' || isBarred;
  set($('notice'), error ?? '');
  set($('shared'), feed.isShared ? 'Shared by all tabs' : '');
  if (state === 'lost' && before !== 'lost') log.say('warn', 'Connection to the gateway lost', 'Values are frozen; reconnecting automatically.');
  if (state === 'closed') log.say('bad', 'The gateway refused the connection', error);
  showHealth();
  planAll();
});

$('pause').addEventListener('click', togglePause);
$('retry').addEventListener('click', () => feed.retry());
const showChosenStar = () => { if (view.symbol) showStar($('star'), watchlist, view.symbol.toUpperCase()); };
const toggleStar = () => { if (view.symbol) watchlist.toggle(view.symbol); };
$('star').addEventListener('click', toggleStar);
view.addEventListener('change', () => { if (view.symbol) alerts.follow(view.symbol); });
for (const source of [view, watchlist]) source.addEventListener('change', showChosenStar);
new Keys([
  { keys: ['k'], isEverywhere: true, words: 'Choose a symbol', run: () => picker.open() },
  { keys: ['/'], words: 'Search the markets', run: () => $('search').focus() },
  { keys: ['s'], words: 'Put the symbol on the watchlist, or remove it', run: toggleStar },
  { keys: ['l'], words: 'Alerts', run: () => alarm.open() },
  { keys: ['c'], words: 'Options of the chart', run: () => panels.candles.open() },
  { keys: [','], words: 'Shorter bars', run: () => view.step(-1) },
  { keys: ['.'], words: 'Longer bars', run: () => view.step(1) },
  { keys: ['a'], words: 'Add a stream', run: () => $('name').focus() },
  { keys: ['p'], words: 'Pause or resume all streams', run: togglePause },
  { keys: ['↑', '↓'], words: 'In the markets: the previous or next symbol' },
  { keys: ['←', '→', '+', '-', '0'], words: 'In the chart: move, scale, show the end' },
]);
addEventListener('resize', planAll);
// Ages and countdowns advance without events.
setInterval(() => plan('instrument', 'streams'), 500);
setInterval(() => plan('candles', 'ladder', 'trades', 'markets'), 2000);
setInterval(() => alarm.show(), 2000);
setInterval(showLines, 5000);
setInterval(askUnverified, 2000);

/** Shows the venue, and above all whether the data is simulated. */
function showUpstream({ name, venue, simulated }) {
  document.body.classList.toggle('demo', simulated === true);
  set($('venue').firstElementChild, simulated ? 'DEMO' : name);
  set($('venue').lastElementChild, simulated ? ': simulated data' : '');
  $('venue').title = simulated ? `Streams like those of ${venue}; no price here is real.` : '';
  $('venue').hidden = false;
  showStanding($('connection').textContent);
}

/** The number of refused streams of the shown instrument. */
const refused = () => (view.symbol ? Object.values(view.streams).filter((name) => !isPolled(name) && feed.status(name).error).length : 0);

/** The lines to the venue as far as this page knows; empty while unknown. */
const standing = () => (feed.connection.state === 'open' ? lines(feed.connection.upstreams?.[0] ?? {}, ready) : lines({}));
function showStanding(word) {
  const { text, isLost } = agreeing(standing(), word);
  set($('lines'), text);
  $('lines').classList.toggle('lost', isLost);
}

/** Requests the number of open lines to the venue, which events do not report. */
async function showLines() {
  if (document.hidden || feed.connection.state !== 'open') return;
  try { ready = await (await fetch('readyz')).text(); } catch { return; }
  showHealth();
}

/** Requests how long the quietest streams have been unverified. Pings and other streams of the connection are evidence, but no event reports them. */
async function askUnverified() {
  if (document.hidden || feed.connection.state !== 'open') return;
  const quiet = feed.names.map((name) => ({ name, ...freshness.look(name) })).filter(({ name, unverified }) => unverified > 1500 && !isPolled(name));
  await Promise.all(quiet.sort((a, b) => b.unverified - a.unverified).slice(0, 4).map(async ({ name }) => {
    const answer = await feed.request(`streams/${encodeURIComponent(name)}/status`).catch(() => undefined);
    const { unverifiedMs } = (answer?.ok && await answer.json().catch(() => undefined)) || {};
    if (unverifiedMs !== undefined) freshness.confirm(name, unverifiedMs);
  }));
}

function askForKey(why) {
  access.ask(why);
  showData(Boolean(view.symbol));
  showHealth();
}
function showData(isShown) { $('panels').hidden = $('pause').hidden = !isShown; }

/** The view that the page's URL names; nothing if it cannot be read. */
function address() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ''; }
}
addEventListener('hashchange', () => location.reload());

async function begin() {
  const answer = await feed.request('streams/!markPrice@arr').catch(() => undefined);
  const listed = await answer?.json().catch(() => undefined);
  if (answer?.status === 401) return askForKey(listed?.detail);
  access.done();
  showData(true);
  if (!view.symbol) {
    const symbols = (Array.isArray(listed?.content) ? listed.content : []).map(({ symbol }) => symbol.toLowerCase());
    view.begin(address(), symbols);
  }
  return showLines();
}
begin();
