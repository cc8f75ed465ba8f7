// The order and the filters of the market table.

import { bare, prefixOf } from './venues.js';

const filters = {
  all: () => true,
  starred: ({ isStarred }) => isStarred,
  rising: ({ change }) => change > 0,
  falling: ({ change }) => change < 0,
  perpetual: ({ symbol }) => !bare(symbol).includes('_'),
  dated: ({ symbol }) => bare(symbol).includes('_'),
};

/** The rows of a market table. @param {{symbol: string, isStarred?: boolean}[]} rows with the numbers to sort by
 * @returns the matching rows in order, those with a star first */
export function arrange(rows, { search = '', filter = 'all', by = 'volume', isRising = false }) {
  const wanted = rows.filter((row) => filters[filter](row) && row.symbol.toUpperCase().includes(search.toUpperCase()));
  const sign = isRising ? 1 : -1;
  const known = (value) => (Number.isFinite(value) ? 0 : 1);
  return wanted.sort((a, b) => Number(b.isStarred ?? false) - Number(a.isStarred ?? false) || (by === 'symbol'
    ? sign * (a.symbol < b.symbol ? -1 : a.symbol > b.symbol ? 1 : 0)
    : known(a[by]) - known(b[by]) || (known(a[by]) ? 0 : sign * (a[by] - b[by])) || (a.symbol < b.symbol ? -1 : 1)));
}

/** The numbers of the venue's symbols, and of those of other venues that have a star; in no order. @param {import('./view.js').View} view
 * @param {import('./watchlist.js').Watchlist} watchlist */
export function numbersOf(view, watchlist) {
  const prefix = prefixOf(view.symbol ?? '');
  const others = watchlist.symbols.filter((symbol) => prefixOf(symbol) !== prefix && view.hasRow(symbol));
  return [...view.rowSymbols, ...others].map((symbol) => {
    const [day, mark] = [view.row('days', symbol), view.row('marks', symbol)];
    const { price } = view.lastOf(symbol);
    return { symbol, text: price, price: Number(price), open: day?.openPrice, change: day ? Number(price) / Number(day.openPrice) - 1 : NaN,
      funding: Number(mark?.lastFundingRate || NaN), rate: mark?.lastFundingRate, turnover: day?.quoteVolume, volume: day ? Number(day.quoteVolume) : NaN,
      isStarred: watchlist.has(symbol) };
  });
}

/** The number of shown and of all symbols of a venue. @param {string} prefix of the venue @param {number} shown @param {number} all */
export function countWords(prefix, shown, all) {
  if (!all) return '';
  return `${prefix.replace(':', ' · ')}${shown === all ? all : `${shown} of ${all}`}`;
}
