// The newest trades and liquidations of the chosen symbol, and the sums of buys and sells.

import { $, press, set } from './dom.js';
import { clock, short, unitsOf } from './format.js';
import { Flow, worth } from './orderflow.js';
import { Prints } from './prints.js';

const ofTrade = (trade) => ({ price: trade.price, size: trade.qty, worth: worth(trade), isBuy: !trade.isBuyerMaker, time: trade.time });
const ofLiquidation = ({ averagePrice, price, qty, side, time }) => {
  const paid = Number(averagePrice) ? averagePrice : price;
  return { price: paid, size: qty, worth: worth({ price: paid, qty }), isBuy: side === 'BUY', time };
};
const none = { trades: 'No trade yet.', liquidations: 'None since the page was opened.' };

export class Trades {
  #view;
  #freshness;
  #tables = { trades: new Prints($('trades')), liquidations: new Prints($('liquidations')) };
  #flow = new Flow();
  #state = { trades: undefined, least: 0, rows: undefined };

  constructor(view, freshness) {
    this.#view = view;
    this.#freshness = freshness;
    $('prints-tabs').addEventListener('click', ({ target }) => this.#turn(target));
    $('least').addEventListener('change', () => this.show());
  }

  #turn(target) {
    if (!target.dataset.shows) return;
    $('prints').dataset.shows = target.dataset.shows;
    press($('prints-tabs'), (button) => button === target);
    this.measure();
  }

  /** Takes the size of the type from the style sheet. */
  measure() {
    for (const table of Object.values(this.#tables)) table.measure();
    if (this.#view.symbol) this.show();
  }

  show() {
    const { streams, symbol, feed } = this.#view;
    const decimals = this.#view.decimals(symbol);
    const trades = feed.get(streams.trades);
    this.#flow.add(symbol, trades);
    this.#showFlow(this.#freshness.look(streams.trades).isAged);
    this.#tables.trades.show(streams.trades, this.#large(trades), decimals, ofTrade);
    this.#tables.liquidations.show(streams.liquidations, feed.get(streams.liquidations), decimals, ofLiquidation);
    this.#showState('trades', trades, trades?.length > 0 && !this.#state.rows?.length);
    this.#showState('liquidations', feed.get(streams.liquidations), false);
  }

  #showState(id, prints, isFiltered) {
    const look = this.#freshness.look(this.#view.streams[id]);
    const state = $(`${id}-state`);
    state.title = look.error ?? '';
    set(state, Trades.#words(id, look, !prints?.length, isFiltered));
    $(id).classList.toggle('aged-book', look.isAged);
  }

  static #words(id, look, isEmpty, isFiltered) {
    if (look.error) return 'The gateway refused them.';
    const aged = look.isAged ? look.words : '';
    if (isEmpty && id === 'trades' && look.shown === 'connecting') return 'Waiting.';
    if (isEmpty) return [none[id], aged].filter(Boolean).join(' ');
    return isFiltered ? ['None of this size.', aged].filter(Boolean).join(' ') : aged;
  }

  /** The trades of at least the chosen worth. */
  #large(trades) {
    const least = Number($('least').value);
    if (this.#state.trades !== trades || this.#state.least !== least) {
      const rows = least ? trades?.filter((trade) => worth(trade) >= least) : trades;
      this.#state = { trades, least, rows };
    }
    return this.#state.rows;
  }

  /** The sums of buys and sells, and since when. */
  #showFlow(isAged) {
    const { buys, sells, since, missed } = this.#flow.sums;
    const { quote } = unitsOf(this.#view.symbol);
    const words = since ? `Buys ${short(buys)}, sells ${short(sells)} ${quote} since ${clock(since)}` : '';
    set($('flow'), missed ? `${words}; ${missed} trades are missing` : words);
    const title = since ? `The difference is ${short(buys - sells)} ${quote}` : '';
    if ($('flow').title !== title) $('flow').title = title;
    $('flow').classList.toggle('aged', isAged);
  }
}
