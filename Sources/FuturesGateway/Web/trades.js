// The newest trades and liquidations of the chosen symbol, newest first.

import { $, press, set } from './dom.js';
import { clock, decimalsOf, grouped, short } from './format.js';
import { Flow, worth } from './orderflow.js';

const most = 60;

/** One table of trades or liquidations. */
class Prints {
  #rows = []; #body; #decimals = {}; #shown;

  constructor(body) { this.#body = body; }

  /** @param {object[]|undefined} prints oldest first @param {(print: object) => {price: string, size: string, isBuy: boolean, time: number}} read */
  show(name, prints = [], decimals, read) {
    if (this.#shown === prints) return;
    this.#shown = prints;
    const newest = prints.slice(-most).reverse().map(read);
    if (this.#decimals.name !== name) this.#decimals = { name, size: 0 };
    this.#decimals.size = Math.max(this.#decimals.size, ...newest.map(({ size }) => decimalsOf(size)));
    while (this.#rows.length < newest.length) {
      const row = this.#body.insertRow();
      this.#rows.push({ row, cells: [row.insertCell(), row.insertCell(), row.insertCell()] });
    }
    this.#rows.forEach(({ row, cells }, index) => {
      const print = newest[index];
      if (row.hidden !== !print) row.hidden = !print;
      if (!print) return;
      const way = print.isBuy ? 'up' : 'down';
      if (row.dataset.way !== way) row.dataset.way = way;
      set(cells[0], grouped(print.price, decimals));
      set(cells[1], grouped(print.size, this.#decimals.size));
      set(cells[2], clock(print.time));
    });
  }
}

export class Trades {
  #view;
  #freshness;
  #trades = new Prints($('trades').tBodies[0]);
  #liquidations = new Prints($('liquidations').tBodies[0]);
  #flow = new Flow();
  #chosen = {};

  constructor(view, freshness) {
    [this.#view, this.#freshness] = [view, freshness];
    $('prints-tabs').addEventListener('click', ({ target }) => {
      if (!target.dataset.shows) return;
      $('prints').dataset.shows = target.dataset.shows;
      press($('prints-tabs'), (button) => button === target);
    });
    $('least').addEventListener('change', () => this.show());
  }

  show() {
    const { streams: { trades, liquidations }, symbol, feed } = this.#view;
    const decimals = this.#view.decimals(symbol);
    this.#flow.add(symbol, feed.get(trades));
    this.#showFlow(this.#freshness.look(trades).isAged);
    this.#trades.show(trades, this.#large(feed.get(trades)), decimals, ({ price, qty, isBuyerMaker, time }) => ({ price, size: qty, isBuy: !isBuyerMaker, time }));
    this.#liquidations.show(liquidations, feed.get(liquidations), decimals,
      ({ averagePrice, price, qty, side, time }) => ({ price: Number(averagePrice) ? averagePrice : price, size: qty, isBuy: side === 'BUY', time }));
    for (const [id, name, none] of [['trades', trades, 'No trade yet.'], ['liquidations', liquidations, 'None since the page was opened.']]) {
      const look = this.#freshness.look(name);
      const isEmpty = !feed.get(name)?.length;
      const isFiltered = id === 'trades' && !isEmpty && !this.#chosen.rows?.length;
      $(`${id}-state`).title = look.error ?? '';
      set($(`${id}-state`), look.error ? 'The gateway refused them.' : isEmpty ? (look.shown === 'connecting' && id === 'trades' ? 'Waiting.' : none) : isFiltered ? 'None of this size.' : look.isAged ? look.words : '');
      $(id).classList.toggle('aged-book', look.isAged);
    }
  }

  /** The trades of at least the chosen worth. */
  #large(trades) {
    const least = Number($('least').value);
    if (this.#chosen.trades !== trades || this.#chosen.least !== least) {
      this.#chosen = { trades, least, rows: least ? trades?.filter((trade) => worth(trade) >= least) : trades };
    }
    return this.#chosen.rows;
  }

  /** The sums of buys and sells, and since when. */
  #showFlow(isAged) {
    const { buys, sells, since, missed } = this.#flow.sums;
    const words = since ? `Buys ${short(buys)}, sells ${short(sells)} since ${clock(since)}` : '';
    set($('flow'), missed ? `${words}; ${missed} trades are missing` : words);
    $('flow').title = since ? `${$('flow').textContent}, in the quote asset; the difference is ${short(buys - sells)}` : '';
    $('flow').classList.toggle('aged', isAged);
  }
}
