// The input field for the key, shown if the gateway requires one.

import { $, set } from './dom.js';

const keyName = 'futures-gateway key';
// A browser may forbid even reading `sessionStorage`.
function open() {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}
const storage = open();

export class Access {
  #key = storage?.getItem(keyName) ?? undefined;

  /** @param {(key: string) => void} enter called with an entered key */
  constructor(enter) {
    $('access').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#key = $('key').value;
      $('key').value = '';
      if ($('keep').checked) storage?.setItem(keyName, this.#key);
      enter(this.#key);
    });
  }

  get key() { return this.#key; }
  get isAsking() { return !$('access').hidden; }

  /** Shows the field and forgets a refused key. @param {string} [reason] */
  ask(reason) {
    storage?.removeItem(keyName);
    set($('access-error'), this.#key ? `The key is not accepted. ${reason}` : '');
    $('access').hidden = false;
    $('key').focus();
  }

  done() { $('access').hidden = true; }
}
