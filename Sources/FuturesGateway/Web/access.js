// The field for the key of a gateway that asks for one.

import { $, set } from './dom.js';

const keyName = 'futures-gateway key';
// A browser may forbid even to look at it.
const storage = (() => { try { return sessionStorage; } catch { return undefined; } })();

export class Access {
  #key = storage?.getItem(keyName) ?? undefined;

  /** @param {(key: string) => void} enter takes a key that was entered */
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

  /** Shows the field; a key that did not do is forgotten. @param {string} [reason] */
  ask(reason) {
    storage?.removeItem(keyName);
    set($('access-error'), this.#key ? `The key is not accepted. ${reason}` : '');
    $('access').hidden = false;
    $('key').focus();
  }

  done() { $('access').hidden = true; }
}
