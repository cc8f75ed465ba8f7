// Every stream that the page reads, with its state and age. Streams that the user added come first, with their values.

import { $, set, setChange, setPrice } from './dom.js';
import { age, percent, unitsOf, whole } from './format.js';
import { headline, meaning } from './values.js';

function icon(path) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  svg.appendChild(document.createElementNS(svg.namespaceURI, 'path')).setAttribute('d', path);
  return svg;
}

function action(label, path, run) {
  const button = Object.assign(document.createElement('button'), { type: 'button', title: label.split(' ')[0] });
  button.setAttribute('aria-label', label);
  button.append(icon(path));
  button.addEventListener('click', run);
  return button;
}

export class Streams {
  #view;
  #freshness;
  #log;
  #rows = new Map();
  #body = $('streams').tBodies[0];

  constructor(view, freshness, log) {
    this.#view = view;
    this.#freshness = freshness;
    this.#log = log;
    $('add').addEventListener('submit', (event) => {
      event.preventDefault();
      const text = $('name').value.trim();
      if (!text || text.includes(',')) return;
      $('name').value = '';
      // A symbol is selected, a stream is added.
      const wanted = view.venues.canonical(text);
      if (view.venues.isSymbol(wanted)) view.select(wanted);
      else view.watch(wanted);
    });
  }

  show() {
    const names = [...new Set([...this.#view.watched, ...this.#view.feed.names])];
    for (const [name, { row }] of this.#rows) if (!names.includes(name)) {
      row.remove();
      this.#rows.delete(name);
    }
    names.forEach((name, index) => {
      if (!this.#rows.has(name)) this.#rows.set(name, this.#make(name));
      const { row } = this.#rows.get(name);
      if (this.#body.children[index] !== row) this.#body.insertBefore(row, this.#body.children[index] ?? null);
      this.#fill(name, this.#rows.get(name));
    });
    set($('streams-count'), String(names.length));
  }

  #make(name) {
    const row = document.createElement('tr');
    const cells = Array.from({ length: 6 }, () => row.insertCell());
    cells.slice(1, 4).forEach((cell) => {
      cell.className = 'number';
    });
    const symbol = this.#view.venues.symbolOf(name);
    const label = cells[0].appendChild(document.createElement(symbol ? 'button' : 'span'));
    label.className = 'name';
    label.textContent = name;
    if (symbol) {
      label.type = 'button';
      label.addEventListener('click', () => this.#view.select(symbol));
    }
    const [text, whose] = [cells[1].appendChild(document.createElement('b')), cells[1].appendChild(document.createElement('small'))];
    const state = cells[4].appendChild(document.createElement('span'));
    state.className = 'state';
    const { feed } = this.#view;
    const pause = action(`Pause ${name}`, 'M5.5 3.5v9M10.5 3.5v9', () => {
      if (feed.status(name).paused) feed.resume(name);
      else feed.pause(name);
      this.#freshness.interrupt(name);
      this.show();
    });
    const refetch = action(`Refetch ${name}`, 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.8h-2.8', () => this.#fetchAnew(name));
    const remove = action(`Remove ${name}`, 'M4 4l8 8M12 4l-8 8', () => this.#remove(name));
    cells[5].append(pause, refetch, remove);
    cells[5].className = 'actions';
    return { row, cells, text, whose, state, pause, refetch, remove };
  }

  #remove(name) {
    const { row } = this.#rows.get(name);
    const next = (row.nextElementSibling ?? row.previousElementSibling)?.querySelector('button');
    this.#view.unwatch(name);
    (next ?? $('name')).focus();
  }

  async #fetchAnew(name) {
    try {
      await this.#view.feed.refetch(name);
      this.#log.say('good', 'Fetched over REST', '', name);
    } catch (error) { this.#log.say('bad', 'Refetch failed', error.message, name);
    }
  }

  #fill(name, { row, cells, text, whose, state, pause, refetch, remove }) {
    const { shown, words, isAged, age: ms, unverified, paused, error } = this.#freshness.look(name);
    const { value, member, symbol, count, open } = headline(this.#view.feed.get(name), name);
    const own = this.#view.venues.symbolOf(name);
    row.classList.toggle('refused', Boolean(error));
    cells[1].colSpan = error ? 3 : 1;
    for (const cell of [cells[2], cells[3]]) cell.hidden = Boolean(error);
    if (error) {
      cells[1].title = error;
      set(text, error);
      set(whose, '');
    } else {
      setPrice(text, value ?? (count === undefined ? '' : String(count)), !value ? `${count} rows` : member === 'fundingRate' ? percent(value) : whole(value), symbol ?? '');
      const { words, unit } = member ? meaning(member, unitsOf(symbol ?? own ?? '')) : {};
      set(whose, value ? [own ? '' : symbol, unit || words].filter(Boolean).join(' ') : '');
      cells[1].title = words ?? '';
      setChange(cells[2], open, value);
      set(cells[3], age(ms));
    }
    cells[1].classList.toggle('aged', !error && isAged && text.textContent !== '–');
    if (state.dataset.state !== shown) state.dataset.state = shown;
    state.title = unverified === undefined ? '' : `Verified ${age(unverified)} ago`;
    set(state, words);
    pause.setAttribute('aria-pressed', String(paused));
    for (const button of [pause, refetch]) button.hidden = Boolean(error);
    remove.hidden = !this.#view.watched.has(name);
  }
}
