// The pixels of the book over time: one for each second and bin.

import { gap, most, period } from './heatmodel.js';

/** @param {import('./heatmodel.js').Sample[]} samples oldest first
 * @param {{now: number, first: number, count: number, range: {weakest: number, strongest: number}, color: number[]}} how `first`: the number of the lowest bin
 * @returns {ImageData} */
export function paint(samples, { now, first, count, range, color }) {
  const image = new ImageData(most, count);
  const [red, green, blue] = color;
  const columnOf = (time) => most - 1 - Math.floor((now - time) / period);
  const span = range.strongest - range.weakest || 1;
  samples.forEach(({ time, first: lowest, sizes }, number) => {
    const next = samples[number + 1]?.time ?? now;
    // A sample is valid until the next one; a longer time is a gap and has no sizes.
    const begin = Math.max(0, columnOf(time));
    const end = Math.min(most, Math.max(columnOf(time) + 1, next - time < gap ? columnOf(next) : 0));
    for (let place = 0; place < count; place += 1) {
      const size = sizes[first + place - lowest] ?? 0;
      if (size <= 0) continue;
      const strength = Math.min(1, Math.max(0.08, (size - range.weakest) / span));
      const row = (count - 1 - place) * most;
      for (let column = begin; column < end; column += 1) {
        const at = (row + column) * 4;
        image.data[at] = red;
        image.data[at + 1] = green;
        image.data[at + 2] = blue;
        image.data[at + 3] = strength * 255;
      }
    }
  });
  return image;
}
