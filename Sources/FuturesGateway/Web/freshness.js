// The freshness of the shown data: what the gateway reports for each stream, and what this page notices itself if the gateway falls silent.

import { clock } from './content.js';

/** The longest silence of a stream while nothing was wrong. */
export class Cadence {
  #at;
  #longest = 0;
  #count = 0;

  /** Records an arrival. @param {number} now ms */
  hear(now) {
    if (this.#at !== undefined) {
      this.#longest = Math.max(this.#longest, now - this.#at);
      this.#count += 1;
    }
    this.#at = now;
  }

  /** Ignores the current silence: the stream was paused or lost, or the page was hidden. */
  interrupt() { this.#at = undefined; }

  /** Whether a silence is two seconds longer than any before; false while too few silences are known. @param {number|undefined} ms */
  isExceededBy(ms) { return this.#count >= 3 && ms > this.#longest + 2000; }
}

/** The statuses of a feed's streams, as the page shows them. */
export class Freshness {
  #feed;
  #cadences = new Map();
  #delays = [];
  #offsets = [];
  #confirmed = new Map();

  /** @param {import('./client.js').Feed} feed */
  constructor(feed) {
    this.#feed = feed;
    feed.addEventListener('update', ({ detail }) => this.#hear(detail));
    feed.addEventListener('fetch', ({ detail }) => this.#hear(detail));
    feed.addEventListener('status', ({ detail: { stream, state } }) => {
      if (state !== 'live') this.#cadences.get(stream)?.interrupt();
    });
    feed.addEventListener('session', () => this.interrupt());
    document.addEventListener('visibilitychange', () => this.interrupt());
  }

  #hear({ stream, source, kind, eventTime, receivedAt, ageMs }) {
    if (!this.#cadences.has(stream)) this.#cadences.set(stream, new Cadence());
    this.#cadences.get(stream).hear(performance.now());
    this.#confirmed.delete(stream);
    if (eventTime) this.#offsets = [...this.#offsets.slice(-30), eventTime + (ageMs ?? 0) - performance.now()];
    // Repeated or requested data does not show the delay of the connection.
    if (source !== 'websocket' || !eventTime || ageMs > 500 || (kind === 'full' && !stream.includes('markPrice'))) return;
    this.#delays = [...this.#delays.slice(-30), receivedAt - eventTime];
  }

  /** The typical delay from the venue's clock to the gateway's, in ms; undefined while unknown. */
  get delay() { return this.#delays.length < 3 ? undefined : [...this.#delays].sort((a, b) => a - b)[this.#delays.length >> 1]; }

  /** The venue's time, ms since 1970 UTC, from its events and not from this machine's clock; undefined before the first event. */
  get venueTime() { return this.#offsets.length ? performance.now() + Math.max(...this.#offsets) : undefined; }

  /** Sets how long a stream has been unverified by the gateway's count, which includes evidence such as pings. @param {string} name @param {number} ms */
  confirm(name, ms) { this.#confirmed.set(name, clock() - ms); }

  /** Ignores all current silences. @param {string} [name] only of this stream; without it, of all streams */
  interrupt(name) {
    if (name) this.#cadences.get(name)?.interrupt();
    else this.#cadences.forEach((cadence) => cadence.interrupt());
  }

  /** A stream's status and its display: a live stream is shown as live only while no data is overdue. @param {string} name */
  look(name) {
    const status = this.#feed.status(name);
    const confirmed = this.#confirmed.get(name);
    if (status.unverified !== undefined && confirmed !== undefined) status.unverified = Math.min(status.unverified, clock() - confirmed);
    const isOverdue = status.state === 'live' && this.#cadences.get(name)?.isExceededBy(status.unverified);
    const shown = status.error ? 'refused' : status.paused ? 'paused' : isOverdue ? 'unverified' : status.state;
    // There may be no liquidations for hours.
    const words = shown === 'connecting' && this.#feed.connection.state === 'open' ? 'waiting' : shown;
    return { ...status, shown, words: words[0].toUpperCase() + words.slice(1), isAged: !['live', 'connecting', 'refused'].includes(shown) };
  }
}
