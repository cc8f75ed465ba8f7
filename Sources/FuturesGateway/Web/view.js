// The page's state in one place: the chosen symbol and interval, the streams that are read for them, and the newest rows of all symbols.

import { Feed } from './client.js';
import { decimalsOf } from './format.js';

export const intervals = ['1s', '5s', '15s', '1m', '5m', '15m', '1h', '4h', '1d', '1w'];
const marketStreams = { marks: '!markPrice@arr@1s', days: '!miniTicker@arr', fundings: '!funding@arr' };
const firstSymbols = ['btcusdt', 'ethusdt', 'solusdt', 'bnbusdt'];

/** The symbol of a stream of the venue, in lower case; undefined if it has several, or belongs to another upstream. */
export const symbolOf = (name) => (name.includes('@') && !/^!|:/.test(name) ? name.split('@')[0] : undefined);

/** A symbol, or a stream of the venue, as the gateway names it: `#BTCUSDT` is `btcusdt`, `BTCUSDT@kline_1M` is `btcusdt@kline_1M`. @param {string} name */
export const canonical = (name) => (name.includes(':') ? name : name.replace(/^[^@/]*/, (symbol) => (symbol.startsWith('!') ? symbol : symbol.toLowerCase())));

/** The page's state. It dispatches `change` when the view changes, and `news` (with the stream's name as detail) when a stream has an event. */
export class View extends EventTarget {
  symbol; interval = '1m'; #last = {}; watched = new Set();
  #rows = { marks: new Map(), days: new Map(), fundings: new Map() }; #decimals = new Map(); #own = new Set(); #symbols = [];

