// Three ways from a tab to a connection. Each returns `send`, which passes on what the tab wants, and `close`. It calls `hear` with events, and `say` when
// the tab must repeat what it wants.

import { Connection, sharedName } from './connection.js';

const portTo = (hear) => ({ postMessage: (message) => queueMicrotask(() => hear(message)) });

/** A connection only for this tab. */
export function alone(hear) {
  const [connection, port] = [new Connection(), portTo(hear)];
  return { send: (message) => connection.serve(port, message), close: () => connection.end() };
}

/** The connection in a SharedWorker. It needs the script from the gateway, so it works only for unbundled pages of the gateway's origin. */
export function throughWorker(key, base, { say, hear, fail }) {
  if (import.meta.url !== new URL('web/link.js', base).href || new URL(base).origin !== globalThis.location?.origin) return undefined;
  const name = `${sharedName} ${key}`;
  try {
    const worker = new SharedWorker(new URL('web/connection.js', base), { type: 'module', name });
    worker.onerror = fail;
    worker.port.onmessage = ({ data }) => hear(data);
    const lock = `${name} ${Math.random()}`;
    navigator.locks?.request(lock, () => {
      say({ lock });
      return new Promise(() => {});
    });
    return { send: (message) => worker.port.postMessage(message), close: () => {} };
  } catch { return undefined; }
}

/** The connection of the tab that holds a lock. If that tab does not answer, or passes on nothing, not even a heartbeat, a visible tab takes the lock. */
export function throughLeader(key, { say, hear }) {
  if (!globalThis.navigator?.locks || !globalThis.BroadcastChannel) return undefined;
  const name = `${sharedName} ${key}`;
  const [id, own, ports] = [`${name} ${Math.random()}`, portTo(hear), new Map()];
  const [all, mine, waiting] = [new BroadcastChannel(name), new BroadcastChannel(id), new AbortController()];
  let connection, resign, silence, watch, isOpen, isLost, isClosed, lock;
  mine.onmessage = ({ data }) => {
    clearTimeout(silence);
    clearTimeout(watch);
    silence = undefined;
    if (data?.event === 'connection') isOpen = data.data.state === 'open';
    if (isOpen) watch = setTimeout(lose, 40_000);
    // The leader has continued. It repeats the missed events only to a tab that joins again.
    if (isLost && !connection) {
      all.postMessage({ from: id, message: { bye: true } });
      say({ lock });
    }
    isLost = false;
    if (data) hear(data);
  };
  all.onmessage = ({ data: { from, message } }) => {
    if (!from && !connection) say({ lock });
    if (!from || !connection) return;
    if (!ports.has(from)) ports.set(from, new BroadcastChannel(from));
    ports.get(from).postMessage(undefined);
    connection.serve(ports.get(from), message);
    if (message.bye) ports.delete(from);
  };
  const end = () => {
    connection?.end();
    ports.forEach((port) => port.close());
    ports.clear();
    connection = undefined;
    resign = undefined;
  };
  const lead = () => {
    if (isClosed) return undefined;
    connection = new Connection();
    all.postMessage({});
    say();
    return new Promise((done) => {
      resign = done;
    });
  };
  const follow = async (options) => {
    let held;
    try {
      await navigator.locks.request(name, options, () => (held = lead()));
    } catch {
      // Another tab has taken the lock.
      if (held) end();
      if (held && !isClosed) follow({});
    }
  };
  const takeOver = () => {
    silence = undefined;
    if (isClosed || connection || globalThis.document?.visibilityState === 'hidden') return;
    waiting.abort();
    follow({ steal: true });
  };
  const lose = () => {
    if (connection) return;
    isOpen = false;
    isLost = true;
    hear({ event: 'connection', data: { state: 'lost' } });
    takeOver();
  };
  navigator.locks.request(id, () => {
    lock = id;
    say({ lock });
    return new Promise(() => {});
  });
  follow({ signal: waiting.signal });
  return {
    send(message) {
      if (connection) return connection.serve(own, message);
      all.postMessage({ from: id, message });
      silence ??= setTimeout(takeOver, 5000);
      return undefined;
    },
    close() {
      isClosed = true;
      clearTimeout(watch);
      resign?.();
      end();
      [all, mine].forEach((channel) => channel.close());
    },
  };
}


