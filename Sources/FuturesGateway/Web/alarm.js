// The dialog of alerts, and the ways in which one is announced: in the page, by a sound, by a notification of the browser.

import { streamOf } from './alerts.js';
import { $, set } from './dom.js';
import { clock, percent, whole } from './format.js';
import { label } from './venues.js';

const number = /^\d+(\.\d+)?$/;
const rate = /^[-−]?\d+(\.\d+)?$/;

const words = ({ kind, symbol, side, value }) => `${label(symbol)} ${kind === 'price' ? 'last price' : 'funding'} ${side === 'above' ? '≥' : '≤'} ${kind === 'price' ? whole(value) : percent(value)}`;
const states = { watching: 'Watching', connecting: 'Waiting for data', stale: 'Not watched: the data is stale', recovering: 'Not watched: the data is not live',
  lost: 'Not watched: the gateway is lost', failed: 'Not watched: the data is not live', refused: 'Not watched: the gateway refuses this stream', ended: 'Not watched: the symbol has ended' };

/** A rate in percent as a fraction, by moving the point: `-0.01` becomes `-0.0001`. @param {string} text */
export function fraction(text) {
  const sign = /^[-−]/.test(text) ? '-' : '';
  const [units, rest = ''] = text.replace(/^[-−]/, '').split('.');
  const digits = units.padStart(3, '0');
  return `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}${rest}`.replace(/^(-?)0+(?=\d)/, '$1');
}

export class Alarm {
  #alerts;
  #view;
  #log;
  #sound;

