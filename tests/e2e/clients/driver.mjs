// What the Node clients share: run a scenario of scenarios.json, print one JSON document.
//
// driver.py is the same for Python, and says how a scenario and its document are to be read.
// ts1.mjs and ts2.mjs connect their library and give `play` a peer: {server, callTool, calls}.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const LIMIT = 60_000; // milliseconds for everything
const PATIENCE = 10_000; // milliseconds for one `wait`
const LONGEST = 2000; // characters of a string that the document shows in full
const FIRST_MODERN = '2026-07-28';

/** Import from the folder that tools/e2e_parts.sh installed: Node has no path of its own for it. */
export function part(name) {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const parts = process.env.MCPMOCK_E2E_PARTS || join(cache, 'mcpmock-e2e');
  const require = createRequire(join(parts, 'npm', 'package.json'));
  return import(pathToFileURL(require.resolve(name)));
}

/** The user of this client says no to what the server asks. */
export class RefusedError extends Error {
  code = -1;

  constructor() {
    super('User rejected the request');
  }
}

/** What the server said of its own accord, and what it is answered. */
class Heard {
  asked = [];
  logs = [];
  notifications = {};
  progress = new Map(); // of the calls by name and arguments, the newest of each, as it arrived
  tokens = new Map();
  lost = 0; // progress of calls that arrived, and of which the library did not tell

  constructor(answers) {
    this.answers = answers;
  }

  /** Note a question of the server and give the answer of scenarios.json. */
  ask({ method, params = {} }) {
    this.asked.push({ method, params });
    if (JSON.stringify(params).includes('please refuse')) throw new RefusedError();
    const isUrl = method === 'elicitation/create' && params.mode === 'url';
    return this.answers[isUrl ? `${method} url` : method];
  }

  /** Keep a log message, count any other notification. */
  notification({ method, params = {} }) {
    if (method === 'notifications/message') {
      this.logs.push(params);
    } else if (method !== 'notifications/progress') {
      const key = params.uri ? `${method} ${params.uri}` : method;
      this.notifications[key] = (this.notifications[key] ?? 0) + 1;
    }
  }

  /** A message on its way to the server: its progress will come under this token. */
  leaving({ method, params = {} }) {
    const token = params._meta?.progressToken;
    if (method !== 'tools/call' || token === undefined) return;
    const came = [];
    this.tokens.set(token, came);
    this.progress.set(callOf(params), came);
  }

  /** A message as it comes from the transport, before the library sees it. */
  arriving({ method, params = {} }) {
    if (method !== 'notifications/progress') return;
    const { progress, total, message } = params;
    this.tokens.get(params.progressToken)?.push({ progress, total, message });
  }

  /** Wait until at least so much has come since the start. */
  async wait({ asked = 0, logs = 0, notifications = {} }) {
    const came = () =>
      this.asked.length >= asked &&
      this.logs.length >= logs &&
      Object.entries(notifications).every(([key, n]) => (this.notifications[key] ?? 0) >= n);
    const end = Date.now() + PATIENCE;
    while (!came()) {
      if (Date.now() > end) throw new Error('waited in vain');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return 'came';
  }
}

/** What tells one call from another, whatever the library adds to it. */
function callOf({ name, arguments: given }) {
  return JSON.stringify([name, given]);
}

/** Copy a JSON value with every string and object replaced by what `change` makes of it. */
function mapped(value, change) {
  const changed = change(value);
  if (changed !== value) return changed;
  if (Array.isArray(value)) return value.map((item) => mapped(item, change));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, item]) => [key, mapped(item, change)]);
  return Object.fromEntries(entries);
}

/** Replace `$WORKDIR` and `{"$repeat": [text, times]}` in a part of scenarios.json. */
function filled(part, workdir) {
  return mapped(part, (value) => {
    if (typeof value === 'string') return value.replaceAll('$WORKDIR', workdir);
    return value?.$repeat ? value.$repeat[0].repeat(value.$repeat[1]) : value;
  });
}

/** Replace a long string by its length and digest. */
function folded(value) {
  if (typeof value !== 'string' || value.length <= LONGEST) return value;
  const digest = createHash('sha256').update(value).digest('hex');
  return `<${value.length} characters, sha256 ${digest}>`;
}

/** Hide what differs between two runs; the masks see compact JSON text. */
function masked(document, workdir, masks) {
  let text = JSON.stringify(document).replaceAll(workdir, '$WORKDIR');
  for (const [pattern, replacement] of masks) {
    text = text.replace(new RegExp(pattern, 'g'), replacement);
  }
  return mapped(JSON.parse(text), folded);
}

/** MCP method -> the call: both libraries spell them alike. */
export function callsOf(client) {
  return {
    ping: () => client.ping(),
    'logging/setLevel': ({ level }) => client.setLoggingLevel(level),
    'notifications/roots/list_changed': () => client.sendRootsListChanged(),
    'tools/list': () => client.listTools(),
    'resources/list': () => client.listResources(),
    'resources/templates/list': () => client.listResourceTemplates(),
    'resources/read': (params) => client.readResource(params),
    'resources/subscribe': (params) => client.subscribeResource(params),
    'resources/unsubscribe': (params) => client.unsubscribeResource(params),
    'prompts/list': () => client.listPrompts(),
    'prompts/get': (params) => client.getPrompt(params),
    'completion/complete': (params) => client.complete(params),
  };
}

