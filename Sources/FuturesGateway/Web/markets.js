// All symbols in one table: sorted, filtered and searched. Only visible rows are in the document.

import { $, set, setChange, setPrice } from './dom.js';
import { grouped, percent, short } from './format.js';

const height = 22;
const filters = {
  all: () => true,
  rising: ({ change }) => change > 0,
  falling: ({ change }) => change < 0,
  perpetual: ({ symbol }) => !symbol.includes('_'),
  dated: ({ symbol }) => symbol.includes('_'),
};

/** The rows of a market table. @param {{symbol: string}[]} rows with the numbers to sort by @returns the matching rows, in order */
export function arrange(rows, { search = '', filter = 'all', by = 'volume', isRising = false }) {
  const wanted = rows.filter((row) => filters[filter](row) && row.symbol.includes(search.toUpperCase()));
  const sign = isRising ? 1 : -1;
  const known = (value) => (Number.isFinite(value) ? 0 : 1);
  return wanted.sort((a, b) => (by === 'symbol'
    ? sign * (a.symbol < b.symbol ? -1 : a.symbol > b.symbol ? 1 : 0)
    : known(a[by]) - known(b[by]) || (known(a[by]) ? 0 : sign * (a[by] - b[by])) || (a.symbol < b.symbol ? -1 : 1)));
}

export class Markets {
  #view; #freshness; #table = $('markets'); #scroll = $('markets-scroll'); #body; #rows = []; #order = { by: 'volume', isRising: false };

  constructor(view, freshness) {
    [this.#view, this.#freshness, this.#body] = [view, freshness, this.#table.tBodies[0]];
    this.#scroll.addEventListener('scroll', () => this.show(), { passive: true });
    new ResizeObserver(() => this.show()).observe(this.#scroll);
    for (const id of ['search', 'filter']) $(id).addEventListener('input', () => { this.#scroll.scrollTop = 0; this.show(); });
    this.#table.tHead.addEventListener('click', ({ target }) => { if (target.dataset.by) this.#sort(target.dataset.by); });
    this.#body.addEventListener('click', ({ target }) => this.#choose(target.closest('tr')?.dataset.symbol));
    this.#scroll.addEventListener('keydown', (event) => this.#press(event));
    $('search').addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.#choose(this.#arranged()[0]?.symbol);
      else if (event.key === 'ArrowDown') this.#press(event);
    });
  }

  #choose(symbol) { if (symbol) this.#view.select(symbol.toLowerCase()); }
  #sort(by) {
    this.#order = { by, isRising: this.#order.by === by ? !this.#order.isRising : by === 'symbol' };
    for (const button of this.#table.tHead.querySelectorAll('button')) {
      const isBy = button.dataset.by === by;
      button.closest('th').setAttribute('aria-sort', isBy ? (this.#order.isRising ? 'ascending' : 'descending') : 'none');
    }
    this.show();
  }

  /** The arrow keys move through the symbols in the shown order. */
  #press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const rows = this.#arranged();
    if (!rows.length) return;
    const at = rows.findIndex(({ symbol }) => symbol === this.#view.symbol?.toUpperCase());
    const next = Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step));
    const [top, page] = [next * height, this.#scroll.clientHeight - height];
    if (top < this.#scroll.scrollTop) this.#scroll.scrollTop = top;
    else if (top + height > this.#scroll.scrollTop + page) this.#scroll.scrollTop = top + height - page;
    this.#choose(rows[next].symbol);
  }

  #arranged() {
    const rows = this.#view.rowSymbols.map((symbol) => {
      const [day, mark] = [this.#view.row('days', symbol), this.#view.row('marks', symbol)];
      const isChosen = symbol === this.#view.symbol?.toUpperCase();
      const price = (isChosen ? this.#view.lastPrice : undefined) ?? day?.lastPrice ?? mark?.markPrice;
      const change = day ? Number(price) / Number(day.openPrice) - 1 : NaN;
      return { symbol, text: price, price: Number(price), open: day?.openPrice, change, funding: Number(mark?.lastFundingRate || NaN),
        rate: mark?.lastFundingRate, volume: day ? Number(day.quoteVolume) : NaN };
    });
    return arrange(rows, { search: $('search').value.trim(), filter: $('filter').value, ...this.#order });
  }

  show() {
    if (!this.#view.symbol) return;
    const rows = this.#arranged();
    const all = this.#view.rowSymbols.length;
    set($('markets-count'), all ? `${rows.length === all ? all : `${rows.length} of ${all}`}` : '');
    const count = Math.min(rows.length, Math.ceil(this.#scroll.clientHeight / height) + 1);
    const from = Math.max(0, Math.min(Math.floor(this.#scroll.scrollTop / height), rows.length - count));
    while (this.#rows.length < count) this.#grow();
    this.#table.setAttribute('aria-rowcount', String(rows.length + 1));
    this.#scroll.firstElementChild.style.setProperty('--above', `${from * height}px`);
    this.#scroll.firstElementChild.style.setProperty('--below', `${Math.max(0, rows.length - from - count) * height}px`);
    const days = this.#freshness.look(this.#view.sourceOf('days'));
    this.#body.classList.toggle('aged', days.isAged);
    const state = $('markets-state');
    state.dataset.state = days.shown;
    set(state, days.shown === 'live' ? '' : days.words);
    state.title = days.error ?? '';
    this.#rows.forEach((row, index) => this.#fill(row, index < count ? rows[from + index] : undefined, from + index));
    set($('markets-empty'), rows.length ? '' : all ? 'No matching symbol.' : days.error ? 'The gateway refused the list of symbols.' : (days.shown === 'live' ? '' : 'Waiting for the symbols.'));
    this.#table.hidden = !rows.length;
  }

  #grow() {
    const row = this.#body.insertRow();
    const cells = Array.from({ length: 5 }, () => row.insertCell());
    this.#rows.push({ row, cells });
  }

  #fill({ row, cells }, market, index) {
    if (row.hidden !== !market) row.hidden = !market;
    if (!market) return;
    const { symbol, text, open, price, rate, volume } = market;
    if (row.dataset.symbol !== symbol) row.dataset.symbol = symbol;
    const current = String(symbol === this.#view.symbol?.toUpperCase());
    if (row.getAttribute('aria-current') !== current) row.setAttribute('aria-current', current);
    row.setAttribute('aria-rowindex', String(index + 2));
    set(cells[0], symbol);
    cells[0].title = symbol;
    setPrice(cells[1], text, text && grouped(text, this.#view.decimals(symbol)), symbol);
    setChange(cells[2], open, price);
    set(cells[3], percent(rate));
    set(cells[4], short(volume));
  }
}
