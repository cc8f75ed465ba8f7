// Helpers with which the panels change the document.

/** An element by its id. @param {string} id */
export const $ = (id) => document.getElementById(id);

/** Sets an element's text if it differs. */
export function set(element, text) { if (element.textContent !== text) element.textContent = text; }

/** How long a changed price is colored, ms. An animation would make the browser draw 60 frames a second in the meantime. */
const flash = 250;
const flashes = new WeakMap();

function color(element) {
  clearTimeout(flashes.get(element));
  element.dataset.flash = '';
  flashes.set(element, setTimeout(() => element.removeAttribute('data-flash'), flash));
}

/** Shows a price, and an arrow for its direction if the last price was of the same symbol.
 * @param {HTMLElement} element @param {string} [price] as a number, to compare @param {string} [text] as it is shown @param {string} [whose] */
export function setPrice(element, price = '', text = '–', whose = '') {
  const { price: before, whose: last } = element.dataset;
  if (before === price && last === whose) return set(element, price ? text : '–');
  Object.assign(element.dataset, { price, whose });
  set(element, price ? text : '–');
  const isComparable = before && price && last === whose && Number(before) !== Number(price);
  if (isComparable) element.dataset.went = Number(price) > Number(before) ? 'up' : 'down';
  else if (last !== whose) delete element.dataset.went;
  if (isComparable && element.matches('.price')) color(element);
  return undefined;
}

/** Shows a relative change. */
export function setChange(element, from, to, digits = 2) {
  const change = Number(from) ? Number(to) / Number(from) - 1 : NaN;
  const text = Number.isFinite(change) ? `${change < 0 ? '−' : change > 0 ? '+' : ''}${Math.abs(change * 100).toFixed(digits)} %` : '–';
  set(element, text);
  const way = change >= 0.00005 ? 'up' : change <= -0.00005 ? 'down' : '';
  if (element.dataset.way !== way) element.dataset.way = way;
}

/** Marks the pressed button of a group. */
export function press(group, isPressed) {
  for (const button of group.querySelectorAll('button')) button.setAttribute('aria-pressed', String(isPressed(button)));
}

// To read a style makes the browser compute the styles of everything that was changed before in the same frame.
const styles = new Map();

function style(name) {
  if (!styles.has(name)) styles.set(name, getComputedStyle(document.body).getPropertyValue(name).trim());
  return styles.get(name);
}

/** Reads the style sheet again, because the theme or the size of the window has changed. */
export function forgetStyles() { styles.clear(); }

/** A colour of the style sheet. @param {string} name */
export const colour = (name) => style(`--${name}`);

/** The font of small texts, for a canvas. */
export const smallFont = () => `${pixels('small')}px ${style('font-family')}`;

/** The parts of a color. @param {string} text as in `#8eabff` @returns {number[]} */
export const rgb = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));

/** Hatches an area of a canvas: a time without live data. */
export function hatched(context, left, top, width, height) {
  if (width <= 0) return;
  context.save();
  context.beginPath();
  context.rect(left, top, Math.max(2, width), height);
  context.clip();
  context.strokeStyle = colour('faint');
  context.lineWidth = 1;
  context.beginPath();
  for (let x = left - height; x < left + width; x += 7) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}

/** A length of the style sheet, in pixels. @param {string} name */
export const pixels = (name) => parseFloat(style(`--${name}`)) || 0;

/** Shows the state of a panel in words. @param {HTMLElement} element @param {{shown: string, words: string, error?: string}} look @param {string} [words] instead */
export function setState(element, { shown, words, error }, text = words) {
  if (element.dataset.state !== shown) element.dataset.state = shown;
  set(element, text);
  if (element.title !== (error ?? '')) element.title = error ?? '';
}

const sizes = new WeakMap();

/** Keeps the width of an element in `state.width`, px, and calls `changed` first and after changes. To read the width in each frame would make the
 * browser lay out the page. @param {HTMLElement} element @param {{width: number}} state @param {() => void} changed */
export function watchWidth(element, state, changed) {
  new ResizeObserver(([{ contentRect }]) => {
    state.width = contentRect.width;
    sizes.set(element, { width: Math.round(contentRect.width), height: Math.round(contentRect.height) });
    changed();
  }).observe(element);
}

/** Fits a canvas to its size on the page and the screen's pixels. @returns {{context: CanvasRenderingContext2D, width: number, height: number}} */
export function fitted(canvas) {
  const ratio = devicePixelRatio;
  const { width, height } = sizes.get(canvas) ?? { width: canvas.clientWidth, height: canvas.clientHeight };
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
