// The header: the overall state with its duration and reason, the lines to the venue, and the longest time without verification.

import { $, set } from './dom.js';
import { age } from './format.js';
import { agreeing, judge, lines } from './health.js';
import { prefixOf } from './venues.js';

/** How many of the quietest streams are asked about at a time, and from which silence on, ms. */
const [mostAsked, quiet] = [4, 1500];

/** A reason without its details, so that it fits into the header. @param {string} text */
const brief = (text) => text.split(': ')[0].replace(/ without a closing handshake$/, '');

/** Whether the gateway polls a stream. The age of such a stream is shown in the list of streams. @param {string} name */
const isPolled = (name) => /^([^:]*:)?!funding|@(openInterest|fundingRate|longShortRatio)/.test(name);

export class Header {
  #view;
  #feed;
  #freshness;
  #access;
  #ready = '';
  #reason = '';
  #troubleSince;
  #asking;

  constructor(view, freshness, access) {
    this.#view = view;
    this.#feed = view.feed;
    this.#freshness = freshness;
    this.#access = access;
    this.#feed.addEventListener('disconnect', ({ detail }) => {
      this.#reason = detail.reason ?? '';
      this.#askSoon();
    });
    for (const event of ['connect', 'session']) this.#feed.addEventListener(event, () => this.#askSoon());
    setInterval(() => this.askLines(), 5000);
    setInterval(() => this.#askUnverified(), 2000);
  }

  show() {
    this.#showUpstream();
    const shown = this.#feed.names.map((name) => ({ name, ...this.#freshness.look(name) }));
    const { state } = this.#feed.connection;
    const { level, word, detail } = judge({ connection: state, shown: shown.filter(({ name }) => !isPolled(name)).map((look) => look.shown),
      refused: this.#refused, isAsking: this.#access.isAsking, lines: this.#lines, ready: this.#ready });
    const isTrouble = ['bad', 'warn'].includes(level);
    this.#troubleSince = isTrouble ? this.#troubleSince ?? performance.now() : undefined;
    if (!isTrouble) this.#reason = '';
    document.body.dataset.level = level;
    Object.assign($('connection').dataset, { state, level });
    set($('connection'), word);
    const lasting = isTrouble && !this.#access.isAsking ? `for ${age(performance.now() - this.#troubleSince)}` : '';
    // That the venue is down has its own reason.
    const reason = level === 'bad' && state === 'open' && word !== 'Venue down' ? this.#reason : '';
    set($('health'), [lasting, detail, brief(reason)].filter(Boolean).join(' · '));
    // The connection log has the whole reason too.
    $('health').title = [lasting, detail, reason].filter(Boolean).join(' · ');
    this.#showLines(word);
    this.#showTimes(shown);
  }

  #showTimes(shown) {
    const verified = shown.filter(({ name, shown, unverified }) => !['paused', 'refused', 'ended'].includes(shown) && unverified !== undefined && !isPolled(name));
    const longest = verified.reduce((longest, { unverified }) => Math.max(longest, unverified), -1);
    set($('unverified'), longest < 0 ? '–' : age(longest));
    const { delay } = this.#freshness;
    set($('delay'), delay === undefined ? '–' : delay < 0 ? 'clocks differ' : `${Math.round(delay)} ms`);
    const isPaused = shown.length > 0 && shown.every((look) => look.paused);
    $('pause').setAttribute('aria-pressed', String(isPaused));
    set($('pause'), isPaused ? 'Resume' : 'Pause');
  }

  /** The chosen symbol's venue. */
  get #upstream() {
    const [upstreams, prefix] = [this.#feed.connection.upstreams ?? [], prefixOf(this.#view.symbol ?? '')];
    return (prefix ? upstreams.find(({ name }) => `${name}:` === prefix) : upstreams[0]) ?? {};
  }

  /** Shows the venue, and above all whether the data is simulated. */
  #showUpstream() {
    const { name, venue, simulated } = this.#upstream;
    if (!name) return;
    document.body.classList.toggle('demo', simulated === true);
    set($('venue').firstElementChild, simulated ? 'DEMO' : name);
    set($('venue').lastElementChild, simulated ? ': simulated data' : '');
    $('venue').title = simulated ? `Streams like those of ${venue}; no price here is real.` : '';
    $('venue').hidden = false;
  }

  /** Requests the number of open lines to the venue, which events do not report. */
  async askLines() {
    if (document.hidden || this.#feed.connection.state !== 'open') return;
    const { name } = this.#upstream;
    try {
      this.#ready = await (await fetch(`readyz${name ? `?venue=${encodeURIComponent(name)}` : ''}`)).text();
    } catch { return; }
    this.show();
  }

  // Many streams report a change together.
  #askSoon() {
    this.#asking ??= setTimeout(() => {
      this.#asking = undefined;
      this.askLines();
    }, 500);
  }

  /** The number of refused streams of the shown instrument. */
  get #refused() {
    return this.#view.symbol ? Object.values(this.#view.streams).filter((name) => !isPolled(name) && this.#feed.status(name).error).length : 0;
  }

  /** The lines to the venue as far as this page knows; empty while unknown. */
  get #lines() { return this.#feed.connection.state === 'open' ? lines(this.#upstream, this.#ready) : lines({}); }

  #showLines(word) {
    const { text, isLost } = agreeing(this.#lines, word);
    set($('lines'), text);
    $('lines').classList.toggle('lost', isLost);
  }

  /** Requests how long the quietest streams have been unverified. Pings and other streams of the connection are evidence, but no event reports them. */
  async #askUnverified() {
    if (document.hidden || this.#feed.connection.state !== 'open') return;
    const looks = this.#feed.names.map((name) => ({ name, ...this.#freshness.look(name) }));
    const quietest = looks.filter(({ name, unverified }) => unverified > quiet && !isPolled(name)).sort((a, b) => b.unverified - a.unverified);
    await Promise.all(quietest.slice(0, mostAsked).map(async ({ name }) => {
      const answer = await this.#feed.request(`streams/${encodeURIComponent(name)}/status`).catch(() => undefined);
      const { unverifiedMs } = (answer?.ok && await answer.json().catch(() => undefined)) || {};
      if (unverifiedMs !== undefined) this.#freshness.confirm(name, unverifiedMs);
    }));
  }
}
