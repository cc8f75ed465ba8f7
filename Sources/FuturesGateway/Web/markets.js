// All symbols in one table: sorted, filtered and searched. Only visible rows are in the document.

import { arrange } from './arrange.js';
import { $, set, setChange, setPrice } from './dom.js';
import { grouped, percent, short } from './format.js';
import { bare, label, prefixOf } from './venues.js';
import { showStar } from './watchlist.js';

const height = 22;
export class Markets {
  #view; #freshness; #watchlist; #table = $('markets'); #scroll = $('markets-scroll'); #body; #rows = []; #order = { by: 'volume', isRising: false };
  #chosen = this.#cells($('markets').tFoot.insertRow());

  constructor(view, freshness, watchlist) {
    [this.#view, this.#freshness, this.#watchlist, this.#body] = [view, freshness, watchlist, this.#table.tBodies[0]];
    watchlist.addEventListener('change', () => this.show());
    this.#scroll.addEventListener('scroll', () => this.show(), { passive: true });
    new ResizeObserver(() => this.show()).observe(this.#scroll);
    for (const id of ['search', 'filter']) $(id).addEventListener('input', () => { this.#scroll.scrollTop = 0; this.show(); });
    this.#table.tHead.addEventListener('click', ({ target }) => { if (target.dataset.by) this.#sort(target.dataset.by); });
    for (const part of [this.#body, this.#table.tFoot]) part.addEventListener('click', ({ target }) => this.#click(target));
    this.#scroll.addEventListener('keydown', (event) => this.#press(event));
    $('search').addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.#choose(this.#arranged()[0]?.symbol);
      else if (event.key === 'ArrowDown') this.#press(event);
    });
  }

  #click(target) {
    const { symbol } = target.closest('tr').dataset;
    if (target.matches('.star')) this.#watchlist.toggle(symbol);
    else this.#choose(symbol);
  }
  /** The chosen symbol as the table has it. */
  get #current() { return label(this.#view.symbol ?? ''); }
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
    const at = rows.findIndex(({ symbol }) => symbol === this.#current);
    const next = Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step));
    const [top, page] = [next * height, this.#scroll.clientHeight - height];
    if (top < this.#scroll.scrollTop) this.#scroll.scrollTop = top;
    else if (top + height > this.#scroll.scrollTop + page) this.#scroll.scrollTop = top + height - page;
    this.#choose(rows[next].symbol);
  }

  #arranged() { return arrange(this.rows(), { search: $('search').value.trim(), filter: $('filter').value, ...this.#order }); }

  /** Whether a symbol belongs to the chosen symbol's venue. */
  #isOwn(symbol) { return prefixOf(symbol) === prefixOf(this.#view.symbol ?? ''); }

  /** A symbol as a row has it: with its venue if that is another one than the rest. */
  #name(symbol) {
    if (this.#isOwn(symbol)) return bare(symbol);
    return prefixOf(symbol) ? symbol : `${this.#view.feed.connection.upstreams?.[0]?.name ?? 'first'}:${symbol}`;
  }

  /** The numbers of the venue's symbols, and of those of other venues that have a star; in no order. */
  rows() {
    const others = this.#watchlist.symbols.filter((symbol) => !this.#isOwn(symbol) && this.#view.hasRow(symbol));
    return [...this.#view.rowSymbols, ...others].map((symbol) => {
      const [day, mark] = [this.#view.row('days', symbol), this.#view.row('marks', symbol)];
      const isChosen = symbol === this.#current;
      const price = (isChosen ? this.#view.lastPrice : undefined) ?? day?.lastPrice ?? mark?.markPrice;
      const change = day ? Number(price) / Number(day.openPrice) - 1 : NaN;
      return { symbol, text: price, price: Number(price), open: day?.openPrice, change, funding: Number(mark?.lastFundingRate || NaN),
        rate: mark?.lastFundingRate, volume: day ? Number(day.quoteVolume) : NaN, isStarred: this.#watchlist.has(symbol) };
    });
  }

  show() {
    if (!this.#view.symbol) return;
    const rows = this.#arranged();
    const all = this.rows().length;
    const venue = prefixOf(this.#view.symbol).replace(':', ' · ');
    set($('markets-count'), all ? `${venue}${rows.length === all ? all : `${rows.length} of ${all}`}` : '');
    const count = Math.min(rows.length, Math.ceil(this.#scroll.clientHeight / height) + 1);
    const from = Math.max(0, Math.min(Math.floor(this.#scroll.scrollTop / height), rows.length - count));
    while (this.#rows.length < count) this.#grow();
    this.#table.setAttribute('aria-rowcount', String(rows.length + 1));
    this.#scroll.firstElementChild.style.setProperty('--above', `${from * height}px`);
    const days = this.#freshness.look(this.#view.sourceOf('days'));
    for (const part of [this.#body, this.#table.tFoot]) part.classList.toggle('aged', days.isAged);
    const state = $('markets-state');
    state.dataset.state = days.shown;
    set(state, days.shown === 'live' ? '' : days.words);
    state.title = days.error ?? '';
    this.#rows.forEach((row, index) => this.#fill(row, index < count ? rows[from + index] : undefined, from + index));
    // The chosen row has a place at the end, shown or not, so that the last row can be scrolled above it.
    const gap = this.#scroll.clientHeight % height;
    const rest = this.#showChosen(rows) ? 0 : height + gap;
    // The gap above the chosen row leaves whole rows in view.
    this.#chosen.row.style.setProperty('--gap', `${gap}px`);
    this.#scroll.firstElementChild.style.setProperty('--below', `${Math.max(0, rows.length - from - count) * height + rest}px`);
    set($('markets-empty'), rows.length ? '' : all ? 'No matching symbol.' : days.error ? 'The gateway refused the list of symbols.' : (days.shown === 'live' ? '' : 'Waiting for the symbols.'));
    this.#table.hidden = !rows.length;
  }

  /** The chosen symbol's row stays in view: below the others, while its own place is out of sight. @returns whether it is shown there */
  #showChosen(rows) {
    const place = rows.findIndex(({ symbol }) => symbol === this.#current);
    const { scrollTop, clientHeight } = this.#scroll;
    const isSeen = place * height > scrollTop - height / 2 && (place + 1) * height < scrollTop + clientHeight - height / 2;
    this.#fill(this.#chosen, place < 0 || isSeen ? undefined : rows[place], place);
    return !this.#chosen.row.hidden;
  }

  #grow() { this.#rows.push(this.#cells(this.#body.insertRow())); }
  #cells(row) {
    const cells = Array.from({ length: 5 }, () => row.insertCell());
    const star = cells[0].appendChild(Object.assign(document.createElement('button'), { type: 'button', className: 'star', tabIndex: -1 }));
    return { row, cells, star, name: cells[0].appendChild(document.createElement('span')) };
  }

  #fill({ row, cells, star, name }, market, index) {
    if (row.hidden !== !market) row.hidden = !market;
    if (!market) return row.removeAttribute('aria-current');
    const { symbol, text, open, price, rate, volume } = market;
    if (row.dataset.symbol !== symbol) row.dataset.symbol = symbol;
    const current = String(symbol === this.#current);
    if (row.getAttribute('aria-current') !== current) row.setAttribute('aria-current', current);
    row.setAttribute('aria-rowindex', String(index + 2));
    // The rows of the venue are dimmed together.
    row.classList.toggle('aged', !this.#isOwn(symbol) && this.#freshness.look(this.#view.sourceOf('days', symbol)).isAged);
    set(name, this.#name(symbol));
    cells[0].title = symbol;
    showStar(star, this.#watchlist, symbol);
    setPrice(cells[1], text, text && grouped(text, this.#view.decimals(symbol)), symbol);
    setChange(cells[2], open, price);
    set(cells[3], percent(rate));
    return set(cells[4], short(volume));
  }
}
