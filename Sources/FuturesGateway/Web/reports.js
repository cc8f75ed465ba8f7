// What the connection reports: lines of the log, the notice above the panels, and the question for a key.

import { $, set } from './dom.js';
import { label } from './venues.js';

const logged = ['session', 'bye', 'disconnect', 'connect', 'recover', 'fail', 'gap', 'status'];

export class Reports {
  #view;
  #log;
  #ask;
  #state = { farewell: undefined, isFirst: true };

  /** @param {import('./view.js').View} view @param {import('./log.js').Log} log @param {(why: string) => void} ask asks for a key */
  constructor(view, log, ask) {
    this.#view = view;
    this.#log = log;
    this.#ask = ask;
    const { feed } = view;
    for (const event of logged) feed.addEventListener(event, ({ detail }) => this.#report(event, detail));
    feed.addEventListener('refused', ({ detail }) => {
      if (view.watched.has(detail.stream)) log.event('refused', detail);
    });
    view.addEventListener('unlisted', ({ detail }) => log.say('bad', 'Not listed', `${label(detail)} is not a symbol of this venue.`));
  }

  /** Forgets why an earlier connection ended. */
  forget() { this.#state.farewell = undefined; }

  #report(event, detail) {
    // The first and the good states are not logged.
    if (event !== 'status' || !['connecting', 'live'].includes(detail.state)) this.#log.event(event, detail);
    if (event === 'session') this.forget();
    if (event === 'bye') this.#state.farewell = ['expired', 'revoked'].includes(detail.code) ? detail.reason : undefined;
  }

  /** The connection has another state. @param {{state: string, error?: string, status?: number}} connection */
  connection({ state, error, status }) {
    const before = $('connection').dataset.state;
    const isNew = before !== state;
    const log = this.#log;
    if (state === 'open' && before === 'connecting' && this.#state.isFirst) log.say('good', 'Connected to the gateway', 'through the connection of another tab');
    this.#state.isFirst = false;
    const isBarred = state === 'closed' && [401, 403].includes(status);
    if (isBarred) this.#ask(this.#state.farewell ?? error);
    for (const id of ['retry', 'notice']) $(id).hidden = state !== 'closed' || isBarred;
    set($('notice'), error ?? '');
    set($('shared'), this.#view.feed.isShared ? 'Shared by all tabs' : '');
    if (state === 'lost' && isNew) log.say('warn', 'Connection to the gateway lost', 'Values are frozen; reconnecting automatically.');
    if (state === 'closed') log.say('bad', 'The gateway refused the connection', error);
  }
}
