/** Fake MCP servers for tests, played from recordings. */

/** Start the fake server of a cassette, or the real one while it is recorded. */
export function mcpmock(cassette: string | URL, options?: McpmockOptions): Promise<McpmockServer>;

/** The cancellation races of a recorded call, at once: a test for each. */
export function races(
  cassette: string | URL,
  match: RaceMatch,
  options?: { reactions?: string[] },
): Race[];

/** What a test fails for: a miss, a recorded request that was not sent, a wrong option. */
export class McpmockError extends Error {
  readonly name: 'McpmockError';
  /** The requests that match nothing recorded. */
  readonly misses: Miss[];
}

/** How a cassette is played, recorded and broken: the keywords of the marker of pytest. */
export interface McpmockOptions {
  /** The faults to inject: short forms such as `latency:latency=200ms,tool=get_*`, or TOML files. */
  faults?: string | URL | string[];
  /** One of `races()`: when the client cancels, and how the server reacts. */
  race?: Race;
  /** Random seed of all fault decisions. */
  seed?: number;
  /** What each message of the server waits for. */
  order?: 'causal' | 'strict' | 'any';
  /** Pause before each message: none, recorded, scale:X, fixed:MS or cap:MS. */
  timing?: string;
  /** How to answer calls repeated more often than recorded. */
  repeats?: 'auto' | 'error' | 'last' | 'cycle';
  /** Whether a recorded session may be replayed more than once. */
  sessions?: 'reuse' | 'once';
  /** Which requests match: how exactly they have to be those of the recording. */
  match?: 'relaxed' | 'exact' | 'tool';
  /** What may differ: `METHOD [TOOL] JSONPATH`. */
  ignore?: string[];
  /** What only has to be of a kind: `METHOD [TOOL] JSONPATH KIND`. */
  like?: string[];
  /** What the answer repeats of the request. */
  echo?: string[];
  /** Do not use the rules in the cassette. */
  noRules?: boolean;
  /** What to do with a request that matches nothing recorded. */
  onMiss?: 'error' | 'nearest' | 'hang' | 'close';
  /** How long, in milliseconds, an answer waits for a request that overlapped it. */
  overlapGrace?: number;
  /** Whether a request that matches nothing recorded fails the test. */
  misses?: 'fail' | 'allow';
  /** How to treat recorded requests that were not sent. */
  unused?: 'ignore' | 'warn' | 'fail';
  /** The record mode, unless MCPMOCK_RECORD says another. */
  record?: 'none' | 'once' | 'new_episodes' | 'all' | 'rewrite';
  /** The command of the real server, to record it. */
  server?: string[];
  /** The URL of the real server, to record it. */
  serverUrl?: string | URL;
  /** A mock in TOML that answers before the recording. */
  stub?: string | URL;
  /** Require a login over HTTP: oauth, or oauth:expires=60s,.. */
  auth?: string;
  /** The names of members whose values are redacted in recordings and reports. */
  redactKey?: string[];
  redactValue?: string[];
  redactPath?: string[];
  keepKey?: string[];
  redactAs?: 'number' | 'hash';
  /** The test: its context in vitest or node:test, or its name. Found without it where possible. */
  test?: string | TestOfNode | TestOfVitest;
}

/** The context that node:test gives a test. */
export interface TestOfNode {
  readonly name: string;
  after(end: () => unknown): void;
}

/** The context that vitest gives a test. */
export interface TestOfVitest {
  readonly task: { readonly name: string };
  onTestFinished(end: (context: any) => any): void;
}

/** A fake server. It ends with `stop()`, with its block (`await using`) or with the process. */
export interface McpmockServer extends AsyncDisposable {
  /** For clients over HTTP, in any process of this machine. */
  readonly url: string;
  /** For `StdioClientTransport`; undefined for a server that is only reached over HTTP. */
  readonly stdio: { command: string; args: string[] } | undefined;
  /** The race that it was started with. */
  readonly race: Race | undefined;
  readonly faults: Faults;
  /** The calls of clients, in order: all, those of one method, or those of one tool. */
  calls(method?: string, filter?: { tool?: string }): Promise<Call[]>;
  /** The requests that match nothing recorded. */
  misses(): Promise<Miss[]>;
  /** Wait until the client has received what it must see before it cancels (`race`). */
  moment(options?: { patience?: number }): Promise<{ requestId: string | number | null }>;
  /**
   * End it. Rejects with McpmockError for a miss, an unused recorded request, or a fault that had
   * to fire. `passed` says whether what it recorded goes into the cassette, where no runner does.
   */
  stop(options?: { passed?: boolean }): Promise<void>;
}

/** The faults of a server. They may be changed at any time. */
export interface Faults {
  add(fault: string): Promise<AddedFault>;
  remove(fault: AddedFault): Promise<void>;
  /** How often the faults of this name or kind fired; without a name, all of them. */
  fired(name?: string): Promise<number>;
}

export interface AddedFault {
  readonly fault: number;
  readonly name: string;
}

/** A request or a notification that a client sent. */
export interface Call {
  readonly method: string;
  readonly params: Record<string, any>;
  /** null for a notification. */
  readonly id: string | number | null;
  /** The number of the client's session with this server. */
  readonly session: number;
  /** The tool or prompt by its name. */
  readonly tool?: string;
}

export interface Miss {
  readonly method: string;
  /** The request, the nearest recorded one, and a rule that allows the difference. */
  readonly text: string;
}

/** Which call a race is about. */
export interface RaceMatch {
  tool?: string;
  method?: string;
  nth?: number;
  [key: string]: unknown;
}

/** A point at which a cancel and the answer can cross, and how the server reacts. */
export interface Race {
  /** A name for the test. */
  readonly id: string;
  readonly match: RaceMatch;
  readonly name: string;
  /** How many messages of the call the client has received when it cancels. */
  readonly i: number;
  /** How many the server has sent when the cancel reaches it. */
  readonly j: number;
  /** How many there are: progress and the answer. */
  readonly k: number;
  readonly reaction: string;
  /** Whether the reaction ends the session. */
  readonly ends: boolean;
}
