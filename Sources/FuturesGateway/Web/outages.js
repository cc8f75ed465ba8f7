// The times without data since the page was opened, hatched in the chart.

const most = 50;

/** The spans without data of each symbol, by the venue's clock, ms since 1970 UTC. `to` is absent while a span lasts. */
export class Outages {
  #spans = new Map();

  /** Records whether a symbol has data now. @param {string} symbol @param {boolean} isLost @param {number|undefined} now @param {number} [since] */
  note(symbol, isLost, now, since = now) {
    if (now === undefined) return;
    const spans = this.#spans.get(symbol) ?? [];
    const last = spans.at(-1);
    const isOpen = last !== undefined && last.to === undefined;
    if (isLost === isOpen) return;
    if (isLost) this.#spans.set(symbol, [...spans.slice(1 - most), { from: Math.max(since, last?.to ?? since) }]);
    else last.to = now;
  }

  /** @param {string} symbol @returns {{from: number, to?: number}[]} */
  of(symbol) { return this.#spans.get(symbol) ?? []; }
}

/** The place of a time among bars, with a fraction within a bar; undefined if it is before the first. @param {number[]} times of the bars @param {number} length of a bar, ms */
export function placeOf(time, times, length) {
  if (!times.length || time < times[0]) return undefined;
  const after = times.findIndex((one) => one > time);
  const place = (after < 0 ? times.length : after) - 1;
  return place + Math.min(1, (time - times[place]) / length);
}

/** Hatches the spans. @param {HTMLElement} box @param {{from: number, to?: number}[]} spans @param {number[]} times @param {number} length @param {(place: number) => number|null} x @param {number} right */
export function hatch(box, spans, times, length, x, right) {
  const areas = spans.map(({ from, to }) => {
    // A span from before the first bar begins there. Half a bar is left of its middle.
    const [begin, end] = [placeOf(from, times, length) ?? 0, to === undefined ? undefined : placeOf(to, times, length)];
    const left = Math.max(0, x(begin - 0.5) ?? 0);
    return { left, width: (end === undefined ? (to === undefined ? right : 0) : Math.min(right, x(end - 0.5) ?? right)) - left };
  }).filter(({ width }) => width > 0);
  while (box.children.length > areas.length) box.lastElementChild.remove();
  areas.forEach(({ left, width }, place) => {
    const area = box.children[place] ?? box.appendChild(document.createElement('i'));
    // A short outage is still visible.
    Object.assign(area.style, { left: `${left}px`, width: `${Math.max(2, width)}px` });
  });
  box.hidden = areas.length === 0;
}