  /** @param {string} [credential] @param {Feed} [feed] */
  constructor(credential, feed = new Feed([], { credential })) {
    super();
    this.feed = feed;
    for (const event of ['update', 'fetch']) this.feed.addEventListener(event, ({ detail }) => this.#take(detail));
    for (const event of ['status', 'recover']) this.feed.addEventListener(event, ({ detail }) => this.#tell(detail.stream));
    this.feed.addEventListener('session', ({ detail }) => { if (detail.resume !== 'exact') this.#forget(); });
    this.feed.addEventListener('refused', ({ detail }) => { if (this.#isOfMarkets(detail.stream)) this.#turn(); this.#tell(detail.stream); });
  }

  /** Starts with the view that the page's URL names, or with a symbol of the venue. @param {string} address @param {string[]} symbols empty if unknown */
  begin(address, symbols) {
    const names = address.split(',').filter(Boolean).map(canonical);
    const [plain, streams] = [names.filter((name) => !/[@!:]/.test(name)), names.filter((name) => /[@!:]/.test(name))];
    const interval = plain[0]?.split('/')[1];
    if (intervals.includes(interval)) this.interval = interval;
    for (const name of streams) this.watched.add(name);
    this.symbols = symbols;
    const first = plain[0]?.split('/')[0] || streams.map(symbolOf).find(Boolean);
    this.symbol = this.#known(first) ?? firstSymbols.find((symbol) => symbols.includes(symbol)) ?? symbols[0] ?? firstSymbols[0];
    this.#turn();
  }

  /** The address that `begin` accepts, to bookmark and share a view. */
  get address() {
    const symbol = this.symbol && `${this.symbol}${this.interval === '1m' ? '' : `/${this.interval}`}`;
    return [symbol, ...[...this.watched].filter((name) => !this.feed.status(name).error)].filter(Boolean).join(',');
  }

  /** The venue's symbols, in lower case. */
  get symbols() { return this.#symbols; }
  set symbols(symbols) { this.#symbols = symbols; }

  select(symbol) { this.symbol = this.#known(symbol) ?? this.symbol; this.#turn(); }
  /** The symbol if the venue lists it, or if the list is unknown. Dispatches `unlisted` if the venue does not list it. */
  #known(symbol) {
    if (!symbol || !this.#symbols.length || this.#symbols.includes(symbol) || this.rowSymbols.includes(symbol.toUpperCase())) return symbol || undefined;
    this.dispatchEvent(new CustomEvent('unlisted', { detail: symbol }));
    return undefined;
  }
  show(interval) { this.interval = interval; this.#turn(); }
  /** Shows longer or shorter bars. @param {number} places in the list of intervals */
  step(places) { this.show(intervals[Math.min(intervals.length - 1, Math.max(0, intervals.indexOf(this.interval) + places))]); }
  watch(name) { this.watched.add(canonical(name)); this.#turn(); }
  unwatch(name) { this.watched.delete(name); this.#turn(); }

  /** The streams of the chosen symbol, by purpose. */
  get streams() {
    const { symbol, interval } = this;
    const isRefused = (part) => this.feed.status(marketStreams[part]).error;
    return {
      bars: `${symbol}@${interval.endsWith('s') ? 'bar' : 'kline'}_${interval}`, book: `${symbol}@depth`, trades: `${symbol}@aggTrade`,
      liquidations: `${symbol}@forceOrder`, interest: `${symbol}@openInterest`,
      ...(isRefused('marks') && { mark: `${symbol}@markPrice@1s` }), ...(isRefused('days') && { day: `${symbol}@miniTicker` }),
    };
  }
  /** The stream with the mark prices, or the 24 h statistics, of a symbol. */
  sourceOf(part) { return (part === 'marks' ? this.streams.mark : part === 'days' ? this.streams.day : undefined) ?? marketStreams[part]; }
  #isOfMarkets(name) { return Object.values(marketStreams).includes(name); }

  /** The newest row of a symbol: of `marks`, `days` or `fundings`. @param {'marks'|'days'|'fundings'} part @param {string} symbol */
  row(part, symbol) { return this.#rows[part].get(symbol?.toUpperCase()); }
  /** The symbols with rows, in upper case. */
  get rowSymbols() { return this.#rows.days.size ? [...this.#rows.days.keys()] : [...this.#rows.marks.keys()]; }

  /** The chosen symbol's last trade price, as of the last `settle`, so that all panels show the same price. */
  get lastPrice() { return this.#last.symbol === this.symbol ? this.#last.price : undefined; }
  /** Fixes the price that is shown from now on. Called once per frame. */
  settle() { this.#last = { symbol: this.symbol, price: this.feed.get(this.streams.trades)?.at(-1)?.price ?? this.row('days', this.symbol)?.lastPrice }; }
  /** The number of decimals of the venue's prices of a symbol, as seen until now. */
  decimals(symbol) { return this.#decimals.get(symbol.toUpperCase()) ?? 2; }
  #learn(symbol, ...prices) {
    const known = this.#decimals.get(symbol) ?? 0;
    this.#decimals.set(symbol, Math.max(known, ...prices.map(decimalsOf)));
  }

  /** Makes the feed read the streams that are shown now. */
  #turn() {
    const wanted = new Set([...Object.values(marketStreams), ...(this.symbol ? Object.values(this.streams) : []), ...this.watched]);
    const refused = (name) => this.feed.status(name).error;
    const gone = [...this.#own].filter((name) => !wanted.has(name));
    const added = [...wanted].filter((name) => !this.#own.has(name) && !refused(name));
    if (gone.length) this.feed.remove(...gone);
    if (added.length) this.feed.add(...added);
    this.#own = wanted;
    this.dispatchEvent(new Event('change'));
  }

  #take({ stream, kind, content }) {
    const part = Object.keys(marketStreams).find((part) => this.sourceOf(part) === stream);
    if (part) {
      const rows = part === 'fundings' ? content.rows : Array.isArray(content) ? content : [content];
      if (kind === 'full' && Array.isArray(content)) this.#rows[part].clear();
      for (const row of rows) {
        this.#rows[part].set(row.symbol, row);
        if (part === 'days') this.#learn(row.symbol, row.lastPrice, row.openPrice, row.highPrice, row.lowPrice);
      }
    }
    if (stream === this.streams.trades) this.#learn(this.symbol.toUpperCase(), ...content.slice(-20).map(({ price }) => price));
    this.#tell(stream);
  }
  #tell(stream) { this.dispatchEvent(new CustomEvent('news', { detail: stream })); }
  #forget() { Object.values(this.#rows).forEach((rows) => rows.clear()); }
}
