// A log of the connection and the streams, in words, newest first. The same event of many streams at the same time is one line.

import { clock } from './format.js';

const most = 200;
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

const recovered = { continuous: 'nothing was missed', backfill: 'the missed data was fetched' };

const words = {
  session: ({ streams, resume, replayed }) => [
    'good', 'Connected to the gateway',
    `${streams.length} stream${streams.length === 1 ? '' : 's'}, ${{ exact: `resumed without a gap, ${replayed} events replayed`, reset: 'new snapshots' }[resume] ?? 'snapshots'}`,
  ],
  bye: ({ reason, retryMs }) => ['warn', 'The gateway ended the connection', `${reason} Reconnecting in ${seconds(retryMs)}.`],
  disconnect: ({ reason }) => ['warn', 'Venue connection lost', reason],
  connect: () => ['good', 'Venue connected'],
  recover: ({ result, method, downMs, detectedMs, missed, error }) => result === 'success'
    ? ['good', 'Recovered', `${recovered[method] ?? 'complete again'}, down ${seconds(downMs)}, noticed after ${seconds(downMs - detectedMs)}${missed ? `, ${missed} missed` : ''}`]
    : ['bad', 'Not recovered', error?.message],
  fail: ({ error }) => ['bad', 'Failed', error.message],
  gap: ({ dropped }) => ['warn', 'Too slow', `${dropped} events dropped`],
  status: ({ state }) => [{ live: 'good', failed: 'bad' }[state] ?? 'warn', `Now ${state}`],
  refused: ({ error }) => ['bad', 'Refused', error],
};

/** Writes the log into a list. */
export class Log {
  #list;
  #now;
  #recent = new Map();

  /** @param {HTMLOListElement} list @param {() => number} now the venue's time, ms since 1970 UTC */
  constructor(list, now) {
    this.#list = list;
    this.#now = now;
  }

  /** Logs a server's event. @param {string} event @param {any} data */
  event(event, data) {
    const [kind, title, detail] = words[event](data);
    this.say(kind, title, detail, data.stream);
  }

  /** @param {''|'good'|'warn'|'bad'} kind @param {string} title @param {string} [detail] @param {string} [stream] */
  say(kind, title, detail = '', stream = '') {
    const key = `${title}${stream ? '' : detail}`;
    const known = this.#recent.get(key);
    if (known && stream && performance.now() - known.at < 1500) {
      if (!known.streams.includes(stream)) known.streams.push(stream);
      known.detail.textContent = this.#detail(detail, known.streams);
      return;
    }
    const item = document.createElement('li');
    item.append(this.time());
    const [what, more] = ['span', 'small'].map((tag) => item.appendChild(document.createElement(tag)));
    what.textContent = title;
    what.className = kind;
    const streams = stream ? [stream] : [];
    more.textContent = this.#detail(detail, streams);
    this.#recent.set(key, { at: performance.now(), detail: more, streams });
    this.#list.prepend(item);
    while (this.#list.children.length > most) this.#list.lastChild.remove();
  }

  /** The current time as an element; the page writes it again if the time zone changes. */
  time() {
    const at = document.createElement('time');
    at.dataset.at = String(this.#now());
    at.textContent = clock(this.#now());
    return at;
  }

  #detail(detail, streams) {
    const about = streams.length > 3 ? `${streams.length} streams` : streams.join(', ');
    return [about, detail].filter(Boolean).join(' · ');
  }
}
