// The past values that the venue keeps, and how they are read from the venue's own paths at the gateway.

import { bare, prefixOf } from './venues.js';

/** The length of each period, ms. */
export const periods = { '5m': 300_000, '15m': 900_000, '1h': 3_600_000, '4h': 14_400_000, '1d': 86_400_000 };
const count = 120;

/** @typedef {{time: number, value: number, more?: number}} Past `time`: ms; `more`: a second number, such as the worth of the open interest */
/** @typedef {{words: string, hasPeriod: boolean, paths: (place: object) => string[], read: (bodies: any[]) => Past[]}} Kind */

const rows = (body) => (Array.isArray(body) ? body : []);

/** The closes of both bars of a time. A bar without its partner is left out. */
function basis([marks, indexes]) {
  const closes = new Map(rows(indexes).map(([time, , , , close]) => [time, Number(close)]));
  const both = rows(marks).filter(([time, , , , close]) => closes.get(time) > 0 && Number(close) > 0);
  return both.map(([time, , , , close]) => ({ time, value: Number(close) / closes.get(time) - 1 }));
}

/** @type {Record<string, Kind>} */
export const kinds = {
  funding: {
    words: 'Funding rate', hasPeriod: false,
    paths: ({ base, symbol }) => [`${base}fapi/v1/fundingRate?symbol=${symbol}&limit=100`],
    read: ([body]) => rows(body).map(({ fundingTime, fundingRate }) => ({ time: fundingTime, value: Number(fundingRate) })),
  },
  interest: {
    words: 'Open interest', hasPeriod: true,
    paths: ({ base, symbol, period }) => [`${base}futures/data/openInterestHist?symbol=${symbol}&period=${period}&limit=${count}`],
    read: ([body]) => rows(body).map(({ timestamp, sumOpenInterest, sumOpenInterestValue }) => ({ time: timestamp, value: Number(sumOpenInterest), more: Number(sumOpenInterestValue) })),
  },
  ratio: {
    words: 'Long accounts for each short one', hasPeriod: true,
    paths: ({ base, symbol, period }) => [`${base}futures/data/globalLongShortAccountRatio?symbol=${symbol}&period=${period}&limit=${count}`],
    read: ([body]) => rows(body).map(({ timestamp, longShortRatio, longAccount }) => ({ time: timestamp, value: Number(longShortRatio), more: Number(longAccount) })),
  },
  basis: {
    words: 'Basis', hasPeriod: true,
    paths: ({ base, symbol, pair, period }) => [`${base}fapi/v1/markPriceKlines?symbol=${symbol}&interval=${period}&limit=${count}`,
      `${base}fapi/v1/indexPriceKlines?pair=${pair}&interval=${period}&limit=${count}`],
    read: basis,
  },
};

/** The paths of a kind for a symbol. @param {string} kind @param {string} symbol with its prefix @param {string} period */
export function pathsOf(kind, symbol, period) {
  const name = bare(symbol).toUpperCase();
  return kinds[kind].paths({ base: prefixOf(symbol).replace(':', '/'), symbol: name, pair: name.replace(/_.*$/, ''), period });
}
