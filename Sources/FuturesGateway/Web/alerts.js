// Alerts for prices, for funding rates, and for data that is not live. They also work in a hidden tab.

import { Feed } from './client.js';
import { Stored } from './stored.js';

/** How long data may be other than live before the alert for that, ms. */
const patience = 10_000;

const streams = { price: (symbol) => `${symbol}@aggTrade`, funding: (symbol) => `${symbol}@markPrice@1s` };

/** @typedef {{id: string, kind: 'price'|'funding', symbol: string, side: 'above'|'below', value: string, after?: number, at?: number, reached?: string}} Alert
 *   `value`: a decimal, for funding a fraction; `after`: the id of the last trade before the alert; `at` and `reached`: when it fired, and at which value */

/** The stream that an alert follows. @param {Alert} alert */
export const streamOf = ({ kind, symbol }) => streams[kind](symbol);

/** The first value of a stream's content that fires the alert, the id of the last checked trade, and the number of trades that could not be checked.
 * @param {Alert} alert @param {any} content trades, oldest first, or a mark price @returns {{reached?: string, after?: number, missed?: number}} */
export function look({ kind, side, value, after }, content) {
  const fires = (text) => (side === 'above' ? Number(text) >= Number(value) : Number(text) <= Number(value));
  if (kind === 'funding') return { reached: content.lastFundingRate && fires(content.lastFundingRate) ? content.lastFundingRate : undefined, after };
  const last = content.at(-1)?.id ?? after;
  // Only trades after the alert was set can fire it.
  if (after === undefined) return { after: last };
  const missed = content.length ? Math.max(0, content[0].id - after - 1) : 0;
  return { reached: content.find(({ id, price }) => id > after && fires(price))?.price, after: last, missed };
}

/** The alerts of this browser. It dispatches `change` when the list changes, `fired` with an alert as detail, `missed`
 * with an alert and a number of trades, and `data` with whether the data is live. */
export class Alerts extends EventTarget {
  #stored = new Stored('alerts', []);
  #options = new Stored('alert options', { sound: true, notify: false, data: false });
  #feed;
  #after = new Map();
  #witness;
  #lostAt;
  #isTold = false;
  #now;

  /** @param {string} [credential] @param {() => number} [now] the venue's time, ms since 1970 UTC */
  constructor(credential, now = Date.now) {
    super();
    this.#now = now;
    // Unlike the page's own streams, alerts are not paused in a hidden tab.
    this.#feed = new Feed([], { credential, pauseWhenHidden: false });
    for (const event of ['update', 'fetch']) this.#feed.addEventListener(event, ({ detail }) => this.#take(detail));
    for (const stored of [this.#stored, this.#options]) stored.addEventListener('change', () => this.#turn());
    this.#turn();
    // After a reload, the checked trades must not count as missing.
    addEventListener('pagehide', () => this.#keepProgress());
    setInterval(() => this.#lookAtData(), 1000);
  }

  /** @returns {Alert[]} */
  get list() { return this.#stored.value; }
  get options() { return this.#options.value; }
  set(option, isOn) { this.#options.value = { ...this.options, [option]: isOn }; }

  /** Adds an alert for a value that is not reached yet. @param {'price'|'funding'} kind @param {string} symbol in lower case @param {string} value
   * @param {{now: string, after?: number}} known the current value, and the id of the last trade */
  add(kind, symbol, value, { now, after }) {
    const side = Number(value) > Number(now) ? 'above' : 'below';
    this.#stored.value = [...this.list, { id: `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`, kind, symbol, side, value, after }];
  }
  remove(id) { this.#stored.value = this.list.filter((alert) => alert.id !== id); }

  /** What an alert does now: `fired`, `watching`, or why it cannot fire. @param {Alert} alert */
  state(alert) {
    if (alert.at !== undefined) return 'fired';
    const { state, error } = this.#feed.status(streamOf(alert));
    return error ? 'refused' : state === 'live' ? 'watching' : state;
  }

  /** Starts again with another credential. */
  retry(credential) { this.#feed.retry(credential); }

  /** The symbol whose mark price shows whether data is live. @param {string} symbol */
  follow(symbol) {
    if (this.#witness === symbol) return;
    this.#witness = symbol;
    this.#turn();
  }

  #turn() {
    const wanted = new Set(this.list.filter(({ at }) => at === undefined).map(streamOf));
    if (this.options.data && this.#witness) wanted.add(streams.funding(this.#witness));
    const names = this.#feed.names;
    const [gone, added] = [names.filter((name) => !wanted.has(name)), [...wanted].filter((name) => !names.includes(name) && !this.#feed.status(name).error)];
    if (gone.length) this.#feed.remove(...gone);
    if (added.length) this.#feed.add(...added);
    for (const id of this.#after.keys()) if (!this.list.some((alert) => alert.id === id)) this.#after.delete(id);
    this.dispatchEvent(new Event('change'));
  }

  #take({ stream, content, state, ageMs }) {
    for (const alert of this.list) {
      if (alert.at !== undefined || streamOf(alert) !== stream) continue;
      // An old funding rate is not the current one. Trades count whenever they arrive, because none is repeated.
      if (alert.kind === 'funding' && (state !== 'live' || ageMs > patience)) continue;
      const { reached, after, missed } = look({ ...alert, after: this.#after.get(alert.id) ?? alert.after }, content);
      this.#after.set(alert.id, after);
      if (reached !== undefined) this.#fire(alert, reached);
      else if (missed) this.dispatchEvent(new CustomEvent('missed', { detail: { alert, missed } }));
    }
  }

  #keepProgress() {
    if (this.#after.size) this.#stored.value = this.list.map((alert) => ({ ...alert, after: this.#after.get(alert.id) ?? alert.after }));
  }

  #fire(alert, reached) {
    // Another tab may have been faster.
    const fired = { ...alert, at: this.#now(), reached };
    this.#stored.value = this.list.map((one) => (one.id === alert.id ? fired : one));
    this.dispatchEvent(new CustomEvent('fired', { detail: fired }));
  }

  #lookAtData() {
    const name = this.#witness && streams.funding(this.#witness);
    if (!this.options.data || !name || !this.#feed.names.includes(name)) {
      this.#lostAt = undefined;
      return;
    }
    const isLive = this.#feed.status(name).state === 'live' && this.#feed.status(name).unverified < patience;
    this.#lostAt = isLive ? undefined : this.#lostAt ?? performance.now();
    const isLost = this.#lostAt !== undefined && performance.now() - this.#lostAt >= patience;
    if (isLost === this.#isTold || (!isLost && !isLive)) return;
    this.#isTold = isLost;
    this.dispatchEvent(new CustomEvent('data', { detail: { isLive, symbol: this.#witness } }));
  }
}
