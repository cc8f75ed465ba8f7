// The text of the header: the state of the gateway, the venue and the streams, the worst first.

const plural = (count) => `${count} stream${count === 1 ? '' : 's'}`;

/** The overall state. `level` is one of `good`, `idle`, `paused`, `warn` and `bad`.
 * @param {{connection: string, shown: string[], refused?: number, isAsking?: boolean, lines?: {text: string, isLost: boolean}, ready?: string}} seen `shown`:
 *   what `Freshness.look` shows of each stream; `refused`: refused streams of the shown instrument; `lines`: as `lines` returns; `ready`: the text of
 *   `GET /readyz`
 * @returns {{level: string, word: string, detail: string}} */
export function judge({ connection, shown, refused = 0, isAsking, lines, ready = '' }) {
  if (isAsking) return { level: 'bad', word: 'Key needed', detail: '' };
  if (connection === 'closed') return { level: 'bad', word: 'Stopped', detail: 'The gateway refused the connection.' };
  if (connection === 'lost') return { level: 'bad', word: 'Gateway lost', detail: 'Values are frozen. Reconnecting automatically.' };
  const active = shown.filter((one) => !['paused', 'refused', 'ended'].includes(one));
  const count = (...states) => active.filter((one) => states.includes(one)).length;
  const [paused, lost, failed] = [shown.filter((one) => one === 'paused').length, count('recovering'), count('failed')];
  const old = count('stale', 'unverified');
  const well = active.length - lost - failed - old - count('connecting');
  if (lost && !well) return { level: 'bad', word: 'Venue lost', detail: 'Values are frozen. Reconnecting automatically.' };
  if (old && !well) return { level: 'bad', word: 'No new data', detail: 'Expected data did not arrive.' };
  const trouble = connection === 'open' && active.length && !well && ready.match(/^(?:no data flows from|.*has not listed its symbols)[^\n]*/);
  if (trouble) return { level: 'bad', word: 'Venue down', detail: `${trouble[0].replace(/^no data flows.*?; /, '').replace(/ for http\S+?(?=:? )/, '').replace(/\.$/, '')}. The page starts automatically once data arrives.` };
  if (connection === 'connecting' || (active.length && !well && !failed)) return { level: 'idle', word: 'Connecting', detail: '' };
  if (!active.length) return paused ? { level: 'paused', word: 'Paused', detail: 'No value on this page is updated.' } : { level: 'idle', word: 'No streams', detail: '' };
  const parts = [[lost, 'recovering'], [old, 'stale'], [failed, 'failed'], [refused, 'refused'], [paused, 'paused']].filter(([number]) => number);
  const detail = parts.map(([number, what]) => `${plural(number)} ${what}`).join(', ');
  if (lost + old + failed + refused) return { level: 'warn', word: 'Partly live', detail };
  // The loss of one line does not affect readers, but the next loss would.
  // Live data and no open line contradict each other: that number is old.
  const spare = lines?.isLost && !lines.text.startsWith('0') && !paused ? `On ${lines.text} lines: nothing is missing, but there is no spare line.` : '';
  return { level: paused ? 'paused' : 'good', word: paused ? 'Partly paused' : 'Live', detail: detail || spare };
}

/** The lines to the venue, in words, from `GET /streams` and the current `GET /readyz`.
 * @param {{lines?: number, linesOpen?: number}} upstream @param {string} [ready] */
export function lines({ lines, linesOpen }, ready = '') {
  const lost = ready.match(/(\d) of (\d) lines/);
  if (lost) return { text: `${lost[1]} of ${lost[2]}`, isLost: true };
  if (!lines) return { text: '–', isLost: false };
  return { text: `${ready ? lines : linesOpen} of ${lines}`, isLost: !ready && linesOpen < lines };
}

/** The lines to show beside the overall state; an old answer that contradicts the current state is not shown. @param {{text: string, isLost: boolean}} lines
 * @param {string} word of the overall state */
export function agreeing(lines, word) {
  const contradicts = (word === 'Venue lost' && !lines.text.startsWith('0')) || (word === 'Live' && lines.text.startsWith('0'));
  return contradicts ? { text: '–', isLost: false } : lines;
}
