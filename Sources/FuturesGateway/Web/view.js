// The page's state in one place: the chosen symbol and interval, the streams that are read for them, and the newest rows of all symbols.

import { barsOf, intervals } from './bars.js';
import { Feed } from './client.js';
import { Prices } from './prices.js';
import { marketStreams, partOf, Rows } from './rows.js';
import { prefixOf, Venues } from './venues.js';

/** The page's state. It dispatches `change` when the view changes, and `news` (with the stream's name as detail) when a stream has an event. */
export class View extends EventTarget {
  symbol;
  interval = '1m';
  watched = new Set();
  #rows = new Rows();
  #prices = new Prices(this);
  #state = { own: new Set(), starred: [], attached: new Map() };

  /** @param {string} [credential] @param {Feed} [feed] */
  constructor(credential, feed = new Feed([], { credential })) {
    super();
    this.feed = feed;
    this.venues = new Venues((path) => feed.request(path));
    for (const event of ['update', 'fetch']) this.feed.addEventListener(event, ({ detail }) => this.#take(detail));
    for (const event of ['status', 'recover']) this.feed.addEventListener(event, ({ detail }) => this.#report(detail.stream));
    this.feed.addEventListener('session', ({ detail }) => this.#begin(detail));
    this.feed.addEventListener('refused', ({ detail }) => {
      if (partOf(detail.stream)) this.#turn();
      this.#report(detail.stream);
    });
  }
  /** The prefix of the symbol in an address. @param {string} address */
  prefixIn(address) { return prefixOf(this.venues.read(address).symbols[0] ?? ''); }

  /** Starts with the view that the page's URL names, or with a symbol of the first venue. @param {string} address */
  begin(address) {
    const { symbols, streams } = this.venues.read(address);
    const interval = symbols[0]?.split('/')[1];
    if (intervals.includes(interval)) this.interval = interval;
    for (const name of streams) this.watched.add(name);
    const first = symbols[0]?.split('/')[0] || streams.map((name) => this.venues.symbolOf(name)).find(Boolean);
    this.symbol = this.known(first) ?? this.venues.usual;
    this.#turn();
  }

  /** The address that `begin` accepts, to bookmark and share a view. */
  get address() {
    const symbol = this.symbol && `${this.symbol}${this.interval === '1m' ? '' : `/${this.interval}`}`;
    return [symbol, ...[...this.watched].filter((name) => !this.feed.status(name).error)].filter(Boolean).join(',');
  }
  select(symbol) {
    this.symbol = this.known(symbol) ?? this.symbol;
    this.#turn();
  }

  /** The symbol if the venue lists it, or if the list is unknown. Dispatches `unlisted` if the venue does not list it. @param {string} [symbol] */
  known(symbol) {
    const listed = this.venues.symbols(prefixOf(symbol ?? ''));
    if (!symbol || !listed.length || listed.includes(symbol) || this.hasRow(symbol)) return symbol || undefined;
    this.dispatchEvent(new CustomEvent('unlisted', { detail: symbol }));
    return undefined;
  }

  show(interval) {
    this.interval = interval;
    this.#turn();
  }
  watch(name) {
    this.watched.add(this.venues.canonical(name));
    this.#turn();
  }
  unwatch(name) {
    this.watched.delete(name);
    this.#turn();
  }
  /** Also reads the rows of these symbols' venues. @param {string[]} symbols */
  keep(symbols) {
    const starred = [...new Set(symbols.map(prefixOf))];
    if (starred.join() === this.#state.starred.join()) return;
    this.#state.starred = starred;
    if (this.symbol) this.#turn();
  }
  /** Also reads these streams, for a part of the page. @param {string} owner @param {string[]} names */
  attach(owner, names) {
    if ((this.#state.attached.get(owner) ?? []).join() === names.join()) return;
    this.#state.attached.set(owner, names);
    if (this.symbol) this.#turn();
  }

  /** The streams of the chosen symbol, by purpose. */
  get streams() {
    const { symbol, interval } = this;
    const isRefused = (part) => this.feed.status(prefixOf(symbol ?? '') + marketStreams[part]).error;
    return {
      bars: barsOf(symbol, interval), book: `${symbol}@depth`, trades: `${symbol}@aggTrade`,
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

  /** The newest row of a symbol. @param {'marks'|'days'|'fundings'} part @param {string} symbol */
  row(part, symbol) { return this.#rows.get(part, symbol ?? ''); }
  hasRow(symbol) { return this.#rows.has(symbol); }
  /** The symbols of the chosen symbol's venue with rows, as they are shown. */
  get rowSymbols() { return this.#rows.symbolsOf(prefixOf(this.symbol ?? '')); }
  decimals(symbol) { return this.#rows.decimals(symbol); }

  /** The last price of a symbol that is shown, and its time. @param {string} [symbol] */
  lastOf(symbol) { return this.#prices.of(symbol); }
  /** The chosen symbol's last price. */
  get lastPrice() { return this.lastOf(this.symbol).price; }
  /** Fixes the last prices that are shown from now on. @returns {boolean} whether the chosen symbol's has changed */
  settle() { return this.#prices.settle(); }

  /** Makes the feed read the streams that are shown now. */
  #turn() {
    const { own, starred, attached } = this.#state;
    const others = [...attached.values()].flat();
    const venues = new Set([this.symbol ?? '', ...starred.filter((prefix) => this.venues.has(prefix)), ...others].map(prefixOf));
    const markets = [...venues].flatMap((prefix) => Object.values(marketStreams).map((stream) => prefix + stream));
    const wanted = new Set([...markets, ...(this.symbol ? Object.values(this.streams) : []), ...others, ...this.watched]);
    const gone = [...own].filter((name) => !wanted.has(name));
    const added = [...wanted].filter((name) => !own.has(name) && !this.feed.status(name).error);
    if (gone.length) this.feed.remove(...gone);
    // Rows that nothing updates would look current later.
    for (const name of gone) this.#rows.drop(name);
    if (added.length) this.feed.add(...added);
    this.#state.own = wanted;
    this.dispatchEvent(new Event('change'));
  }
  #take(event) {
    const { stream, content } = event;
    const part = Object.keys(marketStreams).find((one) => this.sourceOf(one, stream) === stream);
    if (part) this.#rows.take(part, event);
    if (stream === this.streams.trades) this.#rows.learn(this.symbol, ...content.slice(-20).map(({ price }) => price));
    this.#report(stream);
  }
  #begin({ resume }) {
    if (resume !== 'exact') this.#rows.clear();
  }
  #report(stream) { this.dispatchEvent(new CustomEvent('news', { detail: stream })); }
}
