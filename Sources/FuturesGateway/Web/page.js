// The live page: a table of streams, one instrument's chart and book, and a log.

import { Feed } from './client.js';
import { Chart, History } from './chart.js';
import { Ladder } from './book.js';
import { Log } from './log.js';
import { Cadence, Opening } from './freshness.js';
import { age, digitsFor, grouped, headline, percent, until } from './format.js';

const $ = (id) => document.getElementById(id);
const firstSymbols = ['btcusdt', 'ethusdt', 'solusdt', 'bnbusdt', 'xrpusdt', 'dogeusdt', 'adausdt', 'linkusdt', 'avaxusdt', 'suiusdt'];

const keyName = 'futures-gateway key';
// A browser may forbid even to look at it.
const storage = (() => { try { return sessionStorage; } catch { return undefined; } })();
let key = storage?.getItem(keyName) ?? undefined;
let farewell;
const feed = new Feed([], { credential: key });
const log = new Log($('log'));
const ladder = new Ladder($('book'));
const chart = new Chart($('chart'), () => schedule());
const histories = new Map();
const openings = new Map();
const cadences = new Map();
const rows = new Map();
let selected;
let current;
let bookName;
let minutes = 5;
let isFirst = true;

const symbolOf = (name) => (name.includes('@') && !name.startsWith('!') ? name.split('@')[0] : undefined);
const historyOf = (symbol) => histories.get(symbol) ?? histories.set(symbol, new History()).get(symbol);

// The table's streams are in the address, so that a view can be kept and passed on.
const addressed = () => decodeURIComponent(location.hash.slice(1)).split(',').filter(Boolean);
const remember = () => history.replaceState(null, '', `#${[...rows.keys()].filter((name) => !feed.status(name).error).join(',')}`);

function icon(path) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  svg.appendChild(document.createElementNS(svg.namespaceURI, 'path')).setAttribute('d', path);
  return svg;
}

function action(label, path, run) {
  const button = document.createElement('button');
  button.type = 'button';
  button.title = label.split(' ')[0];
  button.setAttribute('aria-label', label);
  button.append(icon(path));
  button.addEventListener('click', run);
  return button;
}

