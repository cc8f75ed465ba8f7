// The drawer with the streams and the connection log.

import { $ } from './dom.js';
import { Stored } from './stored.js';

export class Drawer {
  #open = new Stored('drawer', false);

  constructor() {
    $('data-open').addEventListener('click', () => this.toggle());
    $('data-close').addEventListener('click', () => this.toggle());
    this.#open.addEventListener('change', () => this.#apply());
    this.#apply();
  }

  toggle() { this.#open.value = !this.#open.value; }

  /** Opens it, with the focus in the field for a stream's name. */
  add() {
    this.#open.value = true;
    $('name').focus();
  }

  #apply() {
    const isOpen = this.#open.value;
    const hadFocus = $('data').contains(document.activeElement);
    $('data').hidden = !isOpen;
    $('data-open').setAttribute('aria-expanded', String(isOpen));
    if (!isOpen && hadFocus) $('data-open').focus();
  }
}
