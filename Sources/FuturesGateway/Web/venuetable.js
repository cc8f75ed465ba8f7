// The contracts of the chosen symbol's asset at all venues, and what lies between the venues.

import { ratio, shifted, written } from './decimal.js';
import { $, set } from './dom.js';
import { age, unitsOf } from './format.js';
import { MarketPoll } from './marketpoll.js';
import { spreads } from './spreads.js';
import { Stored } from './stored.js';
import { VenueRow } from './venuerow.js';

const interval = 1000;

export class VenueTable {
  #view;
  #freshness;
  #poll;
  #body = $('venues-table').tBodies[0];
  #rows = new Map();
  #open = new Stored('venues', true);
  #state = { isInView: false, isOffered: false };

  constructor(view, freshness) {
    this.#view = view;
    this.#freshness = freshness;
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
    for (const id of ['venues-box', 'venues-facts', 'venues-state']) $(id).hidden = !this.#open.value;
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
    for (const [name, { line }] of this.#rows) if (!venues.some((venue) => venue.name === name)) line.remove();
    this.#rows = new Map(venues.map((venue) => [venue.name, this.#rows.get(venue.name) ?? this.#make(venue)]));
    this.#body.append(...[...this.#rows.values()].map(({ line }) => line).filter((line, place) => this.#body.children[place] !== line));
    const how = { frozen, passed, now: this.#freshness.venueTime };
    for (const [venue, row] of this.#rows) row.show(rows.find((row) => row.venue === venue), how);
    set($('venues-empty'), refusal || (this.#poll.asset ? '' : 'The symbol does not show its asset.'));
    this.#showSpreads(spreads(rows), frozen, refusal ? 'refused' : undefined, passed);
  }

  #make({ name, prefix }) {
    const symbol = () => this.#poll.rows.find(({ venue }) => venue === name)?.symbol;
    const choose = () => {
      if (symbol()) this.#view.select(`${prefix}${symbol().toLowerCase()}`);
    };
    return new VenueRow(name, this.#view.venues.has(prefix) ? choose : undefined);
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
