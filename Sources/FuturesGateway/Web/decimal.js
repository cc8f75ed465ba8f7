// Exact decimals: differences and ratios of prices and rates, by integers.

/** @typedef {{units: bigint, digits: number}} Decimal `units` divided by 10 to the power of `digits` */

/** A decimal's text as an exact number; undefined if it is none. @param {string|undefined} text @returns {Decimal|undefined} */
export function decimal(text) {
  const [, sign, whole, fraction = ''] = String(text ?? '').match(/^(-?)(\d+)(?:\.(\d+))?$/) ?? [];
  return whole === undefined ? undefined : { units: BigInt(`${sign}${whole}${fraction}`), digits: fraction.length };
}

/** The units of a decimal with more digits. @param {Decimal} value @param {number} digits */
const unitsWith = (value, digits) => value.units * 10n ** BigInt(digits - value.digits);

/** @param {Decimal} one @param {Decimal} other @returns {Decimal} */
export function minus(one, other) {
  const digits = Math.max(one.digits, other.digits);
  return { units: unitsWith(one, digits) - unitsWith(other, digits), digits };
}

/** The value times 10 to the power of `places`: a rate in percent has two. @param {Decimal} value @param {number} places */
export const shifted = (value, places) => (value.digits >= places
  ? { units: value.units, digits: value.digits - places }
  : { units: unitsWith(value, places), digits: 0 });

/** The ratio of two decimals, cut off after `digits` decimals. @param {Decimal} part @param {Decimal} whole other than 0 @param {number} digits */
export function ratio(part, whole, digits) {
  const both = Math.max(part.digits, whole.digits);
  return { units: (unitsWith(part, both) * 10n ** BigInt(digits)) / unitsWith(whole, both), digits };
}

/** The text of a decimal with this number of decimals, half units rounded up in size; with `isSigned` also a plus. @param {Decimal} value @param {number} digits */
export function written(value, digits, isSigned = false) {
  const size = value.units < 0n ? -value.units : value.units;
  const step = 10n ** BigInt(Math.max(0, value.digits - digits));
  const rounded = value.digits > digits ? (size + step / 2n) / step : size * 10n ** BigInt(digits - value.digits);
  const text = String(rounded).padStart(digits + 1, '0');
  const whole = text.slice(0, text.length - digits).replace(/\B(?=(\d{3})+$)/g, ',');
  const sign = rounded === 0n ? '' : value.units < 0n ? '−' : isSigned ? '+' : '';
  return `${sign}${whole}${digits ? `.${text.slice(-digits)}` : ''}`;
}