/**
 * Call a tool, note the progress before the answer; cancel at the n-th of `cancel_after: n`.
 *
 * Both libraries lose a notification that arrives in one read with the answer: they put it off
 * by a microtask, and the answer removes the handler.  So what counts is what the transport has
 * heard; but of a cancelled call, what the user had heard when it was cancelled.
 */
async function callWithProgress(peer, heard, step, outcome) {
  const controller = new AbortController();
  const { signal } = controller;
  const told = [];
  const onprogress = ({ progress, total, message }) => {
    if (!signal.aborted) told.push({ progress, total, message });
    if (told.length === step.cancel_after) controller.abort();
  };
  outcome.progress = told;
  try {
    outcome.result = await peer.callTool(step.params, { onprogress, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    outcome.cancelled = true;
    return;
  }
  outcome.progress = [...heard.progress.get(callOf(step.params))];
  heard.lost += outcome.progress.length - told.length;
}

/** Do one step; whatever goes wrong in it is its result. */
async function run(peer, heard, step) {
  const outcome = { step: step.step };
  try {
    if (step.do === 'wait') {
      outcome.result = await heard.wait(step.for);
    } else if (step.do === 'together') {
      outcome.result = await Promise.all(step.steps.map((one) => run(peer, heard, one)));
    } else if (step.progress) {
      await callWithProgress(peer, heard, step, outcome);
    } else if (step.do === 'tools/call') {
      outcome.result = await peer.callTool(step.params);
    } else {
      outcome.result = (await peer.calls[step.do](step.params)) ?? null;
    }
  } catch (error) {
    const { code = null, message, data } = error;
    outcome.error = { code, message, data };
  }
  return outcome;
}

/** Whether a step is for the era of this connection; most are for both. */
function isFor(step, server) {
  const modern = (server.protocolVersion ?? '') >= FIRST_MODERN;
  return [undefined, modern ? 'modern' : 'legacy'].includes(step.era);
}

/**
 * Read the command line:
 *
 *     [--mode M] --scenario NAME --workdir DIR -- SERVER ARG..
 *     [--mode M] --scenario NAME --workdir DIR --transport streamable-http|sse --url URL
 */
function readJob(modes) {
  const end = process.argv.includes('--') ? process.argv.indexOf('--') : process.argv.length;
  const { values } = parseArgs({
    args: process.argv.slice(2, end),
    options: {
      mode: { type: 'string', default: modes[0] },
      scenario: { type: 'string' },
      workdir: { type: 'string' },
      transport: { type: 'string', default: 'stdio' },
      url: { type: 'string' },
    },
  });
  const scenarios = JSON.parse(readFileSync(new URL('scenarios.json', import.meta.url), 'utf8'));
  const [command, ...args] = process.argv.slice(end + 1);
  return {
    mode: values.mode,
    workdir: values.workdir,
    scenario: scenarios[values.scenario],
    heard: new Heard(filled(scenarios.answers, values.workdir)),
    server: { command, args, env: process.env },
    transport: values.transport,
    url: values.url,
    steps: [],
  };
}

/** All that happened, as JSON. */
function documentOf({ steps, heard, workdir, scenario }) {
  const notifications = Object.fromEntries(Object.entries(heard.notifications).sort());
  const document = { steps, asked: heard.asked, logs: heard.logs, notifications };
  const masks = [...scenario.mask, ['(127\\.0\\.0\\.1|localhost):[0-9]+', 'HOST:PORT']];
  return JSON.stringify(masked(document, workdir, masks), null, 1);
}

/** The client's end of the transport that the command line names; `heard` listens to it. */
export function transportOf(job, { Stdio, StreamableHttp, Sse }) {
  const Url = job.transport === 'sse' ? Sse : StreamableHttp;
  const transport = job.transport === 'stdio' ? new Stdio(job.server) : new Url(new URL(job.url));
  const send = transport.send.bind(transport);
  transport.onmessage = (message) => job.heard.arriving(message); // the libraries keep it
  transport.send = (message, options) => {
    job.heard.leaving(message);
    return send(message, options);
  };
  return transport;
}

/** End the session where the transport has one, as clients should, and close. */
export async function goodbye(client, transport) {
  await transport.terminateSession?.();
  await client.close();
}

/** Run the job over a connected client. */
export async function play(job, peer) {
  job.steps.push({ step: 'connect', result: peer.server });
  for (const step of job.scenario.steps) {
    if (isFor(step, peer.server)) {
      job.steps.push(await run(peer, job.heard, filled(step, job.workdir)));
    }
  }
}

/** Run `client`, which connects, plays the job and closes, within the time limit. */
export async function main(client, modes = ['']) {
  const job = readJob(modes);
  const fail = (why) => {
    console.error('what came before the failure:', documentOf(job), why);
    process.exit(1);
  };
  const watchdog = setTimeout(() => fail(`no end within ${LIMIT} ms`), LIMIT);
  await client(job).catch(fail);
  clearTimeout(watchdog);
  if (job.heard.lost) console.error(`lost by the library: progress, ${job.heard.lost} times`);
  console.log(documentOf(job));
}
