// The contracts of the chosen symbol's asset at all venues, and what lies between the venues.

import { decimal, ratio, shifted, written } from './decimal.js';
import { $, set } from './dom.js';
import { age, decimalsOf, grouped, short, unitsOf, until, whole } from './format.js';
import { MarketPoll } from './marketpoll.js';
import { spreads } from './spreads.js';
import { Stored } from './stored.js';

const interval = 1000;
const columns = ['venue', 'mark', 'index', 'best', 'hourly', 'funding', 'next', 'interest', 'volume', 'state-of', 'age'];

/** A rate in percent with a fixed number of decimals. @param {string|undefined} text @param {number} digits */
function rate(text, digits) {
  const value = decimal(text);
  return value ? `${written(shifted(value, 2), digits, true)} %` : '–';
}

const price = (text, digits) => (text === undefined ? '–' : grouped(text, digits));

/** The texts of a row. @param {object} row of `GET /markets/{asset}` @param {number|undefined} now the venue's time */
export function texts(row, now) {
  const [bid, ask] = [row.bidPrice, row.askPrice];
  const digits = Math.max(decimalsOf(bid ?? row.midPrice), decimalsOf(ask));
  const best = bid === undefined && ask === undefined && row.midPrice !== undefined ? `mid ${whole(row.midPrice)}` : `${price(bid, digits)} / ${price(ask, digits)}`;
  return {
    mark: price(row.markPrice, digits + 1), index: price(row.indexPrice, digits + 1), best, hourly: rate(row.fundingPerHour, 6),
    funding: row.fundingIntervalHours ? `${rate(row.fundingRate, 4)} / ${row.fundingIntervalHours} h` : rate(row.fundingRate, 4),
    next: until(row.nextFundingTime, now), interest: short(Number(row.openInterest)), volume: short(Number(row.quoteVolume)),
  };
}

export class VenueTable {
  #view;
  #freshness;
  #poll;
  #body = $('venues-table').tBodies[0];
  #rows = new Map();
  #open = new Stored('venues', true);
  #state = { isInView: false, isOffered: false };

