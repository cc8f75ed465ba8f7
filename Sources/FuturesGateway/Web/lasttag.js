// The last price at the chart's price axis, and the time until the bar ends. It is a part of the document, so that it changes in the same frame as the
// other panels.

import { set } from './dom.js';
import { until } from './format.js';

/** @param {HTMLElement} tag @param {import('./plot.js').Plot} plot @param {{price?: string, text: string, isDown: boolean, isAged: boolean, end?: number, now?: number}} how */
export function showLast(tag, plot, { price, text, isDown, isAged, end, now }) {
  const y = price === undefined ? null : plot.y(Number(price));
  const { height, axis } = plot.size;
  const isSeen = y !== null && y >= 0 && y <= height;
  if (tag.hidden === isSeen) tag.hidden = !isSeen;
  const [number, rest] = tag.children;
  set(number, text);
  const left = end > now ? until(end, now) : '';
  set(rest, isAged ? '' : left.replace(/^0:/, ''));
  tag.classList.toggle('aged', isAged);
  if (tag.dataset.way !== (isDown ? 'down' : 'up')) tag.dataset.way = isDown ? 'down' : 'up';
  if (!isSeen) return;
  const [top, width] = [`${Math.round(Math.max(9, Math.min(height - 9, y)))}px`, `${Math.round(axis)}px`];
  if (tag.style.top !== top) tag.style.top = top;
  if (tag.style.minWidth !== width) tag.style.minWidth = width;
}
