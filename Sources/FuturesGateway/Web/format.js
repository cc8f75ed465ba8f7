// Numbers and times for people. Prices are cut and grouped as text; the digits stay the venue's own.

/** Groups a decimal's thousands and shows `digits` decimals. @param {string} text @param {number} digits */
export function grouped(text, digits) {
  const [whole, fraction = ''] = text.split('.');
  const separated = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return digits ? `${separated}.${fraction.slice(0, digits).padEnd(digits, '0')}` : separated;
}

/** How many decimals make five or six significant digits. @param {string} text */
export function digitsFor(text) {
  const size = Math.abs(Number(text));
  return size >= 1000 ? 2 : size >= 10 ? 3 : size >= 1 ? 4 : 6;
}

/** An age in few characters. @param {number|undefined} ms */
export function age(ms) {
  if (ms === undefined) return '–';
  const seconds = Math.floor(ms / 1000);
  if (seconds < 1) return '< 1 s';
  if (seconds < 100) return `${seconds} s`;
  return seconds < 6000 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}

/** The time until a moment, `7:59:58`. @param {number|undefined} time */
export function until(time) {
  if (!time) return '–';
  const seconds = Math.max(0, Math.round((time - Date.now()) / 1000));
  const two = (number) => String(number).padStart(2, '0');
  return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

/** A rate as a signed percentage; the digits are moved, not computed. @param {string|undefined} rate */
export function percent(rate, digits = 4) {
  if (rate === undefined || rate === '') return '–';
  const value = Number(rate) * 100;
  const text = Math.abs(value).toFixed(digits);
  return `${Number(text) === 0 ? '' : value > 0 ? '+' : '−'}${text} %`;
}

/** The number that says most about a stream's content, as text, whose it is, and the symbol's funding, where these are told. */
export function headline(content) {
  if (!content) return {};
  if (Array.isArray(content)) {
    const last = content.at(-1);
    if (last?.close) return { price: last.close, first: content[0].open };
    if (last?.price) return { price: last.price, symbol: last.symbol };
    return { count: content.length };
  }
  const { symbol, markPrice, index, lastPrice, openPrice, bidPrice, price, bids, lastFundingRate, nextFundingTime } = content;
  const shown = markPrice ?? index ?? lastPrice ?? bidPrice ?? price ?? bids?.[0]?.[0];
  return { price: shown, symbol, first: openPrice, lastFundingRate, nextFundingTime };
}
