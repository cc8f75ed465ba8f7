// The page that a trader keeps open: it connects the state to the panels, and redraws changes at most five times a second.

import { Access } from './access.js';
import { Alarm } from './alarm.js';
import { Alerts } from './alerts.js';
import { Charts } from './charts.js';
import { Depth } from './depth.js';
import { Derivatives } from './derivatives.js';
import { $, forgetStyles } from './dom.js';
import { Drawer } from './drawer.js';
import { Freshness } from './freshness.js';
import { Header } from './header.js';
import { Heat } from './heat.js';
import { Instrument } from './instrument.js';
import { Ladder } from './ladder.js';
import { Layout } from './layout.js';
import { Log } from './log.js';
import { Markets } from './markets.js';
import { Picker } from './picker.js';
import { planner } from './plan.js';
import { Reports } from './reports.js';
import { Settings } from './settings.js';
import { bindKeys } from './shortcuts.js';
import { Start } from './start.js';
import { Streams } from './streams.js';
import { Trades } from './trades.js';
import { VenueTable } from './venuetable.js';
import { View } from './view.js';
import { Star, Watchlist } from './watchlist.js';
import { zone } from './zone.js';

const settings = new Settings();
const access = new Access((key) => retry(key));
const view = new View(access.key);
const { feed } = view;
const freshness = new Freshness(feed);
const now = () => freshness.venueTime ?? Date.now();
const header = new Header(view, freshness, access);
const log = new Log($('log'), now);
const watchlist = new Watchlist();
const alerts = new Alerts(access.key, now);
const alarm = new Alarm(alerts, view, log);
const markets = new Markets(view, freshness, watchlist);
const picker = new Picker(view, freshness, markets, watchlist);
const charts = new Charts({ view, freshness, alerts }, picker);
const panels = {
  instrument: new Instrument(view, freshness), charts, ladder: new Ladder(view, freshness, settings), depth: new Depth(view, freshness),
  heat: new Heat(view, freshness), derivatives: new Derivatives(view, freshness), trades: new Trades(view, freshness), markets, picker,
  streams: new Streams(view, freshness, log), venues: new VenueTable(view, freshness),
};
const layout = new Layout();
const drawer = new Drawer();
const start = new Start(view, access, header);
const reports = new Reports(view, log, (why) => start.ask(why));
const star = new Star(view, watchlist);
/** The panels that show the last price. All show the same one, drawn in the same frame. */
const priced = ['instrument', 'charts', 'ladder', 'markets'];

const plan = planner((names) => {
  const isNewPrice = view.settle();
  for (const name of new Set([...names, ...(isNewPrice ? priced : [])])) if (view.symbol || name === 'streams') panels[name].show();
  header.show();
});
const planAll = () => plan(...Object.keys(panels));

const panelsOf = (name) => {
  const { streams } = view;
  if (name === streams.book) return ['ladder', 'depth'];
  if (charts.shows(name)) return ['charts'];
  if (name === streams.trades) return ['trades', ...priced];
  if (name === streams.liquidations) return ['trades', 'charts'];
  return ['picker', ...priced];
};
alerts.addEventListener('change', () => plan('charts'));
view.addEventListener('news', ({ detail }) => plan(...panelsOf(detail)));
view.addEventListener('change', () => {
  remember();
  planAll();
  if (view.symbol) alerts.follow(view.symbol);
});

/** Draws everything again, because the type, the colors or the time zone have changed. */
function measureAll() {
  forgetStyles();
  for (const panel of Object.values(panels)) panel.measure?.();
  for (const time of document.querySelectorAll('time[data-at]')) time.textContent = zone.clock(Number(time.dataset.at));
  alarm.show();
  planAll();
}
settings.addEventListener('change', measureAll);
layout.addEventListener('change', () => planAll());
layout.addEventListener('reset', () => {
  settings.reset();
  charts.reset();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', measureAll);

// The URL contains the view, so that it can be bookmarked and shared.
function remember() { history.replaceState(null, '', `#${view.address}`); }

function togglePause() {
  const isPaused = feed.names.length > 0 && feed.names.every((name) => feed.status(name).paused);
  if (isPaused) feed.resume();
  else feed.pause();
  freshness.interrupt();
  log.say('', isPaused ? 'Resumed' : 'Paused on the server');
  planAll();
}

for (const event of ['refused', 'session']) {
  feed.addEventListener(event, () => {
    remember();
    planAll();
  });
}
feed.addEventListener('connection', ({ detail }) => {
  reports.connection(detail);
  header.show();
  planAll();
});

$('pause').addEventListener('click', togglePause);
$('retry').addEventListener('click', () => feed.retry());
bindKeys({ picker, star, alarm, venues: panels.venues, charts, drawer, settings, layout }, togglePause);
addEventListener('resize', () => {
  forgetStyles();
  planAll();
});
// Ages and countdowns advance without events.
setInterval(() => plan('instrument', 'streams', 'venues', 'derivatives'), 500);
setInterval(() => plan('charts', 'ladder', 'trades', 'markets', 'depth'), 1000);
setInterval(() => alarm.show(), 2000);

function retry(key) {
  reports.forget();
  feed.retry(key);
  alerts.retry(key);
  start.begin();
}

start.begin();
