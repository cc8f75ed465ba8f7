// The chosen symbol's numbers. Only numbers of that symbol are shown beside its name.

import { basisOf } from './basis.js';
import { $, set, setChange, setPrice } from './dom.js';
import { age, grouped, notional, percent, short, unitsOf, until, whole } from './format.js';
import { bare, label } from './venues.js';

export class Instrument {
  #view;
  #freshness;

  constructor(view, freshness) {
    this.#view = view;
    this.#freshness = freshness;
  }

  /** The streams whose numbers the strip shows. */
  get #names() {
    const { streams } = this.#view;
    return [streams.trades, this.#view.sourceOf('marks'), this.#view.sourceOf('days')];
  }

  show() {
    const { symbol, lastPrice: last } = this.#view;
    const [mark, day, funding] = ['marks', 'days', 'fundings'].map((part) => this.#view.row(part, symbol));
    const decimals = this.#view.decimals(symbol);
    const price = (text) => (text && Number(text) ? grouped(text, decimals) : '–');
    const { base, quote } = unitsOf(symbol);
    set($('symbol'), label(symbol));
    for (const unit of document.querySelectorAll('[data-unit]')) set(unit, { base, quote }[unit.dataset.unit]);
    const unit = quote ? `Prices in ${quote}` : '';
    if ($('facts').title !== unit) $('facts').title = unit;
    setPrice($('price'), last, last && grouped(last, decimals), symbol);
    setChange($('change'), day?.openPrice, last);
    set($('mark'), mark ? grouped(mark.markPrice, decimals + 1) : '–');
    set($('index'), mark && Number(mark.indexPrice) ? grouped(mark.indexPrice, decimals + 1) : '–');
    set($('funding'), percent(mark?.lastFundingRate));
    set($('countdown'), mark?.nextFundingTime ? until(mark.nextFundingTime, this.#freshness.venueTime) : '–');
    set($('annualised'), funding ? `${percent(funding.annualised, 1)} / year, every ${funding.intervalHours} h` : '');
    set($('high'), price(day?.highPrice));
    set($('low'), price(day?.lowPrice));
    set($('turnover'), day ? short(Number(day.quoteVolume)) : '–');
    const interest = this.#view.feed.get(this.#view.streams.interest)?.openInterest;
    set($('interest'), interest ? short(Number(interest)) : '–');
    const title = interest ? `${whole(interest)} ${base}` : '';
    if ($('interest').title !== title) $('interest').title = title;
    set($('interest-worth'), interest && mark ? notional(interest * mark.markPrice, quote) : '');
    const basis = basisOf(mark, bare(symbol ?? ''), this.#freshness.venueTime);
    const yearly = basis?.yearly === undefined ? '' : `, ${percent(String(basis.yearly), 2)} / year`;
    set($('basis'), basis ? `${percent(String(basis.share), 3)}${yearly}` : '–');
    const looks = this.#names.map((name) => this.#freshness.look(name));
    const [trades, marks, days] = looks;
    for (const [ids, look] of [[['price'], trades], [['mark', 'index', 'funding', 'basis', 'countdown'], marks], [['annualised'], this.#freshness.look(this.#view.sourceOf('fundings'))], [['change', 'high', 'low', 'turnover'], days],
      [['interest', 'interest-worth'], this.#freshness.look(this.#view.streams.interest)]]) {
      for (const id of ids) $(id).classList.toggle('aged', look.isAged && $(id).textContent !== '–');
    }
    set($('age'), last ? age(trades.age) : '–');
    this.#title(last ? price(last) : undefined, symbol, trades);
  }

  #title(price, symbol, { shown }) {
    const demo = document.body.classList.contains('demo') ? 'DEMO ' : '';
    const title = price ? `${demo}${price} ${label(symbol)}${shown === 'live' ? '' : ` · ${shown === 'connecting' ? 'connecting' : 'not live'}`}` : `${demo}FuturesGateway`;
    if (document.title !== title) document.title = title;
  }
}
