// page.mjs URL: reads a price with the installed npm package. Node 18 has no EventSource; this one is enough to receive events once.
import { Feed } from 'futures-gateway-client';

globalThis.EventSource = class extends EventTarget {
  static CLOSED = 2;
  readyState = 0;
  #ended = new AbortController();
  constructor(url) { super(); this.#read(url); }
  async #read(url) {
    const answer = await fetch(url, { headers: { accept: 'text/event-stream' }, signal: this.#ended.signal });
    let rest = '';
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      const events = (rest + piece).split('\n\n');
      rest = events.pop();
      for (const event of events) {
        const fields = Object.fromEntries(event.split('\n').map((line) => line.split(/: (.*)/s)));
        if (fields.data) this.dispatchEvent(Object.assign(new Event(fields.event), { data: fields.data, lastEventId: fields.id ?? '' }));
      }
    }
  }
  close() { this.#ended.abort(); }
};
process.on('unhandledRejection', (error) => { if (error.name !== 'AbortError') throw error; });

const feed = new Feed(['btcusdt@markPrice'], { url: process.argv[2], shared: false });
feed.addEventListener('update', ({ detail }) => {
  if (detail.state !== 'live') return;
  console.log(feed.get(detail.stream).markPrice);
  process.exit(0);
});
