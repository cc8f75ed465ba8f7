// The numbers of a bar above the chart, and the words for screen readers.

import { set } from './dom.js';
import { grouped, notional, percent, short, unitsOf } from './format.js';
import { label } from './venues.js';
import { zone } from './zone.js';

/** Writes the numbers of a bar. @param {HTMLElement} box @param {object|undefined} bar @param {{symbol: string, decimals: number, shape: string}} how */
export function showLegend(box, bar, { symbol, decimals, shape }) {
  if (!bar) return box.replaceChildren();
  const { base, quote } = unitsOf(symbol);
  const number = (text) => grouped(text, decimals);
  const volume = `Vol ${short(Number(bar.volume))} ${base} ${notional(Number(bar.quoteVolume ?? bar.volume * bar.close), quote)}`;
  const parts = [zone.stamp(bar.openTime), `  O ${number(bar.open)}  H ${number(bar.high)}  L ${number(bar.low)}`, `  C ${number(bar.close)}`,
    `  ${percent(String(Number(bar.close) / Number(bar.open) - 1), 2)}`, `  ${volume}`, bar.isComplete === false ? '  incomplete' : '',
    shape === 'heikinAshi' ? '  drawn as Heikin-Ashi averages' : ''];
  while (box.children.length < parts.length) box.append(document.createElement('span'));
  return parts.forEach((part, place) => set(box.children[place], part));
}

/** Writes the values of the studies. @param {HTMLElement} box @param {object[]} studies as `Studies.at` returns them @param {number} decimals */
export function showStudies(box, studies, decimals) {
  while (box.children.length > studies.length) box.lastElementChild.remove();
  studies.forEach(({ name, values, color, isPrice }, index) => {
    const part = box.children[index] ?? box.appendChild(document.createElement('span'));
    part.dataset.color = color;
    const words = values.map((value) => (isPrice ? grouped(value.toFixed(decimals), decimals) : value.toFixed(1))).join(' ');
    set(part, `${name} ${words || 'needs more bars'}`);
  });
}

/** Describes a chart in words. @param {object[]} bars @param {{symbol: string, interval: string, decimals: number}} how */
export function describe(bars, { symbol, interval, decimals }) {
  const closes = bars.map(({ close }) => Number(close));
  const text = (value) => grouped(value.toFixed(decimals), decimals);
  const range = closes.length ? `: ${closes.length} bars, from ${text(Math.min(...closes))} to ${text(Math.max(...closes))}, last ${text(closes.at(-1))}` : '';
  return `${label(symbol)}, bars of ${interval}${range}. Arrows move, plus and minus scale, 0 shows the end.`;
}