  constructor(view, freshness) {
    [this.#view, this.#freshness] = [view, freshness];
    this.#poll = new MarketPoll((path, options) => view.feed.request(path, options));
    this.#poll.addEventListener('change', () => this.show());
    view.addEventListener('change', () => this.#follow());
    view.feed.addEventListener('connection', () => this.#ask());
    document.addEventListener('visibilitychange', () => this.#ask());
    $('venues-open').addEventListener('click', () => this.toggle());
    this.#open.addEventListener('change', () => this.#fold());
    new IntersectionObserver((entries) => this.#look(entries.at(-1).isIntersecting)).observe($('venues-box'));
    setInterval(() => this.#ask(), interval);
    this.#fold();
  }

  /** Shows or hides the table. Without it nothing is asked for. */
  toggle() { this.#open.value = !this.#open.value; }

  #fold() {
    $('venues-open').setAttribute('aria-expanded', String(this.#open.value));
    $('venues-box').hidden = $('venues-facts').hidden = $('venues-state').hidden = !this.#open.value;
  }

  #look(isInView) {
    this.#state.isInView = isInView;
    this.#ask();
  }

  #follow() {
    this.#poll.follow(unitsOf(this.#view.symbol ?? '').base);
    // One answer shows whether there is more than one venue.
    if (!this.#state.isOffered) this.#poll.ask();
    this.show();
  }

  get #isPaused() {
    const { feed } = this.#view;
    return feed.names.length > 0 && feed.names.every((name) => feed.status(name).paused);
  }

  #ask() {
    const { isInView, isOffered } = this.#state;
    const isSeen = isOffered && isInView && this.#open.value && document.visibilityState === 'visible';
    if (isSeen && !this.#isPaused && this.#view.feed.connection.state === 'open') this.#poll.ask();
  }

  show() {
    const { venues, rows, refusal, passed } = this.#poll;
    if (venues.length > 1) this.#state.isOffered = true;
    $('venues').hidden = !this.#state.isOffered;
    if (!this.#state.isOffered) return;
    const isLost = this.#poll.isLost || this.#view.feed.connection.state !== 'open';
    const frozen = this.#isPaused ? 'paused' : isLost && rows.length ? 'lost' : undefined;
    set($('venues-asset'), this.#poll.asset);
    for (const [venue, { line }] of this.#rows) {
      if (!venues.includes(venue)) line.remove();
    }
    this.#rows = new Map(venues.map((venue) => [venue, this.#rows.get(venue) ?? this.#make(venue)]));
    this.#body.append(...[...this.#rows.values()].map(({ line }) => line).filter((line, place) => this.#body.children[place] !== line));
    for (const [venue, row] of this.#rows) this.#fill(row, rows.find((row) => row.venue === venue), frozen, passed);
    set($('venues-empty'), refusal || (this.#poll.asset ? '' : 'The symbol does not show its asset.'));
    this.#showSpreads(spreads(rows), frozen, refusal ? 'refused' : undefined, passed);
  }

  #make(venue) {
    const line = document.createElement('tr');
    const name = line.appendChild(Object.assign(document.createElement('th'), { scope: 'row', textContent: `${venue} ` }));
    const contract = name.appendChild(document.createElement('small'));
    const cells = Object.fromEntries(columns.slice(1).map((column) => [column, Object.assign(line.insertCell(), { className: column })]));
    const state = cells['state-of'].appendChild(Object.assign(document.createElement('span'), { className: 'state' }));
    return { line, contract, cells, state };
  }

  /** A venue without a row has not sent anything yet. */
  #fill({ line, contract, cells, state }, row, frozen, passed) {
    const shown = frozen ?? row?.state ?? 'connecting';
    const words = shown === 'connecting' ? 'waiting' : shown;
    line.classList.toggle('aged', row !== undefined && shown !== 'live');
    set(contract, row ? `${row.symbol}${row.symbol.endsWith(row.quote) ? '' : ` ${row.quote}`}` : '');
    const shownTexts = row ? texts(row, this.#freshness.venueTime) : {};
    for (const column of columns.slice(1, 9)) set(cells[column], shownTexts[column] ?? '–');
    cells.hourly.title = row?.fundingPerHour === undefined ? '' : `${row.fundingPerHour} of the position per hour`;
    state.dataset.state = shown;
    set(state, words[0].toUpperCase() + words.slice(1));
    set(cells.age, row?.ageMs === undefined ? '–' : age(row.ageMs + passed));
  }

  #showSpreads({ live, bid, ask, between, marks, fundings, quotes }, frozen, refused, passed) {
    const count = this.#rows.size;
    const shown = frozen ?? refused ?? (live === count ? 'live' : live ? 'stale' : 'connecting');
    $('venues-state').dataset.state = shown;
    const words = { lost: `Lost · ${age(passed)}`, paused: 'Paused', refused: 'Refused', live: 'Live', stale: `${live} of ${count} live`, connecting: 'None is live' }[shown];
    set($('venues-state'), words);
    $('venues-facts').classList.toggle('aged', frozen !== undefined);
    const prices = (value) => written(value, value.digits);
    set($('venues-bid'), bid ? `${prices(bid.value)} ${bid.venue}` : '–');
    set($('venues-ask'), ask ? `${prices(ask.value)} ${ask.venue}` : '–');
    set($('venues-between'), between ? prices(between) : '–');
    const digits = Math.max(1, (bid?.value.digits ?? 0) + 1);
    set($('venues-marks'), marks ? `${written(marks.apart, Math.min(digits, marks.apart.digits))} (${written(shifted(ratio(marks.apart, marks.low.value, 6), 4), 2)} bp)` : '–');
    set($('venues-fundings'), fundings ? `${written(shifted(fundings.apart, 2), 6)} % / h` : '–');
    const ends = ({ low, high }) => `lowest at ${low.venue}, highest at ${high.venue}`;
    $('venues-marks').title = marks ? ends(marks) : '';
    $('venues-fundings').title = fundings ? ends(fundings) : '';
    set($('venues-quotes'), quotes.length > 1 ? quotes.join(', ') : '–');
  }
}
