// The panel with the history of funding, open interest, accounts and basis, and their current values.

import { basisOf } from './basis.js';
import { crosshair } from './crosshair.js';
import { $, press, set, setState, watchWidth } from './dom.js';
import { age, grouped, notional, percent, short, unitsOf, until } from './format.js';
import { History } from './history.js';
import { kinds, pathsOf, periods } from './pasts.js';
import { draw, usualPeriod } from './series.js';
import { Stored } from './stored.js';
import { bare } from './venues.js';
import { zone } from './zone.js';

/** A new value may be this late, ms. */
const late = 600_000;

/** How the values of a kind are written. */
const write = { funding: (value) => percent(String(value)), basis: (value) => percent(String(value), 3), interest: short, ratio: (value) => value.toFixed(3) };

export class Derivatives {
  #view;
  #freshness;
  #history;
  #canvas = $('derivatives');
  #chosen = new Stored('derivatives', { kind: 'funding', period: '1h' });
  #state = { plot: undefined, pointed: undefined, drawn: '', width: 0 };

  constructor(view, freshness) {
    this.#view = view;
    this.#freshness = freshness;
    this.#history = new History((path, options) => view.feed.request(path, options));
    this.#history.addEventListener('change', () => this.measure());
    this.#chosen.addEventListener('change', () => this.measure());
    view.addEventListener('change', () => this.measure());
    $('derivatives-tabs').addEventListener('click', ({ target }) => {
      if (target.dataset.shows) this.#choose({ kind: target.dataset.shows });
    });
    $('period').addEventListener('change', ({ target }) => this.#choose({ period: target.value }));
    watchWidth(this.#canvas, this.#state, () => this.measure());
    crosshair(this.#canvas, (place) => {
      this.#state.pointed = place && this.#state.plot?.at(place.x);
      this.#read();
    });
  }

  get #choice() {
    const { kind, period } = this.#chosen.value;
    return { kind: kind in kinds ? kind : 'funding', period: period in periods ? period : '1h' };
  }

  #choose(change) { this.#chosen.value = { ...this.#choice, ...change }; }

  /** Draws again, because the values, the size or the colors have changed. */
  measure() {
    this.#state.drawn = '';
    if (this.#view.symbol) this.show();
  }

  get #isPaused() {
    const { feed } = this.#view;
    return feed.names.length > 0 && feed.names.every((name) => feed.status(name).paused);
  }

