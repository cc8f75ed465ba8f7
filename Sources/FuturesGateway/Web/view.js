// The page's state in one place: the chosen symbol and interval, the streams that are read for them, and the newest rows of all symbols.

import { Feed } from './client.js';
import { decimalsOf } from './format.js';
import { label, prefixOf, Venues } from './venues.js';

export const intervals = ['1s', '5s', '15s', '1m', '5m', '15m', '1h', '4h', '1d', '1w'];
const marketStreams = { marks: '!markPrice@arr@1s', days: '!miniTicker@arr', fundings: '!funding@arr' };

/** The page's state. It dispatches `change` when the view changes, and `news` (with the stream's name as detail) when a stream has an event. */
export class View extends EventTarget {
  symbol; interval = '1m'; #last = {}; watched = new Set();
  #rows = { marks: new Map(), days: new Map(), fundings: new Map() }; #decimals = new Map(); #own = new Set(); #starred = [];

  /** @param {string} [credential] @param {Feed} [feed] */
  constructor(credential, feed = new Feed([], { credential })) {
    super();
    this.feed = feed;
    this.venues = new Venues((path) => feed.request(path));
    for (const event of ['update', 'fetch']) this.feed.addEventListener(event, ({ detail }) => this.#take(detail));
    for (const event of ['status', 'recover']) this.feed.addEventListener(event, ({ detail }) => this.#tell(detail.stream));
    this.feed.addEventListener('session', ({ detail }) => { if (detail.resume !== 'exact') this.#forget(); });
    this.feed.addEventListener('refused', ({ detail }) => { if (this.#isOfMarkets(detail.stream)) this.#turn(); this.#tell(detail.stream); });
  }

  /** The symbols and the streams in an address. */
  #read(address) {
    const names = address.split(',').filter(Boolean).map((name) => this.venues.canonical(name));
    const symbols = names.filter((name) => this.venues.isSymbol(name));
    return [symbols, names.filter((name) => !symbols.includes(name))];
  }
  /** The prefix of the symbol in an address. @param {string} address */
  prefixIn(address) { return prefixOf(this.#read(address)[0][0] ?? ''); }

  /** Starts with the view that the page's URL names, or with a symbol of the first venue. @param {string} address */
  begin(address) {
    const [plain, streams] = this.#read(address);
    const interval = plain[0]?.split('/')[1];
    if (intervals.includes(interval)) this.interval = interval;
    for (const name of streams) this.watched.add(name);
    const first = plain[0]?.split('/')[0] || streams.map((name) => this.venues.symbolOf(name)).find(Boolean);
    this.symbol = this.#known(first) ?? this.venues.usual;
    this.#turn();
  }

  /** The address that `begin` accepts, to bookmark and share a view. */
  get address() {
    const symbol = this.symbol && `${this.symbol}${this.interval === '1m' ? '' : `/${this.interval}`}`;
    return [symbol, ...[...this.watched].filter((name) => !this.feed.status(name).error)].filter(Boolean).join(',');
  }

  select(symbol) { this.symbol = this.#known(symbol) ?? this.symbol; this.#turn(); }
  /** The symbol if the venue lists it, or if the list is unknown. Dispatches `unlisted` if the venue does not list it. */
  #known(symbol) {
    const listed = this.venues.symbols(prefixOf(symbol ?? ''));
    if (!symbol || !listed.length || listed.includes(symbol) || this.hasRow(symbol)) return symbol || undefined;
    this.dispatchEvent(new CustomEvent('unlisted', { detail: symbol }));
    return undefined;
  }
  show(interval) { this.interval = interval; this.#turn(); }
  /** Shows longer or shorter bars. @param {number} places in the list of intervals */
  step(places) { this.show(intervals[Math.min(intervals.length - 1, Math.max(0, intervals.indexOf(this.interval) + places))]); }
  watch(name) { this.watched.add(this.venues.canonical(name)); this.#turn(); }
  unwatch(name) { this.watched.delete(name); this.#turn(); }

  /** Also reads the rows of the venues of these symbols. @param {string[]} symbols */
  keep(symbols) {
    const starred = [...new Set(symbols.map(prefixOf))];
    if (starred.join() === this.#starred.join()) return;
    this.#starred = starred;
    if (this.symbol) this.#turn();
  }

  /** The streams of the chosen symbol, by purpose. */
  get streams() {
    const { symbol, interval } = this;
    const isRefused = (part) => this.feed.status(prefixOf(symbol ?? '') + marketStreams[part]).error;
    return {
      bars: `${symbol}@${interval.endsWith('s') ? 'bar' : 'kline'}_${interval}`, book: `${symbol}@depth`, trades: `${symbol}@aggTrade`,
      liquidations: `${symbol}@forceOrder`, interest: `${symbol}@openInterest`,
      ...(isRefused('marks') && { mark: `${symbol}@markPrice@1s` }), ...(isRefused('days') && { day: `${symbol}@miniTicker` }),
    };
  }
  /** The stream with the mark prices, or the 24 h statistics, of a symbol. @param {'marks'|'days'|'fundings'} part @param {string} [symbol] */
  sourceOf(part, symbol = this.symbol ?? '') {
    const [prefix, { mark, day }] = [prefixOf(symbol), this.streams];
    const own = prefix === prefixOf(this.symbol ?? '') ? { marks: mark, days: day }[part] : undefined;
    return own ?? prefix + marketStreams[part];
  }
  #isOfMarkets(name) { return Object.values(marketStreams).some((stream) => name === prefixOf(name) + stream); }

  /** The newest row of a symbol: of `marks`, `days` or `fundings`. @param {'marks'|'days'|'fundings'} part @param {string} symbol */
  row(part, symbol) { return this.#rows[part].get(label(symbol ?? '')); }
  hasRow(symbol) { return Boolean(this.row('days', symbol) ?? this.row('marks', symbol)); }
  /** The symbols of the chosen symbol's venue with rows, as they are shown. */
  get rowSymbols() {
    const prefix = prefixOf(this.symbol ?? '');
    const [days, marks] = ['days', 'marks'].map((part) => [...this.#rows[part].keys()].filter((symbol) => prefixOf(symbol) === prefix));
    return days.length ? days : marks;
  }

  /** The chosen symbol's last trade price, as of the last `settle`, so that all panels show the same price. */
  get lastPrice() { return this.#last.symbol === this.symbol ? this.#last.price : undefined; }
  /** Fixes the price that is shown from now on. Called once per frame. */
  settle() { this.#last = { symbol: this.symbol, price: this.feed.get(this.streams.trades)?.at(-1)?.price ?? this.row('days', this.symbol)?.lastPrice }; }
  /** The number of decimals of the venue's prices of a symbol, as seen until now. */
  decimals(symbol) { return this.#decimals.get(label(symbol)) ?? 2; }
  #learn(symbol, ...prices) {
    const known = this.#decimals.get(symbol) ?? 0;
    this.#decimals.set(symbol, Math.max(known, ...prices.map(decimalsOf)));
  }

  /** Makes the feed read the streams that are shown now. */
  #turn() {
    const venues = new Set([prefixOf(this.symbol ?? ''), ...this.#starred.filter((prefix) => this.venues.has(prefix))]);
    const markets = [...venues].flatMap((prefix) => Object.values(marketStreams).map((stream) => prefix + stream));
    const wanted = new Set([...markets, ...(this.symbol ? Object.values(this.streams) : []), ...this.watched]);
    const refused = (name) => this.feed.status(name).error;
    const gone = [...this.#own].filter((name) => !wanted.has(name));
    const added = [...wanted].filter((name) => !this.#own.has(name) && !refused(name));
    if (gone.length) this.feed.remove(...gone);
    // Rows that nothing updates would look current later.
    gone.forEach((name) => this.#drop(name));
    if (added.length) this.feed.add(...added);
    this.#own = wanted;
    this.dispatchEvent(new Event('change'));
  }

  #take({ stream, kind, content }) {
    const [part, prefix] = [Object.keys(marketStreams).find((part) => this.sourceOf(part, stream) === stream), prefixOf(stream)];
    if (part) {
      const rows = part === 'fundings' ? content.rows : Array.isArray(content) ? content : [content];
      if (kind === 'full' && Array.isArray(content)) this.#drop(stream);
      for (const row of rows) {
        this.#rows[part].set(prefix + row.symbol, row);
        if (part === 'days') this.#learn(prefix + row.symbol, row.lastPrice, row.openPrice, row.highPrice, row.lowPrice);
      }
    }
    if (stream === this.streams.trades) this.#learn(label(this.symbol), ...content.slice(-20).map(({ price }) => price));
    this.#tell(stream);
  }
  #tell(stream) { this.dispatchEvent(new CustomEvent('news', { detail: stream })); }
  /** Forgets the rows of a stream of all symbols. */
  #drop(name) {
    const part = Object.keys(marketStreams).find((part) => name === prefixOf(name) + marketStreams[part]);
    for (const symbol of this.#rows[part]?.keys() ?? []) if (prefixOf(symbol) === prefixOf(name)) this.#rows[part].delete(symbol);
  }
  #forget() { Object.values(this.#rows).forEach((rows) => rows.clear()); }
}
