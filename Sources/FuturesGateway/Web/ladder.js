// The order book: a ladder with a fixed number of rows, so that only the numbers change.

import { Columns } from './columns.js';
import { $, set, setPrice, setState } from './dom.js';
import { age, decimalsOf, grouped, notional, short, unitsOf } from './format.js';
import { LadderRows } from './ladderrows.js';
import { balance, cost, grouping } from './orderflow.js';
import { label } from './venues.js';

/** The part of the book whose balance is shown, as a fraction of the price. */
const near = 0.001;
const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/** How many levels of a side are read for the number of decimals. */
const read = 40;

export class Ladder {
  #view;
  #freshness;
  #settings;
  #columns = new Columns($('book'), [2]);
  #rows = new LadderRows($('book'), $('book-box'));
  #state = { decimals: {}, width: 0, levels: { asks: [], bids: [] } };

  constructor(view, freshness, settings) {
    this.#view = view;
    this.#freshness = freshness;
    this.#settings = settings;
    $('group').append(...steps.map((step) => new Option(String(step), step)));
    $('group').addEventListener('change', () => this.show());
    this.#rows.addEventListener('point', () => this.show());
    new ResizeObserver(() => this.measure()).observe($('book-box'));
  }

  /** Takes the size of the type from the style sheet, and sets the number of rows that fit. */
  measure() {
    this.#state.width = $('book-box').clientWidth;
    this.#rows.fit();
    this.#columns.forget();
    this.show();
  }

  show() {
    if (!this.#view.symbol) return;
    const { book: name } = this.#view.streams;
    const book = this.#view.feed.get(name);
    const look = this.#freshness.look(name);
    $('book').classList.toggle('aged-book', Boolean(book) && look.isAged);
    // A quiet book may be live; its age shows how quiet it is.
    setState($('book-state'), look, look.age >= 3000 ? `${look.words} · ${age(look.age)}` : look.words);
    this.#learn(book, name);
    this.#showLevels(book);
    this.#showMiddle(book, look.isAged);
    this.#showFlow(book);
    $('book-flow').classList.toggle('aged', Boolean(book) && look.isAged);
  }

  #learn(book, name) {
    const known = this.#state.decimals;
    if (known.name !== name) Object.assign(known, { name, price: 0, size: 0 });
    const top = ['asks', 'bids'].flatMap((side) => book?.[side].slice(0, read) ?? []);
    known.price = Math.max(known.price, ...top.map(([price]) => decimalsOf(price)));
    known.size = Math.max(known.size, ...top.map(([, size]) => decimalsOf(size)));
    this.#label(known.price);
  }

  #showLevels(book) {
    const { decimals: { price: decimals, size: sizes }, levels, width } = this.#state;
    const isWorth = this.#settings.value.amounts === 'quote';
    const group = Number($('group').value || 1);
    const scale = 10 ** decimals;
    for (const side of ['asks', 'bids']) {
      let [total, paid] = [0, 0];
      levels[side] = grouping(book?.[side] ?? [], side, decimals, group, this.#rows.count).map(([place, size]) => {
        total += size;
        paid += size * place / scale;
        return { price: place / scale, size, total, paid };
      });
    }
    const most = Math.max(...['asks', 'bids'].map((side) => levels[side].at(-1)?.total ?? 0));
    const texts = this.#rows.fill(levels, ({ price, size, total, paid }) => [grouped(price.toFixed(decimals), decimals), grouped(size.toFixed(sizes), sizes),
      isWorth ? short(paid) : grouped(total.toFixed(sizes), sizes)], most);
    const { base, quote } = unitsOf(this.#view.symbol);
    set($('total-unit'), isWorth ? quote : base);
    this.#columns.fit(`${this.#state.decimals.name} ${isWorth}`, texts, width);
  }

  /** The last price, as in all other panels, and the distance between the best bid and the best ask. */
  #showMiddle(book, isAged) {
    const { symbol, lastPrice, streams } = this.#view;
    const { price: decimals } = this.#state.decimals;
    setPrice($('middle'), lastPrice, lastPrice && grouped(lastPrice, this.#view.decimals(symbol)), label(symbol));
    $('middle').classList.toggle('aged', Boolean(lastPrice) && this.#freshness.look(streams.trades).isAged);
    const [ask, bid] = ['asks', 'bids'].map((side) => Number(book?.[side][0]?.[0]));
    const middle = (ask + bid) / 2;
    set($('spread'), middle ? `Spread ${(ask - bid).toFixed(decimals)} · ${(((ask - bid) / middle) * 1e4).toFixed(2)} bp` : '');
    $('spread').classList.toggle('aged', Boolean(middle) && isAged);
  }

  /** The cost of an order up to the chosen row, or the balance of the book. */
  #showFlow(book) {
    const { decimals: { price: decimals, size: sizes }, levels } = this.#state;
    const { base, quote } = unitsOf(this.#view.symbol);
    const chosen = this.#rows.chosen;
    const level = chosen && levels[chosen.side][chosen.place];
    const order = level && cost(book?.[chosen.side] ?? [], level.total);
    if (order) {
      const { average, slippage, filled } = order;
      const words = [`${chosen.side === 'asks' ? 'Buy' : 'Sell'} ${grouped(filled.toFixed(sizes), sizes)} ${base}`, notional(average * filled, quote),
        `average ${grouped(average.toFixed(decimals), decimals)}`, `${(slippage * 1e4).toFixed(2)} bp`];
      return set($('book-flow'), words.join(' · '));
    }
    const share = balance(book, near);
    return set($('book-flow'), share === undefined ? '' : `Within ${near * 100} %: bids ${(share * 100).toFixed(0)} %, asks ${(100 - share * 100).toFixed(0)} %`);
  }

  /** The groups as prices. */
  #label(decimals) {
    if ($('group').dataset.decimals === String(decimals)) return;
    $('group').dataset.decimals = decimals;
    for (const option of $('group').options) {
      const zeros = option.value.match(/0*$/)[0].length;
      option.textContent = (option.value / 10 ** decimals).toFixed(Math.max(0, decimals - zeros));
    }
  }
}
