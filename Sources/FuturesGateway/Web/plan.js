// Panels that show a change redraw it together, at most five times a second.

/** @param {(names: string[]) => void} draw called with the planned panels @returns {(...names: string[]) => void} plans to redraw panels */
export function planner(draw) {
  const state = { due: new Set(), isPlanned: false };
  const run = () => {
    state.isPlanned = false;
    const now = [...state.due];
    state.due.clear();
    draw(now);
  };
  return (...names) => {
    for (const name of names) state.due.add(name);
    if (state.isPlanned) return;
    state.isPlanned = true;
    setTimeout(() => requestAnimationFrame(run), 200);
  };
}
