// The differences between venues: of prices, and of funding.

import { decimal, minus } from './decimal.js';

/** @typedef {{venue: string, value: import('./decimal.js').Decimal}} Quote */

/** The rows with the lowest and the highest value of a member, and the difference; undefined if fewer than two rows have the member.
 * @param {object[]} rows @param {string} member @returns {{low: Quote, high: Quote, apart: import('./decimal.js').Decimal}|undefined} */
function apart(rows, member) {
  const quotes = rows.map((row) => ({ venue: row.venue, value: decimal(row[member]) })).filter(({ value }) => value !== undefined);
  if (quotes.length < 2) return undefined;
  const isBelow = (one, other) => minus(one.value, other.value).units < 0n;
  const low = quotes.reduce((low, quote) => (isBelow(quote, low) ? quote : low));
  const high = quotes.reduce((high, quote) => (isBelow(high, quote) ? quote : high));
  return { low, high, apart: minus(high.value, low.value) };
}

/** The differences between venues. Only live rows count. @param {object[]} rows of `GET /markets/{asset}`
 * @returns `live`: the number of live rows; `bid`: the highest bid; `ask`: the lowest ask; `between`: the ask less the bid, negative if the bid of one venue is
 *   above the ask of another; `marks` and `fundings` (per hour): the lowest and the highest, and their difference */
export function spreads(rows) {
  const live = rows.filter(({ state }) => state === 'live');
  const [bid, ask] = [apart(live, 'bidPrice')?.high, apart(live, 'askPrice')?.low];
  return {
    live: live.length, bid, ask, between: bid && ask ? minus(ask.value, bid.value) : undefined,
    marks: apart(live, 'markPrice'), fundings: apart(live, 'fundingPerHour'), quotes: [...new Set(live.map(({ quote }) => quote))],
  };
}
