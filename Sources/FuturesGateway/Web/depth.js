// The amounts that could be bought and sold around the middle of the order book.

import { $, colour, fitted, pixels, set, setState, smallFont, watchWidth } from './dom.js';
import { grouped, notional, short, unitsOf } from './format.js';

/** The shortest time between two drawings, ms. */
const interval = 900;

export class Depth {
  #view;
  #freshness;
  #canvas = $('depth');
  #state = { drawn: -Infinity, name: undefined, width: 0 };

  constructor(view, freshness) {
    this.#view = view;
    this.#freshness = freshness;
    watchWidth(this.#canvas, this.#state, () => this.measure());
  }

  /** Draws again, because the size or the colors have changed. */
  measure() {
    this.#state.drawn = -Infinity;
    if (this.#view.symbol) this.show();
  }

  show() {
    const { streams, feed, symbol } = this.#view;
    const look = this.#freshness.look(streams.book);
    const book = feed.get(streams.book);
    setState($('depth-state'), look, look.shown === 'live' ? '' : look.words);
    $('depth-reach').classList.toggle('aged', Boolean(book) && look.isAged);
    const isOther = this.#state.name !== streams.book;
    if (!isOther && performance.now() - this.#state.drawn < interval) return;
    Object.assign(this.#state, { drawn: performance.now(), name: streams.book });
    if (this.#state.width) this.#draw(book, look.isAged, this.#view.decimals(symbol), unitsOf(symbol));
  }

  /** The amounts that could be bought and sold up to each price. The sides differ by position, not only by color. */
  #draw(book, isAged, decimals, { base, quote }) {
    const { context, width, height } = fitted(this.#canvas);
    const [ask, bid] = ['asks', 'bids'].map((side) => Number(book?.[side][0]?.[0]));
    $('depth-empty').hidden = Boolean(ask && bid);
    if (!ask || !bid || !width) {
      set($('depth-reach'), '');
      return this.#canvas.setAttribute('aria-label', 'Depth: nothing yet');
    }
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
    const most = Math.max(...sides.map(([, , total]) => total)) || 1;
    // The sums of both sides have two lines above the curves.
    const room = Math.max(10, height - 16 - 18 - pixels('small') * 1.3);
    const [floor, place] = [height - 16, (price) => width / 2 + ((price - middle) / reach) * (width / 2)];
    context.globalAlpha = isAged ? 0.5 : 1;
    context.font = smallFont();
    for (const [side, points] of sides) {
      if (!points.length) continue;
      const [tone, edge] = side === 'bids' ? ['up', 0] : ['down', width];
      context.beginPath();
      context.moveTo(place(points[0][0]), floor);
      let before = floor;
      for (const [price, total] of points) {
        context.lineTo(place(price), before);
        before = floor - (total / most) * room;
        context.lineTo(place(price), before);
      }
      context.lineTo(edge, before);
      context.strokeStyle = colour(tone);
      context.setLineDash(side === 'asks' ? [4, 2] : []);
      context.stroke();
      context.setLineDash([]);
      context.lineTo(edge, floor);
      context.fillStyle = colour(`${tone}-soft`);
      context.fill();
    }
    context.fillStyle = colour('muted');
    const ends = [[2, 'left', middle - reach], [width - 2, 'right', middle + reach]];
    // In a narrow panel three prices would touch each other.
    const labels = width < 240 ? ends : [...ends, [width / 2, 'center', middle]];
    for (const [at, align, price] of labels) {
      context.textAlign = align;
      context.fillText(grouped(price.toFixed(decimals), decimals), at, height - 4);
    }
    const [asks, bids] = sides.map(([, , total]) => total);
    context.textAlign = 'left';
    context.fillText(`Bids ${short(bids)} ${base}`, 4, 12);
    context.fillText(notional(bids * middle, quote), 4, 12 + pixels('small') * 1.3);
    context.textAlign = 'right';
    context.fillText(`Asks ${short(asks)} ${base}`, width - 4, 12);
    context.fillText(notional(asks * middle, quote), width - 4, 12 + pixels('small') * 1.3);
    const share = `within ${((reach / middle) * 100).toFixed(2)} %`;
    set($('depth-reach'), share);
    return this.#canvas.setAttribute('aria-label', `Depth ${share} of the middle: bids ${short(bids)}, asks ${short(asks)} ${base}`);
  }
}
