// The time zone of all times on the page: UTC, or that of this computer.

const two = (number) => String(number).padStart(2, '0');
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A moment's parts, as numbers. @param {number} time ms since 1970 UTC @param {boolean} isLocal */
function parts(time, isLocal) {
  const date = new Date(time);
  const shift = isLocal ? date.getTimezoneOffset() * 60_000 : 0;
  const shifted = new Date(time - shift);
  const [year, month, day] = [shifted.getUTCFullYear(), shifted.getUTCMonth(), shifted.getUTCDate()];
  return { year, month, day, hour: shifted.getUTCHours(), minute: shifted.getUTCMinutes(), second: shifted.getUTCSeconds() };
}

/** Dispatches `change` when another zone is chosen. */
class Zone extends EventTarget {
  #isLocal = false;

  get isLocal() { return this.#isLocal; }
  set isLocal(isLocal) {
    if (this.#isLocal === isLocal) return;
    this.#isLocal = isLocal;
    this.dispatchEvent(new Event('change'));
  }

  /** The zone's name at a moment: `UTC`, or `local time, UTC+9`. @param {number} time */
  words(time) {
    if (!this.#isLocal) return 'UTC';
    const minutes = -new Date(time).getTimezoneOffset();
    const size = Math.abs(minutes);
    const rest = size % 60 ? `:${two(size % 60)}` : '';
    return `local time, UTC${minutes < 0 ? '−' : '+'}${Math.floor(size / 60)}${rest}`;
  }

  /** `23:04:05`. @param {number} time */
  clock(time) {
    const { hour, minute, second } = parts(time, this.#isLocal);
    return `${two(hour)}:${two(minute)}:${two(second)}`;
  }

  /** `2026-01-02 23:04:05`. @param {number} time */
  stamp(time) {
    const { year, month, day } = parts(time, this.#isLocal);
    return `${year}-${two(month + 1)}-${two(day)} ${this.clock(time)}`;
  }

  /** `2 Jan 23:04`. @param {number} time */
  brief(time) {
    const { month, day, hour, minute } = parts(time, this.#isLocal);
    return `${day} ${months[month]} ${two(hour)}:${two(minute)}`;
  }

  /** The text of a mark at the time axis: the largest part that is new at this moment. @param {number} time @param {boolean} hasSeconds */
  mark(time, hasSeconds) {
    const { year, month, day, hour, minute, second } = parts(time, this.#isLocal);
    if (hour || minute || second) return `${two(hour)}:${two(minute)}${hasSeconds ? `:${two(second)}` : ''}`;
    if (day > 1) return `${day} ${months[month]}`;
    return month ? months[month] : String(year);
  }
}

export const zone = new Zone();
