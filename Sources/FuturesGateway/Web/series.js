// The drawing of past values: bars around zero, or a line. Missing values are gaps and are hatched.

import { colour, fitted, hatched, smallFont } from './dom.js';

/** The room for the numbers, and for the times, px. */
const rightOf = (rows, write, pen) => Math.ceil(Math.max(...rows.map(({ value }) => pen.measureText(write(value)).width), 0)) + 8;
const bottom = 18;

/** The spans between values that are further apart than usual. @param {{time: number}[]} rows @param {number} period ms */
export function holes(rows, period) {
  const spans = rows.slice(1).map(({ time }, place) => ({ from: rows[place].time, to: time }));
  return spans.filter(({ from, to }) => to - from > period * 1.5);
}

/** The usual time between two values. @param {{time: number}[]} rows */
export function usualPeriod(rows) {
  const times = rows.slice(1).map(({ time }, place) => time - rows[place].time).sort((a, b) => a - b);
  return times[times.length >> 1] ?? 0;
}

/** @param {HTMLCanvasElement} canvas @param {{time: number, value: number}[]} rows oldest first
 * @param {{isBars: boolean, isAged: boolean, write: (value: number) => string, brief: (time: number) => string}} how
 * @returns {{at: (x: number) => object|undefined}} the value at a place, px */
export function draw(canvas, rows, { isBars, isAged, write, brief }) {
  const { context, width: whole, height: full } = fitted(canvas);
  context.font = smallFont();
  const [width, height] = [whole - rightOf(rows, write, context), full - bottom];
  if (rows.length < 2 || width < 20) return { at: () => undefined };
  const period = usualPeriod(rows);
  const [first, last] = [rows[0].time, rows.at(-1).time];
  const values = rows.map(({ value }) => value);
  const [lowest, highest] = [Math.min(...values, ...(isBars ? [0] : [])), Math.max(...values, ...(isBars ? [0] : []))];
  const margin = (highest - lowest || Math.abs(highest) || 1) * 0.08;
  const [low, high] = [lowest - margin, highest + margin];
  const step = width / ((last - first) / period + 1);
  const x = (time) => ((time - first) / period + 0.5) * step;
  const y = (value) => ((high - value) / (high - low)) * height;

  context.globalAlpha = isAged ? 0.5 : 1;
  for (const { from, to } of holes(rows, period)) hatched(context, x(from) + step / 2, 0, x(to) - x(from) - step, height);
  if (isBars) {
    for (const { time, value } of rows) {
      context.fillStyle = colour(value < 0 ? 'down' : 'up');
      const [top, end] = [Math.min(y(0), y(value)), Math.max(y(0), y(value))];
      context.fillRect(x(time) - step * 0.35, top, Math.max(1, step * 0.7), Math.max(1, end - top));
    }
  } else {
    context.strokeStyle = colour('accent');
    context.lineWidth = 1.5;
    context.beginPath();
    rows.forEach(({ time, value }, place) => {
      const isAfterHole = place > 0 && time - rows[place - 1].time > period * 1.5;
      if (place === 0 || isAfterHole) context.moveTo(x(time), y(value));
      else context.lineTo(x(time), y(value));
    });
    context.stroke();
  }
  if (low < 0 && high > 0) {
    context.fillStyle = colour('faint');
    context.fillRect(0, Math.round(y(0)), width, 1);
  }
  context.globalAlpha = 1;
  context.fillStyle = colour('muted');
  context.textAlign = 'left';
  for (const value of [highest, (highest + lowest) / 2, lowest]) context.fillText(write(value), width + 4, Math.max(9, Math.min(height, y(value) + 4)));
  context.fillText(brief(first), 0, full - 3);
  context.textAlign = 'right';
  context.fillText(brief(last), width, full - 3);
  return { at: (place) => rows[Math.round(place / step - 0.5)] && nearest(rows, first + (place / step - 0.5) * period) };
}

const nearest = (rows, time) => rows.reduce((best, row) => (Math.abs(row.time - time) < Math.abs(best.time - time) ? row : best));
