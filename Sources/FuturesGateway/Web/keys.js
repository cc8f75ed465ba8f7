// Keyboard shortcuts, and the dialog that lists them.

import { $ } from './dom.js';

const fields = 'input, select, textarea, [contenteditable]';

/** Whether a keystroke is text for a field or a shortcut of the browser. @param {KeyboardEvent} event */
const isForeign = (event) => event.altKey || event.ctrlKey || event.metaKey || event.target.matches(fields);

/** @typedef {{keys: string[], words: string, run?: (key: string) => void, isEverywhere?: boolean}} Command `run`: absent if another part of the page acts;
 *   `isEverywhere`: with Ctrl or ⌘, also in fields */

export class Keys {
  #commands;

  /** @param {Command[]} commands */
  constructor(commands) {
    this.#commands = [...commands, { keys: ['?'], words: 'Show or hide this list', run: () => this.#toggle() }];
    $('keys-list').append(...this.#commands.map(Keys.#line));
    document.addEventListener('keydown', (event) => this.#press(event));
    // A field in a closed dialog may keep the focus, and would take the next key.
    for (const dialog of document.querySelectorAll('dialog')) {
      dialog.addEventListener('close', () => {
        if (dialog.contains(document.activeElement)) document.activeElement.blur();
      });
    }
  }

  #press(event) {
    const command = this.#commands.find(({ keys, run, isEverywhere }) => run && (isEverywhere
      ? (event.ctrlKey || event.metaKey) && !event.altKey && keys.includes(event.key.toLowerCase())
      : !isForeign(event) && keys.includes(event.key)));
    const open = document.querySelector('dialog[open]');
    if (!command || (open && !(command.keys.includes('?') && open === $('keys')))) return;
    event.preventDefault();
    command.run(event.key);
  }

  #toggle() {
    if ($('keys').open) $('keys').close();
    else $('keys').showModal();
  }

  static #line({ keys, words, isEverywhere }) {
    const line = document.createElement('div');
    const [term, meaning] = ['dt', 'dd'].map((tag) => line.appendChild(document.createElement(tag)));
    for (const key of keys) term.append(Object.assign(document.createElement('kbd'), { textContent: `${isEverywhere ? 'Ctrl ' : ''}${key.toUpperCase()}` }), ' ');
    meaning.textContent = words;
    return line;
  }
}
