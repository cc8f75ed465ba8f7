// The order book: a ladder with a fixed number of rows, so that only the numbers change.

import { Depth } from './depth.js';
import { $, set } from './dom.js';
import { age, decimalsOf, grouped } from './format.js';
import { balance, cost } from './orderflow.js';

const height = 20;
/** The part of the book whose balance is shown, as a fraction of the price. */
const near = 0.001;
const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** The levels of a side in groups, best first: bids are rounded down and asks up, so that no group looks better than it is.
 * @param {[string, string][]} levels @param {number} group in units of the last decimal @returns {[number, number][]} price in those units, quantity */
export function grouping(levels, side, decimals, group, count = Infinity) {
  const groups = [];
  const scale = 10 ** decimals;
  const round = side === 'bids' ? Math.floor : Math.ceil;
  for (const [price, quantity] of levels) {
    const place = round(Math.round(price * scale) / group) * group;
    if (groups.at(-1)?.[0] === place) groups.at(-1)[1] += Number(quantity);
    else if (groups.length === count) break;
    else groups.push([place, Number(quantity)]);
  }
  return groups;
}

export class Ladder {
  #view;
  #freshness;
  #table = $('book');
  #box = $('book-box');
  #rows = { asks: [], bids: [] };
  #decimals = {};
  #depth = new Depth($('depth'));
  #pointed;

  constructor(view, freshness) {
    [this.#view, this.#freshness] = [view, freshness];
    $('group').append(...steps.map((step) => new Option(String(step), step)));
    $('group').addEventListener('change', () => this.show());
    // The row under the pointer, whatever level it shows by now.
    this.#table.addEventListener('pointerover', ({ target }) => this.#point(target.closest('.asks tr, .bids tr')));
    this.#table.addEventListener('pointerleave', () => this.#point(null));
    new ResizeObserver(() => this.#fit()).observe(this.#box);
  }

  /** Sets the number of rows that fit. */
  #fit() {
    const count = Math.max(8, Math.floor((this.#box.clientHeight - 50) / 2 / height));
    for (const side of ['asks', 'bids']) {
      const [rows, body] = [this.#rows[side], this.#table.querySelector(`.${side}`)];
      while (rows.length < count) {
        const row = body.insertRow(side === 'asks' ? 0 : -1);
        rows.push({ row, cells: [row.insertCell(), row.insertCell(), row.insertCell()] });
      }
      while (rows.length > count) rows.pop().row.remove();
    }
    this.show();
  }

  show() {
    if (!this.#view.symbol) return;
    const { book: name } = this.#view.streams;
    const [book, look] = [this.#view.feed.get(name), this.#freshness.look(name)];
    this.#table.classList.toggle('aged-book', Boolean(book) && look.isAged);
    const state = $('book-state');
    state.dataset.state = look.shown;
    // A quiet book may be live; its age shows how quiet it is.
    const words = look.words;
    set(state, look.age >= 3000 ? `${words} · ${age(look.age)}` : words);
    state.title = look.error ?? '';
    this.#ladder(book, name);
    this.#showFlow(book);
    $('book-flow').classList.toggle('aged', Boolean(book) && look.isAged);
    this.#depth.show(book, look.isAged, this.#decimals.price);
  }

  #point(row) {
    this.#pointed = row ?? undefined;
    this.show();
  }

  /** The cost of an order up to the row under the pointer, or the balance of the book. */
  #showFlow(book) {
    const total = Number(this.#pointed?.cells[2].textContent.replaceAll(',', ''));
    if (this.#pointed?.isConnected && total > 0) {
      const isBuy = this.#pointed.parentElement.className === 'asks';
      const { average, slippage, filled } = cost(book?.[isBuy ? 'asks' : 'bids'] ?? [], total) ?? {};
      const { price: decimals, size: sizes } = this.#decimals;
      if (average) return set($('book-flow'), [`${isBuy ? 'Buy' : 'Sell'} ${grouped(filled.toFixed(sizes), sizes)}`,
        `average ${grouped(average.toFixed(decimals), decimals)}`, `${(slippage * 1e4).toFixed(2)} bp`].join(' · '));
    }
    const share = balance(book, near);
    return set($('book-flow'), share === undefined ? '' : `Within ${near * 100} %: bids ${(share * 100).toFixed(0)} %, asks ${(100 - share * 100).toFixed(0)} %`);
  }

  #ladder(book, name) {
    if (this.#decimals.name !== name) this.#decimals = { name, price: 0, size: 0 };
    const top = ['asks', 'bids'].flatMap((side) => book?.[side].slice(0, 40) ?? []);
    this.#decimals.price = Math.max(this.#decimals.price, ...top.map(([price]) => decimalsOf(price)));
    this.#decimals.size = Math.max(this.#decimals.size, ...top.map(([, size]) => decimalsOf(size)));
    const { price: decimals, size: sizes } = this.#decimals;
    const group = Number($('group').value || 1);
    this.#label(decimals);
    const count = this.#rows.bids.length;
    const sides = ['asks', 'bids'].map((side) => {
      let total = 0;
      return [side, grouping(book?.[side] ?? [], side, decimals, group, count).map(([price, size]) => [price, size, (total += size)])];
    });
    const most = Math.max(...sides.map(([, rows]) => rows.at(-1)?.[2] ?? 0));
    for (const [side, rows] of sides) {
      this.#rows[side].forEach(({ row, cells }, index) => {
        const [price, size, total] = rows[index] ?? [];
        set(cells[0], total ? grouped((price / 10 ** decimals).toFixed(decimals), decimals) : '');
        set(cells[1], total ? grouped(size.toFixed(sizes), sizes) : '');
        set(cells[2], total ? grouped(total.toFixed(sizes), sizes) : '');
        const depth = `${total ? Math.round((total / most) * 100) : 0}%`;
        if (row.dataset.depth !== depth) { row.dataset.depth = depth; row.style.setProperty('--depth', depth); }
      });
    }
    const [ask, bid] = ['asks', 'bids'].map((side) => Number(book?.[side][0]?.[0]));
    const middle = (ask + bid) / 2;
    set($('middle'), middle ? grouped(middle.toFixed(decimals + 1), decimals + 1) : '–');
    set($('spread'), middle ? `Spread ${(ask - bid).toFixed(decimals)} · ${(((ask - bid) / middle) * 1e4).toFixed(2)} bp` : '');
  }

  /** The groups as prices. */
  #label(decimals) {
    if ($('group').dataset.decimals === String(decimals)) return;
    $('group').dataset.decimals = decimals;
    for (const option of $('group').options) option.textContent = (option.value / 10 ** decimals).toFixed(Math.max(0, decimals - (option.value.match(/0*$/)[0].length)));
  }
}
