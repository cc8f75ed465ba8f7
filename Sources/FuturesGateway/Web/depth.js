// The amounts that could be bought and sold around the middle of the order book.

import { $, colour, fitted, set } from './dom.js';
import { grouped, short } from './format.js';

/** The shortest time between two drawings, ms. */
const interval = 900;

export class Depth {
  #canvas;
  #drawn = -Infinity;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) { this.#canvas = canvas; }

  /** The amounts that could be bought and sold up to each price. The sides differ by position, not only by colour. */
  show(book, isAged, decimals) {
    if (performance.now() - this.#drawn < interval) return undefined;
    this.#drawn = performance.now();
    const { context, width, height } = fitted(this.#canvas);
    const [ask, bid] = ['asks', 'bids'].map((side) => Number(book?.[side][0]?.[0]));
    $('depth-empty').hidden = Boolean(ask && bid);
    if (!ask || !bid || !width) return this.#canvas.setAttribute('aria-label', 'Depth: nothing yet');
    const middle = (ask + bid) / 2;
    const reach = Math.min(...['asks', 'bids'].map((side) => Math.abs(Number(book[side].at(-1)[0]) - middle)), middle * 0.02);
    const sides = ['asks', 'bids'].map((side) => {
      let total = 0;
      const points = [];
      for (const [price, size] of book[side]) {
        if (Math.abs(price - middle) > reach) break;
        points.push([Number(price), (total += Number(size))]);
      }
      return [side, points, total];
    });
    const most = Math.max(...sides.map(([, , total]) => total)) * 1.08 || 1;
    const [base, place] = [height - 16, (price) => width / 2 + ((price - middle) / reach) * (width / 2)];
    context.globalAlpha = isAged ? 0.5 : 1;
    context.font = '11px system-ui, sans-serif';
    for (const [side, points] of sides) {
      if (!points.length) continue;
      const [tone, edge] = side === 'bids' ? ['up', 0] : ['down', width];
      context.beginPath();
      context.moveTo(place(points[0][0]), base);
      let before = base;
      for (const [price, total] of points) {
        context.lineTo(place(price), before);
        before = base - (total / most) * base;
        context.lineTo(place(price), before);
      }
      context.lineTo(edge, before);
      context.strokeStyle = colour(tone);
      context.setLineDash(side === 'asks' ? [4, 2] : []);
      context.stroke();
      context.setLineDash([]);
      context.lineTo(edge, base);
      context.fillStyle = colour(`${tone}-soft`);
      context.fill();
    }
    context.fillStyle = colour('muted');
    for (const [at, align, price] of [[2, 'left', middle - reach], [width / 2, 'center', middle], [width - 2, 'right', middle + reach]]) {
      context.textAlign = align;
      context.fillText(grouped(price.toFixed(decimals), decimals), at, height - 4);
    }
    const [asks, bids] = sides.map(([, , total]) => total);
    context.textAlign = 'left';
    context.fillText(`Bids ${short(bids)}`, 4, 12);
    context.textAlign = 'right';
    context.fillText(`Asks ${short(asks)}`, width - 4, 12);
    const share = `within ${((reach / middle) * 100).toFixed(2)} %`;
    set($('depth-reach'), share);
    return this.#canvas.setAttribute('aria-label', `Depth ${share} of the middle: bids ${short(bids)}, asks ${short(asks)}`);
  }
}
