// What this browser keeps between visits.

// A browser may forbid even reading `localStorage`.
function open() {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
const storage = open();

/** A value that all tabs of this browser share. It dispatches `change` after every change, also after one in another tab. */
export class Stored extends EventTarget {
  #name;
  #value;

  /** @param {string} name @param {any} usual the value before anything is kept */
  constructor(name, usual) {
    super();
    this.#name = `futures-gateway ${name}`;
    this.#value = usual;
    this.#read(storage?.getItem(this.#name));
    globalThis.addEventListener?.('storage', ({ key, newValue }) => {
      if (key !== this.#name) return;
      this.#read(newValue);
      this.dispatchEvent(new Event('change'));
    });
  }

  // Text from an older version, or from another program, is ignored.
  #read(text) {
    try {
      const value = JSON.parse(text ?? '');
      if (typeof value === typeof this.#value && Array.isArray(value) === Array.isArray(this.#value)) this.#value = value;
    } catch { /* Nothing is kept. */ }
  }

  get value() { return this.#value; }
  set value(value) {
    this.#value = value;
    // The storage may be full; then the value is lost with the tab.
    try { storage?.setItem(this.#name, JSON.stringify(value)); } catch { /* As without a storage. */ }
    this.dispatchEvent(new Event('change'));
  }
}
