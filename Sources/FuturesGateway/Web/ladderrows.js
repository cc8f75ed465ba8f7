// The rows of the ladder: how many fit, which one is chosen, and their texts.

import { pixels, set } from './dom.js';

/** The usual height of a row is reduced to show this many levels of a side, but not below the smallest height of the style sheet. */
const [wanted, fewest] = [20, 8];
/** The height of the table's head and middle, px. */
const rest = 56;

/** Dispatches `point` when another row is chosen, with the pointer or the arrow keys. */
export class LadderRows extends EventTarget {
  #table;
  #box;
  #rows = { asks: [], bids: [] };
  #state = { chosen: undefined };

  /** @param {HTMLTableElement} table @param {HTMLElement} box */
  constructor(table, box) {
    super();
    this.#table = table;
    this.#box = box;
    table.addEventListener('pointerover', ({ target }) => this.#point(target.closest('.asks tr, .bids tr')));
    table.addEventListener('pointerleave', () => this.#choose(undefined));
    box.addEventListener('keydown', (event) => this.#press(event));
    box.addEventListener('blur', () => this.#choose(undefined));
  }

  /** The number of rows of a side. */
  get count() { return this.#rows.bids.length; }
  /** The chosen row. @returns {{side: 'asks'|'bids', place: number}|undefined} `place`: 0 is the best price */
  get chosen() { return this.#state.chosen; }

  /** Sets the number of rows that fit. */
  fit() {
    const room = (this.#box.clientHeight - rest) / 2;
    const height = Math.max(Math.min(pixels('row'), pixels('smallest')), Math.min(pixels('row'), Math.floor(room / wanted)));
    const count = Math.max(fewest, Math.floor(room / height));
    this.#table.style.setProperty('--level', `${height}px`);
    for (const side of ['asks', 'bids']) {
      const [rows, body] = [this.#rows[side], this.#table.querySelector(`.${side}`)];
      while (rows.length < count) {
        const line = body.insertRow(side === 'asks' ? 0 : -1);
        rows.push({ line, cells: [line.insertCell(), line.insertCell(), line.insertCell()], depth: '' });
      }
      while (rows.length > count) rows.pop().line.remove();
    }
  }

  /** Shows the levels. @param {{asks: object[], bids: object[]}} levels best first @param {(level: object) => string[]} write @param {number} most the largest total
   * @returns {string[][]} the texts */
  fill(levels, write, most) {
    const texts = [];
    for (const side of ['asks', 'bids']) {
      this.#rows[side].forEach((row, place) => {
        const level = levels[side][place];
        const words = level ? write(level) : ['', '', ''];
        row.cells.forEach((cell, index) => set(cell, words[index]));
        const depth = `${level ? Math.round((level.total / most) * 100) : 0}%`;
        if (row.depth !== depth) row.line.style.setProperty('--depth', depth);
        row.depth = depth;
        texts.push(words);
      });
    }
    return texts;
  }

  #point(line) {
    for (const side of ['asks', 'bids']) {
      const place = this.#rows[side].findIndex((row) => row.line === line);
      if (place >= 0) this.#choose({ side, place });
    }
  }

  // The row, whatever level it shows by now.
  #choose(chosen) {
    const before = this.#state.chosen;
    if (before?.side === chosen?.side && before?.place === chosen?.place) return;
    if (before) this.#rows[before.side][before.place]?.line.classList.remove('chosen');
    this.#state.chosen = chosen;
    if (chosen) this.#rows[chosen.side][chosen.place]?.line.classList.add('chosen');
    this.dispatchEvent(new Event('point'));
  }

  #press(event) {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (event.key === 'Escape') this.#choose(undefined);
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { chosen } = this.#state;
    // Upwards from the best bid is the best ask.
    const at = chosen ? (chosen.side === 'asks' ? chosen.place : -1 - chosen.place) + step : Math.min(0, step);
    const side = at >= 0 ? 'asks' : 'bids';
    const place = side === 'asks' ? at : -1 - at;
    this.#choose({ side, place: Math.min(this.count - 1, place) });
  }
}
