import { Feed, type Book } from 'http://127.0.0.1:8080/client.js';
import { StreamContent, ruleFor } from '/client.js';
const feed = new Feed(['btcusdt@bookTicker'], { url: 'http://127.0.0.1:8080', credential: async () => 'k', shared: false });
feed.addEventListener('update', ({ detail: { stream } }) => console.log(feed.get<Book>(stream)?.bids[0]?.[0].length, feed.status(stream).state === 'stale'));
feed.addEventListener('session', ({ detail }) => { if (detail.resume === 'reset') feed.retry(); });
feed.addEventListener('recover', { handleEvent: ({ detail }) => console.log(detail.missed ?? 0) });
feed.addEventListener('gap', ({ detail }) => console.log(detail.dropped.toFixed()));
const store = feed.stream<Book>('btcusdt@depth');
const leave: () => void = store.subscribe(({ content, state }) => console.log(content?.bids.length, state === 'live'));
leave();
feed.connection.upstreams?.some(({ simulated }) => simulated);
const content = new StreamContent(ruleFor([], 'x'));
content.apply({ id: 'a.1', kind: 'full', content: {} });
// @ts-expect-error
feed.addEventListener('updates', () => {});
// @ts-expect-error
feed.addEventListener('gap', ({ detail }) => detail.lost);
// @ts-expect-error
feed.status('x').state === 'fresh';
// @ts-expect-error
feed.get<Book>('x').bids;
// @ts-expect-error
new Feed('btcusdt', { key: 1 });
// @ts-expect-error
store.value.state = 'live';