function addRow(name) {
  if (rows.has(name)) return rows.get(name).name.focus();
  const [symbol, channel] = [symbolOf(name), name.slice((symbolOf(name) ?? '').length).replace(/^@/, '')];
  const row = document.createElement('tr');
  const cells = Array.from({ length: 8 }, () => row.insertCell());
  for (const cell of cells.slice(1, 6)) cell.className = 'number';
  const button = document.createElement('button');
  button.type = 'button';
  button.className = channel.startsWith('markPrice') ? 'name mark' : 'name';
  button.append(symbol?.toUpperCase() ?? name);
  const detail = button.appendChild(document.createElement('small'));
  detail.textContent = symbol ? channel : '';
  detail.classList.toggle('whose', !symbol);
  button.addEventListener('click', () => select(symbol, name));
  cells[0].append(button);
  cells[3].dataset.channel = symbol ? channel : '';
  const state = cells[6].appendChild(document.createElement('span'));
  state.className = 'state';
  const pause = action(`Pause ${name}`, 'M5.5 3.5v9M10.5 3.5v9', () => {
    if (feed.status(name).paused) feed.resume(name); else feed.pause(name);
    cadences.get(name)?.interrupt();
    schedule();
  });
  const actions = cells[7].appendChild(document.createElement('div'));
  actions.className = 'actions';
  const refetch = action(`Refetch ${name}`, 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.8h-2.8', () => fetchAnew(name));
  actions.append(pause, refetch, action(`Remove ${name}`, 'M4 4l8 8M12 4l-8 8', () => removeRow(name)));
  rows.set(name, { row, cells, state, pause, refetch, name: button, detail, symbol });
  $('streams').tBodies[0].append(row);
  remember();
  schedule();
}

function removeRow(name) {
  const following = rows.get(name).row.nextElementSibling ?? rows.get(name).row.previousElementSibling;
  rows.get(name).row.remove();
  rows.delete(name);
  if (name !== bookName) feed.remove(name);
  remember();
  (following?.querySelector('.name') ?? $('name')).focus();
  schedule();
}

async function fetchAnew(name) {
  try { await feed.refetch(name); } catch (error) { log.say('bad', 'Refetch failed', error.message, name); }
}

function select(symbol, name) {
  current = name;
  schedule();
  if (!symbol || symbol === selected) return;
  selected = symbol;
  describedAt = -Infinity;
  if (bookName && !rows.has(bookName)) feed.remove(bookName);
  bookName = `${symbol}@depth`;
  feed.add(bookName);
  ladder.show(undefined, true);
  loadBars(symbol);
  schedule();
}

/** The last hour's closes, so that a chart just opened is not empty. */
async function loadBars(symbol) {
  const answer = await feed.request(`streams/${encodeURIComponent(symbol)}@kline_1m`).then((answer) => answer.ok && answer.json()).catch(() => undefined);
  if (!answer) return;
  historyOf(symbol).bars = answer.content.slice(-61).map(({ closeTime, close }) => [Math.min(closeTime, Date.now()), Number(close)]);
  schedule();
}

/** A stream's status with what is shown of it: what is live looks so only while nothing is overdue. */
function look(name) {
  const status = feed.status(name);
  const isOverdue = status.state === 'live' && cadences.get(name)?.isExceededBy(status.unverified);
  const shown = status.error ? 'refused' : status.paused ? 'paused' : isOverdue ? 'unverified' : status.state;
  return { ...status, shown, words: shown[0].toUpperCase() + shown.slice(1), isAged: !['live', 'connecting', 'refused'].includes(shown) };
}

function showRow(name, { row, cells, state, pause, refetch, detail, symbol }) {
  const { shown, words, isAged, age: ms, unverified, paused, error } = look(name);
  const content = feed.get(name);
  const { price, symbol: whose, count, first, lastFundingRate, nextFundingTime } = headline(content);
  row.classList.toggle('refused', Boolean(error));
  row.setAttribute('aria-current', String(name === current));
  cells[1].colSpan = error ? 5 : 1;
  cells[1].classList.toggle('error', Boolean(error));
  if (error) set(cells[1], error);
  else if (price) setPrice(cells[1], price, whose);
  else if (count !== undefined) set(cells[1], `${count} rows`);
  else if (!cells[1].textContent) set(cells[1], '–');
  // What was known before a connection that tells nothing yet is no value of now.
  const isOld = !error && cells[1].textContent !== '–' && (isAged || !content);
  cells[1].classList.toggle('aged', isOld);
  row.classList.toggle('aged-row', isOld);
  if (price) setChange(cells[2], Number(first ?? openings.get(name)?.price), Number(price));
  if (!symbol && price) {
    set(detail, whose ?? '');
    cells[3].dataset.channel = whose ?? '';
  }
  if (content) {
    set(cells[3], lastFundingRate ? percent(lastFundingRate) : '');
    set(cells[4], nextFundingTime ? until(nextFundingTime) : '');
  }
  set(cells[5], age(ms));
  state.dataset.state = shown;
  state.title = verified(unverified);
  set(state, words);
  pause.setAttribute('aria-pressed', String(paused));
  pause.hidden = refetch.hidden = Boolean(error);
}

const verified = (ms) => (ms === undefined ? '' : `Known to be the newest ${age(ms)} ago`);

function set(element, text) { if (element.textContent !== text) element.textContent = text; }

/** Shows a price, and by its colour for a moment where it went, if the last one was of the same symbol. */
function setPrice(element, price = '', whose = '') {
  const { price: before, whose: last } = element.dataset;
  if (before === price && last === whose) return;
  Object.assign(element.dataset, { price, whose });
  set(element, price ? grouped(price, digitsFor(price)) : '–');
  element.classList.remove('flash-up', 'flash-down');
  if (!before || !price || last !== whose || Number(before) === Number(price)) return;
  void element.offsetWidth;
  element.classList.add(Number(price) > Number(before) ? 'flash-up' : 'flash-down');
}

function setChange(element, from, to) {
  const change = from ? to / from - 1 : 0;
  set(element, from ? percent(String(change), 2) : '–');
  element.classList.toggle('up', change >= 0.00005);
  element.classList.toggle('down', change <= -0.00005);
}

const markName = () => [...rows.keys()].find((name) => name.startsWith(`${selected}@markPrice`));

/** What is shown beside the symbol's name is of that symbol alone, or nothing. */
function showInstrument() {
  const name = markName() ?? '';
  const { isAged, shown, age: ms, unverified } = look(name);
  const mark = feed.get(name);
  const isLive = shown === 'live';
  set($('symbol'), selected.toUpperCase());
  for (const id of ['price', 'index', 'funding', 'countdown']) $(id).classList.toggle('aged', Boolean(mark) && isAged);
  setPrice($('price'), mark?.markPrice, selected);
  setChange($('change'), mark ? openings.get(name)?.price : NaN, Number(mark?.markPrice));
  set($('index'), mark?.indexPrice ? grouped(mark.indexPrice, digitsFor(mark.indexPrice)) : '–');
  set($('funding'), percent(mark?.lastFundingRate));
  set($('countdown'), until(mark?.nextFundingTime));
  set($('age'), age(ms));
  $('age').title = verified(unverified);
  const history = historyOf(selected);
  const last = history.points.at(-1)?.[1] ?? history.bars.at(-1)?.[1] ?? 1;
  chart.draw(history, { minutes, now: Date.now(), digits: digitsFor(String(last)), isLive: isLive || !history.points.length, silence: name.endsWith('@1s') ? 6000 : 12_000 });
  describeChart(history);
  const demo = document.body.classList.contains('demo') ? 'DEMO ' : '';
  document.title = mark ? `${demo}${grouped(mark.markPrice, digitsFor(mark.markPrice))} ${selected.toUpperCase()}${isLive ? '' : ' · not live'}` : `${demo}FuturesGateway`;

  const book = look(bookName);
  ladder.show(feed.get(bookName) ?? undefined, book.shown === 'live');
  $('book-state').dataset.state = book.shown;
  $('book-state').title = verified(book.unverified);
  const state = book.error ? 'Not listed' : book.words;
  // A quiet book may be live; its age tells how quiet.
  set($('book-state'), book.age >= 3000 ? `${state} · ${age(book.age)}` : state);
}

let describedAt = -Infinity;

/** The chart in words, now and then. */
function describeChart({ points }) {
  if (performance.now() - describedAt < 10_000) return;
  describedAt = performance.now();
  const values = points.filter(([time]) => time > Date.now() - minutes * 60_000).map(([, value]) => value);
  const text = (value) => grouped(value.toFixed(8), digitsFor(String(value)));
  const range = values.length ? `: from ${text(Math.min(...values))} to ${text(Math.max(...values))}, last ${text(values.at(-1))}` : '';
  $('chart').setAttribute('aria-label', `Mark price of ${selected.toUpperCase()}, last ${minutes} minutes${range}`);
}

let isDrawn = false;
function schedule() {
  if (isDrawn) return;
  isDrawn = true;
  setTimeout(() => requestAnimationFrame(() => {
    isDrawn = false;
    for (const [name, row] of rows) showRow(name, row);
    if (selected) showInstrument();
    document.querySelector('.empty').hidden = rows.size > 0;
    $('pause').setAttribute('aria-pressed', String(isPaused()));
    set($('pause'), isPaused() ? 'Resume' : 'Pause');
  }), 100);
}

const isPaused = () => feed.names.length > 0 && feed.names.every((name) => feed.status(name).paused);

function togglePause() {
  if (isPaused()) feed.resume(); else feed.pause();
  interruptAll();
  log.say('', feed.names.length && isPaused() ? 'Paused on the server' : 'Resumed');
  schedule();
}

for (const event of ['session', 'bye', 'disconnect', 'connect', 'recover', 'fail', 'gap', 'status', 'fetch']) {
  feed.addEventListener(event, ({ detail }) => {
    // The first and the good states go without saying.
    if (event !== 'status' || !['connecting', 'live'].includes(detail.state)) log.event(event, detail);
  });
}
for (const event of ['update', 'fetch']) {
  feed.addEventListener(event, ({ detail: { stream, eventTime, receivedAt } }) => {
    const content = feed.get(stream);
    if (!openings.has(stream)) openings.set(stream, new Opening());
    openings.get(stream).take(headline(content));
    if (!cadences.has(stream)) cadences.set(stream, new Cadence());
    cadences.get(stream).hear(performance.now());
    const time = content?.time ?? eventTime ?? receivedAt;
    if (content?.markPrice && time) historyOf(symbolOf(stream)).add(time, Number(content.markPrice));
    schedule();
  });
}
feed.addEventListener('status', ({ detail: { stream, state } }) => {
  if (state !== 'live') cadences.get(stream)?.interrupt();
  schedule();
});
const interruptAll = () => cadences.forEach((cadence) => cadence.interrupt());
document.addEventListener('visibilitychange', interruptAll);
feed.addEventListener('refused', ({ detail }) => {
  if (detail.stream !== bookName || rows.has(bookName)) log.event('refused', detail);
  remember();
  schedule();
});
feed.addEventListener('session', () => {
  farewell = undefined;
  interruptAll();
  remember();
});
feed.addEventListener('bye', ({ detail: { code, reason } }) => { farewell = ['expired', 'revoked'].includes(code) ? reason : undefined; });
feed.addEventListener('connection', ({ detail: { state, error, status, upstreams } }) => {
  if (upstreams) showUpstream(upstreams[0]);
  const before = $('connection').dataset.state;
  if (state === 'open' && before === 'connecting' && isFirst) log.say('good', 'Connected to the gateway', 'on the connection of another tab');
  isFirst = false;
  $('connection').dataset.state = state;
  const isAsking = !$('access').hidden && state === 'connecting';
  set($('connection'), isAsking ? 'Key needed' : { connecting: 'Connecting', open: 'Connected', lost: 'Reconnecting', closed: 'Stopped' }[state]);
  const isBarred = state === 'closed' && [401, 403].includes(status);
  if (isBarred) askForKey(farewell ?? error);
  $('retry').hidden = $('notice').hidden = state !== 'closed' || isBarred;
  set($('notice'), error ?? '');
  set($('shared'), feed.isShared ? 'Shared by all tabs' : '');
  if (state === 'lost' && before !== 'lost') log.say('warn', 'Connection to the gateway lost', 'Values stay as they were; coming back by itself.');
  if (state === 'closed') log.say('bad', 'The gateway refuses', error);
  schedule();
});

$('pause').addEventListener('click', togglePause);
$('retry').addEventListener('click', () => feed.retry());
$('ranges').addEventListener('click', ({ target }) => {
  if (!target.dataset.minutes) return;
  minutes = Number(target.dataset.minutes);
  for (const button of $('ranges').children) button.setAttribute('aria-pressed', String(button === target));
  schedule();
});
$('add').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = $('name').value.trim();
  if (!text || text.includes(',')) return;
  const name = text.includes('@') || text.startsWith('!') ? text : `${text.toLowerCase()}@markPrice@1s`;
  $('name').value = '';
  addRow(name);
  feed.add(name);
  if (!selected) select(symbolOf(name), name);
});
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input')) return;
  if (event.key === 'p') togglePause();
  if (event.key === '/') { event.preventDefault(); $('name').focus(); }
});
setInterval(schedule, 500);
setInterval(showLines, 5000);

