// One row of the table across venues.

import { decimal, shifted, written } from './decimal.js';
import { set } from './dom.js';
import { age, decimalsOf, grouped, short, until, whole } from './format.js';

const columns = ['mark', 'index', 'best', 'hourly', 'funding', 'next', 'interest', 'volume', 'state-of', 'age'];

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

/** The row of a venue. */
export class VenueRow {
  #cells;
  #state;
  #contract;

  /** @param {string} venue @param {(() => void)|undefined} choose shows the venue's symbol in all panels, if the page can */
  constructor(venue, choose) {
    this.line = document.createElement('tr');
    const head = this.line.appendChild(Object.assign(document.createElement('th'), { scope: 'row' }));
    const name = head.appendChild(document.createElement(choose ? 'button' : 'span'));
    name.textContent = venue;
    name.className = 'name';
    if (choose) {
      Object.assign(name, { type: 'button', title: `Show the symbol of ${venue}` });
      name.addEventListener('click', choose);
    }
    this.#contract = head.appendChild(document.createElement('small'));
    this.#cells = Object.fromEntries(columns.map((column) => [column, Object.assign(this.line.insertCell(), { className: column })]));
    this.#state = this.#cells['state-of'].appendChild(document.createElement('span'));
    this.#state.className = 'state';
  }

  /** @param {object|undefined} row of `GET /markets/{asset}`; undefined while the venue has not sent anything @param {{frozen?: string, passed?: number, now?: number}} how
   *   `frozen`: the state of the whole table if it is not updated; `passed`: the age of the answer, ms; `now`: the venue's time */
  show(row, { frozen, passed, now }) {
    const shown = frozen ?? row?.state ?? 'connecting';
    const words = shown === 'connecting' ? 'waiting' : shown;
    this.line.classList.toggle('aged', row !== undefined && shown !== 'live');
    set(this.#contract, row ? ` ${row.symbol}${row.symbol.endsWith(row.quote) ? '' : ` ${row.quote}`}` : '');
    const values = row ? texts(row, now) : {};
    for (const column of columns.slice(0, 8)) set(this.#cells[column], values[column] ?? '–');
    this.#cells.hourly.title = row?.fundingPerHour === undefined ? '' : `${row.fundingPerHour} of the position per hour`;
    this.#state.dataset.state = shown;
    set(this.#state, words[0].toUpperCase() + words.slice(1));
    set(this.#cells.age, row?.ageMs === undefined ? '–' : age(row.ageMs + passed));
  }
}
