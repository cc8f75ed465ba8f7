// All symbols in one table: sorted, filtered and searched. Only visible rows are in the document.

import { arrange, countWords, numbersOf } from './arrange.js';
import { Columns } from './columns.js';
import { $, pixels, set, setState } from './dom.js';
import { MarketRow } from './marketrow.js';
import { bare, label, prefixOf } from './venues.js';

export class Markets {
  #view;
  #freshness;
  #watchlist;
  #table = $('markets');
  #scroll = $('markets-scroll');
  #body = $('markets').tBodies[0];
  #columns = new Columns($('markets'), [4, 3, 2]);
  #state = { rows: [], order: { by: 'volume', isRising: false }, height: 22, room: { width: 0, height: 0 }, top: 0, drawn: [] };
  #chosen = new MarketRow($('markets').tFoot.insertRow());

  constructor(view, freshness, watchlist) {
    this.#view = view;
    this.#freshness = freshness;
    this.#watchlist = watchlist;
    watchlist.addEventListener('change', () => this.show());
    this.#scroll.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.measure()).observe(this.#scroll);
    for (const id of ['search', 'filter']) $(id).addEventListener('input', () => this.#search());
    this.#table.tHead.addEventListener('click', ({ target }) => {
      if (target.dataset.by) this.#sort(target.dataset.by);
    });
    for (const part of [this.#body, this.#table.tFoot]) part.addEventListener('click', ({ target }) => this.#click(target));
    this.#scroll.addEventListener('keydown', (event) => this.#press(event));
    $('search').addEventListener('keydown', (event) => this.#enter(event));
  }
  /** Takes the size of the type from the style sheet. */
  measure() {
    this.#state.height = pixels('row');
    // Sizes are read here, because a panel that reads them while others draw makes the browser lay out the page several times in a frame.
    this.#state.room = { width: this.#scroll.clientWidth, height: this.#scroll.clientHeight };
    this.#columns.forget();
    this.show();
  }
  #scrolled() {
    this.#state.top = this.#scroll.scrollTop;
    if (this.#view.symbol) this.#draw(this.#state.drawn);
  }
  #enter(event) {
    if (event.key === 'Enter') this.#choose(this.#arranged()[0]?.symbol);
    else if (event.key === 'ArrowDown') this.#press(event);
  }
  #search() {
    this.#scroll.scrollTop = 0;
    this.show();
  }
  #click(target) {
    const { symbol } = target.closest('tr').dataset;
    if (target.matches('.star')) this.#watchlist.toggle(symbol);
    else this.#choose(symbol);
  }
  get #current() { return label(this.#view.symbol ?? ''); }
  #choose(symbol) { if (symbol) this.#view.select(symbol.toLowerCase()); }
  #sort(by) {
    this.#state.order = { by, isRising: this.#state.order.by === by ? !this.#state.order.isRising : by === 'symbol' };
    for (const button of this.#table.tHead.querySelectorAll('button')) {
      const isBy = button.dataset.by === by;
      button.closest('th').setAttribute('aria-sort', isBy ? (this.#state.order.isRising ? 'ascending' : 'descending') : 'none');
    }
    this.measure();
  }
  /** The arrow keys move through the symbols in the shown order. */
  #press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const [rows, { height }] = [this.#arranged(), this.#state];
    if (!rows.length) return;
    const at = rows.findIndex(({ symbol }) => symbol === this.#current);
    const next = Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step));
    const [top, page] = [next * height, this.#scroll.clientHeight - height];
    if (top < this.#scroll.scrollTop) this.#scroll.scrollTop = top;
    else if (top + height > this.#scroll.scrollTop + page) this.#scroll.scrollTop = top + height - page;
    this.#choose(rows[next].symbol);
  }

  #arranged(rows = this.rows()) { return arrange(rows, { search: $('search').value.trim(), filter: $('filter').value, ...this.#state.order }); }

  #isOwn(symbol) { return prefixOf(symbol) === prefixOf(this.#view.symbol ?? ''); }

  /** A symbol as a row has it: with its venue if that is another one than the rest. */
  #name(symbol) {
    if (this.#isOwn(symbol)) return bare(symbol);
    return prefixOf(symbol) ? symbol : `${this.#view.feed.connection.upstreams?.[0]?.name ?? 'first'}:${symbol}`;
  }

  /** The numbers of the venue's symbols, and of those of other venues that have a star; in no order. */
  rows() { return numbersOf(this.#view, this.#watchlist); }

  show() {
    if (!this.#view.symbol || !this.#state.room.height) return;
    const all = this.rows();
    const rows = this.#arranged(all);
    set($('markets-count'), countWords(prefixOf(this.#view.symbol), rows.length, all.length));
    const days = this.#freshness.look(this.#view.sourceOf('days'));
    for (const part of [this.#body, this.#table.tFoot]) part.classList.toggle('aged', days.isAged);
    setState($('markets-state'), days, days.shown === 'live' ? '' : days.words);
    this.#table.setAttribute('aria-rowcount', String(rows.length + 1));
    set($('markets-empty'), rows.length ? '' : Markets.#nothing(all.length, days));
    this.#table.hidden = !rows.length;
    this.#draw(rows);
  }
  /** Draws the rows in view: all that is needed while the table scrolls. */
  #draw(rows) {
    this.#state.drawn = rows;
    const { height, room, top } = this.#state;
    const count = Math.min(rows.length, Math.ceil(room.height / height) + 1);
    const from = Math.max(0, Math.min(Math.floor(top / height), rows.length - count));
    while (this.#state.rows.length < count) this.#state.rows.push(new MarketRow(this.#body.insertRow()));
    this.#state.rows.forEach((row, index) => this.#fill(row, index < count ? rows[from + index] : undefined, from + index));
    const isChosenShown = this.#showChosen(rows);
    this.#columns.fit(prefixOf(this.#view.symbol), [...this.#state.rows, this.#chosen].map(({ texts }) => texts), room.width, [24, 12, 0, 0, 10]);
    // The chosen row has a place at the end, shown or not, so that the last row can be scrolled above it. The gap above it leaves whole rows in view.
    const gap = room.height % height;
    const rest = isChosenShown ? 0 : height + gap;
    this.#chosen.line.style.setProperty('--gap', `${gap}px`);
    const { style } = this.#scroll.firstElementChild;
    style.setProperty('--above', `${from * height}px`);
    style.setProperty('--below', `${Math.max(0, rows.length - from - count) * height + rest}px`);
  }
  static #nothing(count, { error, shown }) {
    if (count) return 'No matching symbol.';
    if (error) return 'The gateway refused the list of symbols.';
    return shown === 'live' ? 'The venue has sent no symbol.' : 'Waiting for the symbols.';
  }
  /** The chosen symbol's row stays in view: below the others, while its own place is out of sight. @returns whether it is shown there */
  #showChosen(rows) {
    const place = rows.findIndex(({ symbol }) => symbol === this.#current);
    const { height, room, top } = this.#state;
    const isSeen = place * height > top - height / 2 && (place + 1) * height < top + room.height - height / 2;
    this.#fill(this.#chosen, place < 0 || isSeen ? undefined : rows[place], place);
    return !this.#chosen.line.hidden;
  }
  #fill(row, market, index) {
    if (!market) return row.clear();
    const { symbol } = market;
    const isCurrent = symbol === this.#current;
    // The rows of the venue are dimmed together.
    const isAged = !this.#isOwn(symbol) && this.#freshness.look(this.#view.sourceOf('days', symbol)).isAged;
    return row.fill(market, { index, isCurrent, isAged, name: this.#name(symbol), decimals: this.#view.decimals(symbol), watchlist: this.#watchlist });
  }
}
