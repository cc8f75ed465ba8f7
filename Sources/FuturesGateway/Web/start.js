// The start of the page: asks for the venues and their symbols, and for a key if the gateway needs one.

import { $ } from './dom.js';

/** The view that the page's URL names; nothing if it cannot be read. */
function address() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return '';
  }
}

export class Start {
  #view;
  #access;
  #header;

  /** @param {import('./view.js').View} view @param {import('./access.js').Access} access @param {import('./header.js').Header} header */
  constructor(view, access, header) {
    this.#view = view;
    this.#access = access;
    this.#header = header;
    addEventListener('hashchange', () => location.reload());
  }

  async begin() {
    const { venues } = this.#view;
    const [{ status, detail }] = await Promise.all([venues.list(''), venues.find()]);
    if (status === 401) {
      this.ask(detail);
      return;
    }
    this.#access.done();
    Start.#show(true);
    if (!this.#view.symbol) {
      // Only the venue of the address is waited for, because another one may be down.
      const prefix = this.#view.prefixIn(address());
      if (prefix) await venues.list(prefix);
      this.#view.begin(address());
      venues.listMissing();
    }
    this.#header.askLines();
  }

  /** Asks for a key. @param {string} why */
  ask(why) {
    this.#access.ask(why);
    Start.#show(Boolean(this.#view.symbol));
    this.#header.show();
  }

  static #show(isShown) {
    for (const id of ['panels', 'pause']) $(id).hidden = !isShown;
  }
}
