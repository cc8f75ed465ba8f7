// Numbers and times for people. Prices are cut and grouped as text; the digits stay the venue's own.

import { zone } from './zone.js';

/** Groups a decimal's thousands and shows `digits` decimals. @param {string} text @param {number} digits */
export function grouped(text, digits) {
  const [whole, fraction = ''] = text.split('.');
  const separated = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return digits ? `${separated}.${fraction.slice(0, digits).padEnd(digits, '0')}` : separated;
}

/** The number of decimals, without trailing zeros. @param {string} [text] */
export function decimalsOf(text = '') {
  const at = text.indexOf('.');
  if (at < 0) return 0;
  let end = text.length;
  while (text[end - 1] === '0') end -= 1;
  return Math.max(0, end - at - 1);
}

/** A decimal with all digits except trailing zeros. @param {string} text */
export const whole = (text) => grouped(text, decimalsOf(text));

/** A large number in few characters, `104.2 M`. @param {number} [value] */
export function short(value) {
  if (!Number.isFinite(value)) return '–';
  const [size, unit] = [[1e12, ' T'], [1e9, ' B'], [1e6, ' M'], [1e3, ' K']].find(([size]) => Math.abs(value) >= size) ?? [1, ''];
  const scaled = value / size;
  return `${scaled.toFixed(Math.abs(scaled) >= 100 ? 0 : Math.abs(scaled) >= 10 ? 1 : 2)}${unit}`;
}

/** An age in few characters. @param {number|undefined} ms */
export function age(ms) {
  if (ms === undefined) return '–';
  const seconds = Math.floor(ms / 1000);
  if (seconds < 1) return '< 1 s';
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 6000) return `${Math.floor(seconds / 60)} min`;
  return seconds < 360_000 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

/** The time until a moment, such as `7:59:58`. @param {number|undefined} time @param {number|undefined} now both by the venue's clock */
export function until(time, now) {
  if (!time || now === undefined) return '–';
  const seconds = Math.max(0, Math.round((time - now) / 1000));
  const two = (number) => String(number).padStart(2, '0');
  return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

/** A rate as a signed percentage; the digits are shifted, not computed. @param {string|undefined} rate */
export function percent(rate, digits = 4) {
  if (rate === undefined || rate === '' || !Number.isFinite(Number(rate))) return '–';
  const value = Number(rate) * 100;
  const text = Math.abs(value).toFixed(digits);
  return `${Number(text) === 0 ? '' : value > 0 ? '+' : '−'}${text} %`;
}

/** A moment as the time of day, in the zone of the page. @param {number} time */
export const clock = (time) => zone.clock(time);

/** The worth of an amount, `13.3 K USDT`; empty if it is unknown. @param {number} value @param {string} quote */
export const notional = (value, quote) => (Number.isFinite(value) ? `${short(value)} ${quote}`.trim() : '');

/** The units of a symbol's amounts and prices; empty if the symbol does not show them. @param {string} symbol with or without a prefix */
export function unitsOf(symbol) {
  const [, base, quote] = symbol.slice(symbol.indexOf(':') + 1).toUpperCase().match(/^(.+?)(USDT|USDC|FDUSD|BUSD|USD1|USDF|USD|BTC)(_\w+)?$/) ?? [];
  return { base: base ?? '', quote: quote ?? '' };
}
