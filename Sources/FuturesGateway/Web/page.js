// The page that a trader keeps open: it connects the state to the panels, and redraws changes at most five times a second.

import { Access } from './access.js';
import { Alarm } from './alarm.js';
import { Alerts } from './alerts.js';
import { Candles } from './candles.js';
import { $, set } from './dom.js';
import { Freshness } from './freshness.js';
import { Header } from './header.js';
import { Instrument } from './instrument.js';
import { Keys } from './keys.js';
import { Ladder } from './ladder.js';
import { Log } from './log.js';
import { Markets } from './markets.js';
import { Picker } from './picker.js';
import { planner } from './plan.js';
import { Streams } from './streams.js';
import { Trades } from './trades.js';
import { VenueTable } from './venuetable.js';
import { label } from './venues.js';
import { View } from './view.js';
import { Star, Watchlist } from './watchlist.js';

const access = new Access((key) => { farewell = undefined; feed.retry(key); alerts.retry(key); begin(); });
const view = new View(access.key);
const { feed } = view;
const freshness = new Freshness(feed);
const header = new Header(view, freshness, access);
const log = new Log($('log'));
const watchlist = new Watchlist();
const alerts = new Alerts(access.key);
const alarm = new Alarm(alerts, view, log);
const markets = new Markets(view, freshness, watchlist);
const picker = new Picker(view, freshness, markets, watchlist);
const panels = {
  instrument: new Instrument(view, freshness), candles: new Candles(view, freshness, alerts), ladder: new Ladder(view, freshness),
  trades: new Trades(view, freshness), markets, picker, streams: new Streams(view, freshness, log), venues: new VenueTable(view, freshness),
};
let farewell;
let isFirst = true;
const plan = planner((names) => {
  view.settle();
  for (const name of names) if (view.symbol || name === 'streams') panels[name].show();
  header.show();
});
const planAll = () => plan(...Object.keys(panels));

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
view.addEventListener('unlisted', ({ detail }) => log.say('bad', 'Not listed', `${label(detail)} is not a symbol of this venue.`));
view.addEventListener('change', () => { remember(); planAll(); });

// The URL contains the view, so that it can be bookmarked and shared.
const remember = () => history.replaceState(null, '', `#${view.address}`);

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
feed.addEventListener('refused', ({ detail }) => {
  if (view.watched.has(detail.stream)) log.event('refused', detail);
  remember();
  planAll();
});
feed.addEventListener('session', () => { farewell = undefined; remember(); planAll(); });
feed.addEventListener('bye', ({ detail: { code, reason } }) => { farewell = ['expired', 'revoked'].includes(code) ? reason : undefined; });
feed.addEventListener('connection', ({ detail: { state, error, status } }) => {
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
  header.show();
  planAll();
});

$('pause').addEventListener('click', togglePause);
$('retry').addEventListener('click', () => feed.retry());
const star = new Star(view, watchlist);
view.addEventListener('change', () => { if (view.symbol) alerts.follow(view.symbol); });
new Keys([
  { keys: ['k'], isEverywhere: true, words: 'Choose a symbol', run: () => picker.open() },
  { keys: ['/'], words: 'Search the markets', run: () => $('search').focus() },
  { keys: ['s'], words: 'Put the symbol on the watchlist, or remove it', run: () => star.toggle() },
  { keys: ['l'], words: 'Alerts', run: () => alarm.open() },
  { keys: ['v'], words: 'Show or hide the venues', run: () => panels.venues.toggle() },
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
setInterval(() => plan('instrument', 'streams', 'venues'), 500);
setInterval(() => plan('candles', 'ladder', 'trades', 'markets'), 2000);
setInterval(() => alarm.show(), 2000);

function askForKey(why) {
  access.ask(why);
  showData(Boolean(view.symbol));
  header.show();
}
function showData(isShown) { $('panels').hidden = $('pause').hidden = !isShown; }

/** The view that the page's URL names; nothing if it cannot be read. */
function address() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ''; }
}
addEventListener('hashchange', () => location.reload());

async function begin() {
  const [{ status, detail }] = await Promise.all([view.venues.list(''), view.venues.find()]);
  if (status === 401) return askForKey(detail);
  access.done();
  showData(true);
  if (!view.symbol) {
    // Only the venue of the address is waited for, because another one may be down.
    const prefix = view.prefixIn(address());
    if (prefix) await view.venues.list(prefix);
    view.begin(address());
    view.venues.listMissing();
  }
  return header.askLines();
}
begin();
