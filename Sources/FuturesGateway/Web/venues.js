// The futures venues that have the first venue's kinds of streams, and the names of their symbols and streams.

/** The prefix of a name, such as `binance:`; empty for the first venue. @param {string} name */
export const prefixOf = (name) => name.slice(0, name.indexOf(':') + 1);

/** A name without its prefix. @param {string} name */
export const bare = (name) => name.slice(name.indexOf(':') + 1);

/** A symbol as the page shows it, such as `BTCUSDT` or `binance:BTCUSDT`. @param {string} symbol in either case */
export const label = (symbol) => `${prefixOf(symbol)}${bare(symbol).toUpperCase()}`;

const firstSymbols = ['btcusdt', 'ethusdt', 'solusdt', 'bnbusdt'];

/** The stream that lists a venue's symbols. A venue whose catalogue has it is one of these. */
const list = '!markPrice@arr';

/** Dispatches `change` when the symbols of a venue have arrived. */
export class Venues extends EventTarget {
  #request;
  #state = { symbols: new Map([['', []]]), others: new Set() };

  /** @param {(path: string) => Promise<Response>} request */
  constructor(request) {
    super();
    this.#request = request;
  }

  /** The prefixes of the venues, the first one's empty. */
  get prefixes() { return [...this.#state.symbols.keys()]; }
  has(prefix) { return this.#state.symbols.has(prefix); }

  /** A venue's symbols, in lower case and with its prefix; empty if unknown. @param {string} prefix */
  symbols(prefix) { return this.#state.symbols.get(prefix) ?? []; }
  setSymbols(prefix, symbols) {
    this.#state.symbols.set(prefix, symbols);
    this.dispatchEvent(new Event('change'));
  }

  /** The symbol to begin with, of the first venue. */
  get usual() {
    const symbols = this.symbols('');
    return firstSymbols.find((symbol) => symbols.includes(symbol)) ?? symbols[0] ?? firstSymbols[0];
  }

  /** The symbols of all venues except one. @param {string} prefix */
  otherSymbols(prefix) { return this.prefixes.filter((one) => one !== prefix).flatMap((one) => this.symbols(one)); }

  /** Asks for the catalogue, which shows the venues. */
  async find() {
    const { body } = await this.#ask('streams');
    for (const { pattern } of body?.catalogue ?? []) {
      const prefix = prefixOf(pattern);
      if (bare(pattern).startsWith(list) && !this.has(prefix)) this.#state.symbols.set(prefix, []);
      // A stream such as `binance:tradingSession` looks like a symbol.
      if (!/[@!{]/.test(pattern)) this.#state.others.add(pattern);
    }
  }

  /** Asks for a venue's symbols. @param {string} prefix @returns the status of the answer, 0 without one, and the reason of a refusal */
  async list(prefix) {
    const { status, body } = await this.#ask(`streams/${encodeURIComponent(`${prefix}${list}`)}`);
    if (Array.isArray(body?.content)) this.setSymbols(prefix, body.content.map(({ symbol }) => `${prefix}${symbol.toLowerCase()}`));
    return { status, detail: body?.detail };
  }

  /** Asks for the symbols of the venues whose symbols are unknown. */
  listMissing() { return Promise.all(this.prefixes.filter((prefix) => !this.symbols(prefix).length).map((prefix) => this.list(prefix))); }

  async #ask(path) {
    const answer = await this.#request(path).catch(() => undefined);
    return { status: answer?.status ?? 0, body: await answer?.json().catch(() => undefined) };
  }

  /** A symbol, or a stream of a venue, as the gateway names it: `#BTCUSDT` is `btcusdt`, `BTCUSDT@kline_1M` is `btcusdt@kline_1M`. @param {string} name */
  canonical(name) {
    const prefix = prefixOf(name).toLowerCase();
    if (!this.has(prefix) || this.#state.others.has(name)) return name;
    return prefix + bare(name).replace(/^[^@/]*/, (symbol) => (symbol.startsWith('!') ? symbol : symbol.toLowerCase()));
  }

  /** Whether a name is that of a symbol of a venue, and not of a stream. @param {string} name */
  isSymbol(name) { return !/[@!]/.test(name) && this.has(prefixOf(name)) && !this.#state.others.has(name); }

  /** The symbols and the streams in an address. @param {string} address */
  read(address) {
    const names = address.split(',').filter(Boolean).map((name) => this.canonical(name));
    const symbols = names.filter((name) => this.isSymbol(name));
    return { symbols, streams: names.filter((name) => !symbols.includes(name)) };
  }

  /** The symbol of a venue's stream; undefined if it has several, or belongs to another upstream. @param {string} name */
  symbolOf(name) {
    const isOfOne = name.includes('@') && this.has(prefixOf(name)) && !bare(name).startsWith('!');
    return isOfOne ? name.split('@')[0] : undefined;
  }
}
