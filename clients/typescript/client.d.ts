/** A stream's state as the gateway reports it, or `lost` while the connection is lost. */
export type State = 'connecting' | 'live' | 'stale' | 'recovering' | 'failed' | 'ended' | 'lost';

/** How fresh a content is: milliseconds since it was received, and since it was last verified. */
export interface Freshness { ageMs: number; unverifiedMs: number }
export interface Failure {
  code: 'unknownStream' | 'settled' | 'noSnapshotSource' | 'rateLimited' | 'venueRejected' | 'subscriptionRejected' | 'unreachable' | 'timedOut' | 'malformed';
  message: string; venueCode?: number; retryAfterMs?: number;
}

/** An order book, best levels first: price and quantity as decimal strings. */
export interface Book {
  symbol: string; lastUpdateId: number; time: number;
  bids: [price: string, quantity: string][]; asks: [price: string, quantity: string][];
}

/** The data of `update` and `fetch`: a `full` value, or a `delta` that the feed has merged into the result of `get`. */
export interface Data extends Partial<Freshness> {
  stream: string; id: string; type: string; kind: 'full' | 'delta'; state: Exclude<State, 'lost'>; source: 'rest' | 'websocket';
  /** Milliseconds since 1970 UTC. */
  eventTime?: number; receivedAt: number;
  content: unknown;
}
export interface Session { client: string; streams: string[]; resume: 'none' | 'exact' | 'reset'; replayed: number; heartbeat: number; gzip?: true }
export interface Recovery {
  stream: string; result: 'success' | 'failure'; error?: Failure; method: 'continuous' | 'backfill' | 'snapshot';
  downMs: number; detectedMs: number; missed: number | null;
}
export interface Upstream { name: string; simulated?: boolean; [member: string]: unknown }
/** `lost`: it reconnects by itself. `closed`: it stays closed until `retry`; `error` and the HTTP `status` say why. */
export interface ConnectionState { state: 'connecting' | 'open' | 'lost' | 'closed'; error?: string; status?: number; client?: string; upstreams?: Upstream[] }
export interface StreamStatus {
  state: State;
  /** Milliseconds on a monotonic clock; undefined before the first content. */
  age?: number; unverified?: number;
  id?: string; paused: boolean;
  /** Why the stream was refused. */
  error?: string;
}

export type ByeCode = 'closed' | 'draining' | 'starting' | 'behind' | 'reset' | 'overloaded' | 'slow' | 'count' | 'timeout' | 'limited' | 'expired' | 'revoked'
  | 'replayed' | 'tape';

/** The `detail` of each event. */
export interface FeedEvents {
  session: Session;
  update: Data;
  fetch: Data;
  recover: Recovery;
  fail: { stream: string; error: Failure };
  connect: { stream: string };
  disconnect: { stream: string; reason: string };
  status: { stream: string; state: Exclude<State, 'lost'>; ageMs: number | null; unverifiedMs: number | null };
  gap: { stream: string; dropped: number };
  live: { resume: 'exact' | 'reset' };
  bye: { code: ByeCode; reason: string; retryMs: number };
  connection: ConnectionState;
  refused: { stream: string; error?: string };
}

export type Credential = string | (() => string | Promise<string>);
export interface FeedOptions {
  /** The gateway's URL; by default the gateway that served the module. Required if the module is bundled. */
  url?: string | URL;
  /** A key or token, or a function that returns one for each request. */
  credential?: Credential;
  /** False: a connection only for this tab. */
  shared?: boolean;
  /** False: read on while the tab is hidden. */
  pauseWhenHidden?: boolean;
}

type Listener<Name extends keyof FeedEvents> = ((event: CustomEvent<FeedEvents[Name]>) => void) | { handleEvent(event: CustomEvent<FeedEvents[Name]>): void };

/** The value of a store. It is frozen, and the same object until something changes. `Feed.status` returns its age. */
export interface StreamValue<Content = any> {
  /** The content with all changes merged; undefined before the first snapshot. */
  readonly content?: Content;
  readonly state: State; readonly id?: string; readonly paused: boolean; readonly error?: string;
}
/** A stream as a store. It is a Svelte store, and with React use `useSyncExternalStore(store.subscribe, () => store.value)` in React. */
export interface StreamStore<Content = any> {
  readonly value: StreamValue<Content>;
  /** Calls `run` immediately, and then after changes, at most once per frame. Returns a function that unsubscribes. */
  subscribe(this: void, run: (value: StreamValue<Content>) => void): () => void;
}

/** Streams of a gateway. It dispatches the server's events as `CustomEvent`s, and reconnects by itself. */
export class Feed extends EventTarget {
  constructor(names?: readonly string[], options?: FeedOptions);
  /** Whether other tabs share the connection. */
  readonly isShared: boolean;
  readonly connection: ConnectionState;
  /** The names of the streams, except refused ones. */
  readonly names: string[];
  /** A stream's content with all changes merged; undefined before the first snapshot. The returned object never changes. */
  get<Content = any>(name: string): Content | undefined;
  status(name: string): StreamStatus;
  /** A stream as a store. Its first subscriber adds the stream, the last one removes it, unless `add` or the constructor named it. */
  stream<Content = any>(name: string): StreamStore<Content>;
  add(...names: string[]): void;
  remove(...names: string[]): void;
  /** Pauses streams on the gateway; without names, all streams. */
  pause(...names: string[]): void;
  /** Resumes streams; without names, all streams. After `suspend` and without names, only the feed: it connects immediately. */
  resume(...names: string[]): void;
  /** Reads nothing until `resume`, such as while an app is in the background. Until all missed events have arrived,
   * every state is `lost`. A page that the browser freezes does this by itself. */
  suspend(): void;
  /** Retries refused streams or a closed connection; a given credential is used from now on. */
  retry(credential?: Credential): void;
  /** Requests a path of the gateway, such as `streams/btcusdt@depth`, with the credential. */
  request(path: string, options?: RequestInit): Promise<Response>;
  /** Makes the gateway fetch a snapshot over REST; every reader gets `fetch`. Throws an error with the gateway's reason. */
  refetch(name: string): Promise<void>;
  close(): void;
  addEventListener<Name extends keyof FeedEvents>(name: Name, listener: Listener<Name> | null, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<Name extends keyof FeedEvents>(name: Name, listener: Listener<Name> | null, options?: boolean | EventListenerOptions): void;
}

/** A stream's rule in the catalogue of `GET /streams`. */
export interface Rule { pattern: string; merge: 'replace' | 'byKey' | 'book' | 'append'; key?: string; keep?: number }
export function ruleFor(catalogue: Rule[], name: string): Rule | undefined;

/** The content of one stream, kept current by its rule; without a rule it accepts only full values. */
export class StreamContent {
  constructor(rule?: Omit<Rule, 'pattern'>);
  id?: string;
  readonly value: any;
  readonly full: { id?: string; kind: 'full'; content: any; reach: Record<string, number> };
  /** Whether a book has lost so many levels that a snapshot would contain more. */
  readonly isThin: boolean;
  has(data: Pick<Data, 'id' | 'kind'>): boolean;
  /** False if the change does not follow the current content, so that a snapshot is needed. */
  apply(data: Pick<Data, 'id' | 'kind'> & { content: any; reach?: Record<string, number> }): boolean;
}
