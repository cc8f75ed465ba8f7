// The order-book ladder: a fixed number of rows, so that nothing moves but the numbers.

import { grouped } from './format.js';

const levels = 12;

/** Shows the top of an order book in a table. */
export class Ladder {
  #table; #rows; #middle; #spread;

  /** @param {HTMLTableElement} table */
  constructor(table) {
    this.#table = table;
    this.#middle = table.querySelector('#middle');
    this.#spread = table.querySelector('#spread');
    this.#rows = Object.fromEntries(['asks', 'bids'].map((side) => [side, Array.from({ length: levels }, () => {
      const row = table.querySelector(`.${side}`).insertRow();
      return { row, cells: [row.insertCell(), row.insertCell(), row.insertCell()] };
    })]));
    this.#rows.asks.reverse();
  }

  /** @param {{bids: string[][], asks: string[][]}|undefined} book @param {boolean} isLive */
  show(book, isLive) {
    this.#table.classList.toggle('aged-book', Boolean(book) && !isLive);
    const sides = ['asks', 'bids'].map((side) => {
      let total = 0;
      return [side, (book?.[side] ?? []).slice(0, levels).map(([price, size]) => [price, size, (total += Number(size))])];
    });
    const most = Math.max(...sides.map(([, rows]) => rows.at(-1)?.[2] ?? 0));
    const decimals = (column) => Math.max(0, ...sides.flatMap(([, rows]) => rows.map((row) => row[column].replace(/0+$/, '').split('.')[1]?.length ?? 0)));
    const [priceDigits, sizeDigits] = [decimals(0), decimals(1)];
    for (const [side, rows] of sides) {
      this.#rows[side].forEach(({ row, cells }, index) => {
        const [price, size, total] = rows[index] ?? [];
        cells[0].textContent = price ? grouped(price, priceDigits) : '';
        cells[1].textContent = size ? grouped(size, sizeDigits) : '';
        cells[2].textContent = total ? grouped(total.toFixed(sizeDigits), sizeDigits) : '';
        row.style.setProperty('--depth', `${total ? (total / most) * 100 : 0}%`);
      });
    }
    const [ask, bid] = sides.map(([, rows]) => Number(rows[0]?.[0]));
    const middle = (ask + bid) / 2;
    this.#middle.textContent = middle ? grouped(middle.toFixed(priceDigits + 1), priceDigits + 1) : '–';
    this.#spread.textContent = middle ? `Spread ${(ask - bid).toFixed(priceDigits)} · ${(((ask - bid) / middle) * 1e4).toFixed(2)} bp` : '';
  }
}
