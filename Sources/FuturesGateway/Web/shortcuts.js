// All keys of the page.

import { $ } from './dom.js';
import { Keys } from './keys.js';
import { panelNames } from './layout.js';

const panels = Object.keys(panelNames);

/** @param {Record<string, any>} parts of the page @param {() => void} togglePause */
export function bindKeys({ picker, star, alarm, venues, charts, drawer, settings, layout }, togglePause) {
  return new Keys([
    { keys: ['k'], isEverywhere: true, words: 'Choose a symbol', run: () => picker.open() },
    { keys: ['/'], words: 'Search the markets', run: () => $('search').focus() },
    { keys: ['s'], words: 'Put the symbol on the watchlist, or remove it', run: () => star.toggle() },
    { keys: ['l'], words: 'Alerts', run: () => alarm.open() },
    { keys: ['v'], words: 'Show or hide the venues', run: () => venues.toggle() },
    { keys: ['c'], words: 'Options of the chart', run: () => charts.open() },
    { keys: ['n'], words: 'One, two or four charts', run: () => charts.turn() },
    { keys: [','], words: 'Shorter bars, in the chart that had the focus last', run: () => charts.step(-1) },
    { keys: ['.'], words: 'Longer bars', run: () => charts.step(1) },
    { keys: ['d'], words: 'Streams and connection log', run: () => drawer.toggle() },
    { keys: ['a'], words: 'Add a stream', run: () => drawer.add() },
    { keys: ['o'], words: 'Settings', run: () => settings.open() },
    { keys: ['t'], words: 'Switch between UTC and local time', run: () => settings.turn('zone') },
    { keys: ['u'], words: 'Totals of the book in the asset or in the quote asset', run: () => settings.turn('amounts') },
    { keys: panels.map((_, place) => String(place + 1)), words: `Show or hide ${Object.values(panelNames).join(', ')}`, run: (key) => layout.toggle(panels[key - 1]) },
    { keys: ['p'], words: 'Pause or resume all streams', run: togglePause },
    { keys: ['↑', '↓'], words: 'In the markets: the previous or next symbol; in the ladder: a level; in a graph: the place to read' },
    { keys: ['←', '→', '+', '-', '0'], words: 'In a chart: move, scale, show the end; at a bar between panels: resize' },
    { keys: ['Esc'], words: 'Close a dialog' },
  ]);
}