/** Whose data these are, and above all whether they are any venue's. */
function showUpstream({ name, venue, simulated }) {
  document.body.classList.toggle('demo', simulated);
  set($('venue').firstElementChild, simulated ? 'DEMO' : name);
  set($('venue').lastElementChild, simulated ? ': simulated data' : '');
  $('venue').title = simulated ? `Streams like those of ${venue}; no price here is real.` : '';
  $('venue').hidden = false;
}

/** Says that lines to the venue are lost, which readers do not notice. */
async function showLines() {
  if (document.hidden) return;
  try {
    const lost = (await (await fetch('readyz')).text()).match(/\d of \d lines/)?.[0];
    set($('lines'), lost ?? '');
    $('lines').hidden = !lost;
  } catch { $('lines').hidden = true; }
}

function showData(isShown) { document.querySelector('main').hidden = $('pause').hidden = !isShown; }

/** Shows the field for the key; a key that did not do is forgotten. */
function askForKey(reason) {
  storage?.removeItem(keyName);
  set($('access-error'), key ? `The key is not accepted. ${reason}` : '');
  $('access').hidden = false;
  $('connection').dataset.state = 'closed';
  set($('connection'), 'Key needed');
  showData(rows.size > 0);
  $('key').focus();
}

$('access').addEventListener('submit', (event) => {
  event.preventDefault();
  [key, farewell] = [$('key').value];
  $('key').value = '';
  if ($('keep').checked) storage?.setItem(keyName, key);
  feed.retry(key);
  begin();
});

async function begin() {
  const answer = await feed.request('streams/!markPrice@arr').catch(() => undefined);
  const listed = await answer?.json().catch(() => undefined);
  if (answer?.status === 401) return askForKey(listed?.detail);
  $('access').hidden = true;
  showData(true);
  if (rows.size) return undefined;
  const symbols = (listed?.content ?? []).map(({ symbol }) => symbol.toLowerCase());
  $('names').append(...symbols.map((symbol) => new Option(symbol)));
  const chosen = [...new Set([...firstSymbols.filter((symbol) => symbols.includes(symbol)), ...symbols])].slice(0, firstSymbols.length);
  const names = addressed().length ? addressed() : (symbols.length ? chosen : firstSymbols).map((symbol) => `${symbol}@markPrice@1s`);
  for (const name of names) addRow(name);
  feed.add(...names);
  const first = names.find((name) => name.includes('@markPrice')) ?? names.find(symbolOf);
  return first && select(symbolOf(first), first);
}
begin();
