// A bar between two panels. It is dragged, or moved with the arrow keys.

const step = 16;

/** @param {HTMLElement} bar with `data-sizes` (the panel that it resizes) and `data-side` (where that panel is: left, right, top, bottom)
 *  @param {{now: () => number, set: (size: number) => void, keep: () => void}} size in pixels */
export function splitter(bar, { now, set, keep }) {
  const { side } = bar.dataset;
  const isColumn = side === 'left' || side === 'right';
  const sign = side === 'left' || side === 'top' ? 1 : -1;
  const state = { start: 0, size: 0 };

  bar.addEventListener('pointerdown', (event) => {
    event.preventDefault();
    bar.focus();
    bar.setPointerCapture(event.pointerId);
    state.start = isColumn ? event.clientX : event.clientY;
    state.size = now();
  });
  bar.addEventListener('pointermove', (event) => {
    if (!bar.hasPointerCapture(event.pointerId)) return;
    set(state.size + sign * ((isColumn ? event.clientX : event.clientY) - state.start));
  });
  bar.addEventListener('lostpointercapture', keep);
  bar.addEventListener('keydown', (event) => {
    const away = isColumn ? { ArrowRight: 1, ArrowLeft: -1 } : { ArrowDown: 1, ArrowUp: -1 };
    const way = away[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    set(now() + sign * way * step);
    keep();
  });
}