  constructor(alerts, view, log) {
    this.#alerts = alerts;
    this.#view = view;
    this.#log = log;
    $('alerts-open').addEventListener('click', () => this.open());
    $('alert-add').addEventListener('submit', (event) => this.#submit(event));
    $('alert-list').addEventListener('click', ({ target }) => {
      if (target.dataset.id) alerts.remove(target.dataset.id);
    });
    for (const option of ['sound', 'notify', 'data']) $(`alert-${option}`).addEventListener('change', ({ target }) => this.#choose(option, target));
    $('fired').addEventListener('click', ({ target }) => target.closest('button')?.parentElement.remove());
    alerts.addEventListener('change', () => this.show());
    alerts.addEventListener('fired', ({ detail }) => this.#announce('warn', `${words(detail)}: ${detail.kind === 'price' ? whole(detail.reached) : percent(detail.reached)}`, detail.id));
    alerts.addEventListener('missed', ({ detail: { alert, missed } }) => this.#announce('warn', `${words(alert)}: ${missed} trades could not be checked. The alert remains.`, alert.id));
    alerts.addEventListener('data', ({ detail: { isLive, symbol } }) => this.#announce(isLive ? 'good' : 'bad', isLive ? `Data of ${label(symbol)} is live again` : `Data of ${label(symbol)} is not live`, 'data'));
    // A browser allows sound only after a click or a key.
    for (const event of ['pointerdown', 'keydown']) document.addEventListener(event, () => this.#prepareSound(), { once: true });
    this.show();
  }

  open() {
    if (!this.#view.symbol || document.querySelector('dialog[open]')) return;
    set($('alert-symbol'), label(this.#view.symbol));
    $('alert-value').value = this.#view.lastPrice ?? '';
    $('alert-kind').value = 'price';
    set($('alert-error'), '');
    $('alerts').showModal();
    $('alert-value').select();
    this.show();
  }

  show() {
    const { list, options } = this.#alerts;
    const active = list.filter(({ at }) => at === undefined).length + (options.data ? 1 : 0);
    set($('alerts-open'), active ? `Alerts ${active}` : 'Alerts');
    if (!$('alerts').open) return;
    for (const option of ['sound', 'notify', 'data']) $(`alert-${option}`).checked = options[option];
    const [newest, lines] = [[...list].reverse(), $('alert-list')];
    // Lines that remain keep the focus of their buttons.
    if (lines.dataset.ids !== newest.map(({ id }) => id).join()) lines.replaceChildren(...newest.map(Alarm.#line));
    lines.dataset.ids = newest.map(({ id }) => id).join();
    newest.forEach((alert, index) => this.#fill(lines.children[index].children[1], alert));
    set($('alert-empty'), list.length ? '' : 'No alert yet.');
  }

  #fill(state, alert) {
    const shown = this.#alerts.state(alert);
    state.dataset.shown = shown;
    set(state, shown === 'fired' ? `Reached ${alert.kind === 'price' ? whole(alert.reached) : percent(alert.reached)} at ${clock(alert.at)}` : states[shown] ?? shown);
    state.title = streamOf(alert);
  }

  static #line(alert) {
    const line = document.createElement('li');
    const [what, , remove] = ['b', 'span', 'button'].map((tag) => line.appendChild(document.createElement(tag)));
    what.textContent = words(alert);
    Object.assign(remove, { type: 'button', textContent: 'Remove' });
    remove.dataset.id = alert.id;
    remove.setAttribute('aria-label', `Remove ${words(alert)}`);
    return line;
  }

  #submit(event) {
    event.preventDefault();
    const [kind, text] = [$('alert-kind').value, $('alert-value').value.trim().replaceAll(',', '')];
    const { symbol, lastPrice } = this.#view;
    const now = kind === 'price' ? lastPrice : this.#view.row('marks', symbol)?.lastFundingRate;
    const isNumber = kind === 'price' ? number.test(text) : rate.test(text);
    const value = !isNumber || kind === 'price' ? text : fraction(text);
    const fault = !isNumber ? 'Enter a number, such as 108500.5.' : now === undefined ? 'The current value is not known yet.' : Number(value) === Number(now) ? 'This is the current value: enter another one.' : '';
    set($('alert-error'), fault);
    if (fault) return;
    this.#alerts.add(kind, symbol, value, { now, after: this.#view.feed.get(this.#view.streams.trades)?.at(-1)?.id });
    $('alert-value').value = '';
  }

  async #choose(option, box) {
    if (option === 'sound' && box.checked) this.#beep();
    if (option === 'notify' && box.checked) {
      const answer = await (globalThis.Notification?.requestPermission() ?? 'denied');
      if (answer !== 'granted') {
        box.checked = false;
        set($('alert-error'), 'The browser does not permit notifications of this page.');
      }
    }
    this.#alerts.set(option, box.checked);
  }

  /** @param {''|'good'|'warn'|'bad'} level @param {string} text @param {string} tag the same for repetitions */
  #announce(level, text, tag) {
    this.#log.say(level, 'Alert', text);
    const line = document.createElement('p');
    line.className = `notice ${level}`;
    line.append(this.#log.time(), ` ${text} `, Object.assign(document.createElement('button'), { type: 'button', textContent: 'Dismiss' }));
    $('fired').prepend(line);
    while ($('fired').children.length > 5) $('fired').lastChild.remove();
    const { sound, notify } = this.#alerts.options;
    if (sound && level !== 'good') this.#beep();
    // Browsers for phones have the class and refuse to make one.
    try { if (notify && Notification.permission === 'granted') new Notification('FuturesGateway', { body: text, tag }); } catch { /* The page shows it. */ }
  }

  #prepareSound() { this.#sound ??= globalThis.AudioContext ? new AudioContext() : undefined; }
  #beep() {
    this.#prepareSound();
    if (!this.#sound) return;
    this.#sound.resume();
    for (const [pitch, start] of [[880, 0], [1175, 0.18]]) {
      const [tone, volume] = [this.#sound.createOscillator(), this.#sound.createGain()];
      tone.frequency.value = pitch;
      volume.gain.value = 0.15;
      tone.connect(volume).connect(this.#sound.destination);
      tone.start(this.#sound.currentTime + start);
      tone.stop(this.#sound.currentTime + start + 0.15);
    }
  }
}
