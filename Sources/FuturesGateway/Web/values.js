// One number that represents a stream of any upstream.

const prices = ['markPrice', 'lastPrice', 'last', 'currentPrice', 'price', 'index', 'close', 'bidPrice', 'bid', 'openInterest', 'fundingRate', 'longShortRatio'];
const number = (value) => (String(value).includes('e') ? value.toFixed(12) : String(value));
const text = (value) => (typeof value === 'number' ? number(value) : typeof value === 'string' && value !== '' && Number.isFinite(Number(value)) ? value : undefined);

/** The most informative number of a stream's content: its text, its member, its symbol, and the open of 24 h if a ticker has it.
 * @param {any} content @param {string} [name] the stream's: the content of `@fundingRate` also has the mark price of its settlement */
export function headline(content, name = '') {
  if (content === undefined || content === null) return {};
  if (Array.isArray(content)) {
    const last = content.at(-1);
    if (last?.close) return { value: last.close, member: 'close' };
    if (last?.price) return { value: last.price, member: 'price', symbol: last.symbol };
    return { count: content.length };
  }
  if (typeof content !== 'object') return { value: text(content) };
  if (content.rows) return { count: content.rows.length };
  if (content.bids) return { value: content.bids[0]?.[0], member: 'best bid' };
  const { symbol } = content;
  const own = name.match(/@(fundingRate|openInterest|longShortRatio)/)?.[1];
  const member = (own && text(content[own]) !== undefined ? own : undefined) ?? prices.find((member) => text(content[member]) !== undefined);
  if (member) return { value: text(content[member]), member, symbol, open: member === 'lastPrice' ? content.openPrice : undefined };
  // A quote inside the object, as Intrinio sends it.
  for (const part of ['trade', 'ask', 'bid', ...Object.keys(content)]) {
    const inner = content[part];
    if (inner && typeof inner === 'object' && text(inner.price) !== undefined) return { value: text(inner.price), member: part, symbol };
  }
  const [first, value] = Object.entries(content).find(([, value]) => typeof value === 'number' && value < 1e12) ?? [];
  return value === undefined ? { symbol } : { value: number(value), member: first, symbol };
}

const spoken = { fundingRate: 'funding rate', longShortRatio: 'long to short', openInterest: 'open interest', markPrice: 'mark price', lastPrice: 'last price', bidPrice: 'best bid',
  close: 'last price' };

/** The name of a headline's number, and its unit if it has one. @param {string} member @param {{base: string, quote: string}} units */
export function meaning(member, { base, quote }) {
  return { words: spoken[member] ?? member, unit: { fundingRate: '', longShortRatio: '', index: '', openInterest: base }[member] ?? quote };
}
