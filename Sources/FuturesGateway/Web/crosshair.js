// The place in a canvas that the reader points at: with the pointer, or with the arrow keys while the canvas has the focus.

/** @param {HTMLCanvasElement} canvas @param {(place: {x: number, y: number}|undefined) => void} moved in pixels; undefined if nothing is pointed at */
export function crosshair(canvas, moved) {
  const state = { place: undefined };
  const go = (place) => {
    state.place = place;
    moved(place);
  };
  canvas.addEventListener('pointermove', ({ offsetX, offsetY }) => go({ x: offsetX, y: offsetY }));
  for (const event of ['pointerleave', 'blur']) canvas.addEventListener(event, () => go(undefined));
  canvas.addEventListener('keydown', (event) => {
    const [x, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
    if (event.key === 'Escape') go(undefined);
    if ((!x && !y) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const { clientWidth: width, clientHeight: height } = canvas;
    const from = state.place ?? { x: Math.round(width * 0.7), y: Math.round(height / 2) };
    const step = event.shiftKey ? 20 : 4;
    go({ x: Math.max(0, Math.min(width - 1, from.x + x * step)), y: Math.max(0, Math.min(height - 1, from.y + y * step)) });
  });
}
