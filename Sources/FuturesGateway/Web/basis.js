// The basis: the price of the contract less that of its index.

const day = 86_400_000;
/** The hour of a delivery, UTC. */
const hour = 8;

/** The time of a dated contract's delivery, from the date in its symbol; undefined for a perpetual contract. @param {string} symbol such as `BTCUSDT_261225` */
export function deliveryOf(symbol) {
  const [, year, month, date] = symbol.match(/_(\d\d)(\d\d)(\d\d)$/) ?? [];
  return year === undefined ? undefined : Date.UTC(2000 + Number(year), Number(month) - 1, Number(date), hour);
}

/** The basis of a mark price. @param {{markPrice?: string, indexPrice?: string}|undefined} row @param {string} symbol @param {number|undefined} now the venue's time
 * @returns {{amount: number, share: number, yearly?: number}|undefined} `share`: of the index; `yearly`: of a dated contract, with simple interest until its delivery */
export function basisOf(row, symbol, now) {
  const [mark, index] = [Number(row?.markPrice), Number(row?.indexPrice)];
  if (!(mark > 0) || !(index > 0)) return undefined;
  const share = mark / index - 1;
  const left = (deliveryOf(symbol) ?? NaN) - (now ?? NaN);
  return { amount: mark - index, share, yearly: left > 0 ? share * 365 * day / left : undefined };
}
