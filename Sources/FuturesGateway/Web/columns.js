// Columns of a table that are as wide as their longest number. They only grow, so that numbers do not move while they change.

const gap = 8;

/** The size and the family. The property `font` is empty if figures are tabular. */
function fontOf(element) {
  const { fontSize, fontFamily } = getComputedStyle(element);
  return `${fontSize} ${fontFamily}`;
}

/** The widths of a table's columns, in pixels. */
export class Columns {
  #table;
  #drop;
  #cols;
  #pen = document.createElement('canvas').getContext('2d');
  #state = { whose: undefined, font: '', room: 0, lengths: [], widths: [] };

  /** @param {HTMLTableElement} table @param {number[]} drop the columns that are left out if there is no room for all, the least important first */
  constructor(table, drop = []) {
    this.#table = table;
    this.#drop = drop;
    const group = document.createElement('colgroup');
    this.#cols = [...table.tHead.rows[0].cells].map(() => group.appendChild(document.createElement('col')));
    table.prepend(group);
  }

  /** Makes the columns wide enough. @param {string} whose the columns shrink if this changes @param {string[][]} rows the texts
   * @param {number} room the width of the table, px @param {number[]} [extra] px that a column needs beside its text */
  fit(whose, rows, room, extra = []) {
    const isOther = whose !== this.#state.whose;
    if (isOther) {
      const nothing = this.#cols.map(() => 0);
      this.#state = { whose, font: fontOf(this.#table), room: 0, lengths: [...nothing], widths: [...nothing] };
    }
    const heads = isOther ? this.#heads().map(({ text, isSorted }, place) => this.#grow(place, text, isSorted, [])) : [];
    const isWider = [...heads, ...rows.map((row) => this.#widen(row, extra))].includes(true);
    if (!isOther && !isWider && this.#state.room === room) return;
    this.#state.room = room;
    this.#apply(room);
  }

  /** Measures again, because the type has changed. */
  forget() { this.#state.whose = undefined; }

  /** The titles. The title of the sorted column is bold and has an arrow. */
  #heads() {
    return [...this.#table.tHead.rows[0].cells].map((cell) => {
      const isSorted = ['ascending', 'descending'].includes(cell.ariaSort);
      return { text: `${cell.textContent.trim()}${isSorted ? ' ▾' : ''}`, isSorted };
    });
  }

  /** @returns {boolean} whether a column has grown */
  #widen(row, extra) {
    const { lengths } = this.#state;
    let isWider = false;
    row.forEach((text, place) => {
      // Digits have one width, so only a longer text may be wider. Names are bold.
      if (!text || (place > 0 && text.length <= lengths[place])) return;
      lengths[place] = text.length;
      isWider = this.#grow(place, text, place === 0, extra) || isWider;
    });
    return isWider;
  }

  /** @returns {boolean} whether the column has grown */
  #grow(place, text, isBold, extra) {
    const { widths, font } = this.#state;
    this.#pen.font = isBold ? `600 ${font}` : font;
    const width = Math.ceil(this.#pen.measureText(text).width) + gap + (extra[place] ?? 0);
    if (width <= widths[place]) return false;
    widths[place] = width;
    return true;
  }

  #apply(room) {
    const { widths } = this.#state;
    const left = new Set();
    const sum = () => widths.reduce((total, width, place) => total + (left.has(place) ? 0 : width), 0);
    for (const place of this.#drop) if (sum() > room) left.add(place);
    const spare = Math.max(0, room - sum());
    const shown = widths.length - left.size;
    this.#cols.forEach((col, place) => {
      this.#table.classList.toggle(`without-${place + 1}`, left.has(place));
      col.style.width = `${widths[place] + spare / shown}px`;
    });
  }
}