  /** The state of the history, in the words of the streams. */
  get #look() {
    const { refusal, failure, rows, passed } = this.#history;
    const newest = rows.at(-1)?.time;
    const now = this.#freshness.venueTime;
    const passedSince = newest === undefined || now === undefined ? undefined : now - newest;
    const words = passedSince === undefined ? '' : ` · newest ${age(Math.max(0, passedSince))} ago`;
    const isLate = passedSince > usualPeriod(rows) + late;
    if (this.#view.feed.connection.state !== 'open') return { shown: 'lost', text: `Lost${words}`, isAged: true };
    if (this.#isPaused) return { shown: 'paused', text: `Paused${words}`, isAged: true };
    if (refusal) return { shown: 'refused', text: 'Refused', error: refusal, isAged: false };
    if (failure && !rows.length) return { shown: 'failed', text: 'Failed', error: failure, isAged: false };
    if (failure) return { shown: 'stale', text: `Stale${words}`, error: failure, isAged: true };
    if (passed === undefined) return { shown: 'connecting', text: 'Waiting', isAged: false };
    return isLate ? { shown: 'stale', text: `Stale${words}`, isAged: true } : { shown: 'live', text: `Live${words}`, isAged: false };
  }

  show() {
    if (!this.#view.symbol || !this.#state.width) return;
    const { kind, period } = this.#choice;
    const { symbol, feed } = this.#view;
    this.#history.follow(`${symbol} ${kind} ${kinds[kind].hasPeriod ? period : ''}`, pathsOf(kind, symbol, period), kinds[kind].read);
    const isAsking = document.visibilityState === 'visible' && feed.connection.state === 'open' && !this.#isPaused;
    if (isAsking) this.#history.ask();
    press($('derivatives-tabs'), (button) => button.dataset.shows === kind);
    $('period').value = period;
    $('period').hidden = !kinds[kind].hasPeriod;
    const { rows, refusal } = this.#history;
    const look = this.#look;
    setState($('derivatives-state'), { ...look, words: look.text });
    set($('derivatives-empty'), Derivatives.#nothing(refusal, look, rows.length));
    this.#showNow(kind);
    this.#draw(kind, rows, look.isAged);
    this.#read();
  }

  static #nothing(refusal, { shown, error }, count) {
    if (refusal) return `The venue does not publish this: ${refusal}`;
    if (count > 1) return '';
    if (shown === 'connecting') return 'Waiting for the history.';
    return error ?? (count ? 'The venue has one value so far.' : 'The venue has no value yet.');
  }

  /** The current value, from the streams, with their state. */
  #showNow(kind) {
    const { symbol, feed, streams } = this.#view;
    const now = this.#freshness.venueTime;
    const [mark, funding] = ['marks', 'fundings'].map((part) => this.#view.row(part, symbol));
    const { base, quote } = unitsOf(symbol);
    const interest = feed.get(streams.interest)?.openInterest;
    const basis = basisOf(mark, bare(symbol), now);
    const decimals = this.#view.decimals(symbol);
    const yearly = basis?.yearly === undefined ? 'no delivery date' : `${percent(String(basis.yearly), 2)} / year`;
    const texts = {
      funding: () => (mark ? `Now ${percent(mark.lastFundingRate)}${funding ? ` / ${funding.intervalHours} h, ${percent(funding.annualised, 1)} / year` : ''}, due in ${until(mark.nextFundingTime, now)}` : 'Now –'),
      interest: () => (interest ? `Now ${short(Number(interest))} ${base}, ${notional(interest * mark?.markPrice, quote)}` : 'Now –'),
      ratio: () => 'Accounts, not positions',
      basis: () => (basis ? `Now ${grouped(basis.amount.toFixed(decimals), decimals)} ${quote}, ${percent(String(basis.share), 4)}, ${yearly}` : 'Now –'),
    };
    set($('derivatives-now'), texts[kind]());
    const source = kind === 'interest' ? streams.interest : this.#view.sourceOf('marks');
    $('derivatives-now').classList.toggle('aged', kind !== 'ratio' && this.#freshness.look(source).isAged);
  }

  #draw(kind, rows, isAged) {
    const key = `${this.#choice.kind} ${this.#choice.period} ${isAged} ${zone.isLocal} ${rows.length} ${rows.at(-1)?.time}`;
    if (this.#state.drawn === key) return;
    Object.assign(this.#state, { drawn: key, pointed: undefined });
    this.#state.plot = draw(this.#canvas, rows, { isBars: kind === 'funding' || kind === 'basis', isAged, write: write[kind], brief: (time) => zone.brief(time) });
    const last = rows.at(-1);
    const words = last ? `${rows.length} values until ${zone.brief(last.time)}, the last one ${write[kind](last.value)}` : 'nothing yet';
    this.#canvas.setAttribute('aria-label', `${kinds[kind].words}: ${words}`);
  }

  /** The value under the pointer, or the last one. */
  #read() {
    const { kind } = this.#choice;
    const row = this.#state.pointed ?? this.#history.rows.at(-1);
    const { quote } = unitsOf(this.#view.symbol ?? '');
    const more = row ? { interest: `, ${notional(row.more, quote)}`, ratio: `, long ${percent(String(row.more), 1).replace('+', '')}` }[kind] ?? '' : '';
    set($('derivatives-read'), row ? `${zone.brief(row.time)}: ${write[kind](row.value)}${more}` : '');
  }
}
