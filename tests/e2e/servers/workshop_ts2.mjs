// The workshop of npm @modelcontextprotocol/server 2.x: both eras on one port.  See workshop.py.
//
//     node workshop_ts2.mjs stdio | streamable-http
//
// The legacy era is served in sessions with an event store, the modern one request by request.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { part } from '../clients/driver.mjs';

const {
  McpServer,
  WebStandardStreamableHTTPServerTransport,
  acceptedContent,
  createMcpHandler,
  inputRequired,
  isLegacyRequest,
} = await part('@modelcontextprotocol/server');
const { toNodeHandler } = await part('@modelcontextprotocol/node');
const { z } = await part('zod');

const TOPIC = 'note://topic';
const RETRY = 50; // milliseconds after which a client is to come back for the rest of a stream
const Who = z.object({ name: z.string(), integer: z.number().default(7) });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (said) => ({ content: [{ type: 'text', text: said }] });
const asked = (said) => ({
  messages: [{ role: 'user', content: { type: 'text', text: said } }],
  maxTokens: 20,
});

/** An event store in memory: all messages of all streams, numbered from 1. */
class Events {
  events = [];

  async storeEvent(streamId, message) {
    this.events.push({ streamId, message });
    return String(this.events.length);
  }

  async getStreamIdForEventId(id) {
    return this.events[Number(id) - 1]?.streamId;
  }

  async replayEventsAfter(id, { send }) {
    const last = Number(id);
    const { streamId } = this.events[last - 1];
    for (const [index, { streamId: stream, message }] of this.events.entries()) {
      const isPrime = Object.keys(message).length === 0;
      if (index >= last && stream === streamId && !isPrime) await send(String(index + 1), message);
    }
    return streamId;
  }
}

/** Where a call waits in its middle until it is let go; see Gate in workshop.py. */
class Gate {
  reached = this.#signal();
  opened = this.#signal();
  passed = this.#signal();

  #signal() {
    let set;
    const came = new Promise((resolve) => (set = resolve));
    return { came, set };
  }

  async passThrough() {
    this.reached.set();
    await this.opened.came;
  }

  async open() {
    await this.reached.came;
    this.opened.set();
    await this.passed.came;
  }
}
const gates = new Map();
const gateOf = (name) => gates.get(name) ?? gates.set(name, new Gate()).get(name);

/** Report progress of a call to whoever wants it. */
async function report(ctx, progress, total, message) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress, total, message };
  await ctx.mcpReq.notify({ method: 'notifications/progress', params });
}

/** Tools that talk while they work. */
function addTalkers(server) {
  server.registerTool(
    'countdown',
    {
      description: 'Count down to zero with progress and, unless quiet, a log message a step.',
      inputSchema: z.object({ start: z.number(), quiet: z.boolean().default(false) }),
    },
    async ({ start, quiet }, ctx) => {
      for (let step = 1; step <= start; step++) {
        await report(ctx, step, start, `step ${step}`);
        if (!quiet) await ctx.mcpReq.log('info', `${start - step} to go`);
        await pause(20);
      }
      return text('lift-off');
    },
  );
  server.registerTool(
    'break_off',
    {
      description: 'End the stream of the answer half-way: the client must come back for the rest.',
      inputSchema: z.object({ steps: z.number() }),
    },
    async ({ steps }, ctx) => {
      for (let step = 1; step <= steps; step++) {
        await report(ctx, step, steps);
        if (step === Math.floor(steps / 2)) {
          ctx.http?.closeSSE?.();
          await pause(2.5 * RETRY);
        }
        await pause(20);
      }
      return text(`${steps} steps`);
    },
  );
}

/** A tool that waits in its middle, and one that lets it go. */
function addHolders(server) {
  const inputSchema = z.object({ gate: z.string() });
  server.registerTool('hold', { inputSchema }, async ({ gate }, ctx) => {
    for (let step = 1; step <= 4; step++) {
      if (step === 3) await gateOf(gate).passThrough();
      await report(ctx, step, 4);
    }
    gateOf(gate).passed.set();
    return text('held');
  });
  server.registerTool('let_go', { inputSchema }, async ({ gate }) => {
    await gateOf(gate).open();
    return text('it is gone');
  });
}

/** Tools that ask as the legacy era does: on the stream of the call, and (roots) on the session's. */
function addAskers(server) {
  const input = z.object({ text: z.string() });
  server.registerTool('ask_model', { inputSchema: input }, async (args, ctx) => {
    const question = { method: 'sampling/createMessage', params: asked(args.text) };
    const answer = await ctx.mcpReq.send(question);
    return text(`${answer.model}: ${answer.content.text}`);
  });
  server.registerTool('ask_user', { inputSchema: input }, async (args, ctx) => {
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
    const params = { message: args.text, requestedSchema };
    const answer = await ctx.mcpReq.send({ method: 'elicitation/create', params });
    return text(`${answer.action}: ${JSON.stringify(answer.content)}`);
  });
  server.registerTool('ask_roots', {}, async () => {
    const { roots } = await server.server.listRoots();
    return text(roots.map((root) => root.uri).join(' '));
  });
}

/** A tool that asks in rounds; the library turns them into requests in the legacy era. */
function addConsult(server) {
  const description = 'Ask the user and for the roots, then the model.';
  const inputSchema = z.object({ topic: z.string() });
  server.registerTool('consult', { description, inputSchema }, async ({ topic }, ctx) => {
    const answers = ctx.mcpReq.inputResponses;
    const state = ctx.mcpReq.requestState();
    if (state !== undefined && answers?.opinion) {
      return text(`${topic}: ${state}, ${answers.opinion.content.text}`);
    }
    const user = acceptedContent(answers, 'who', Who);
    if (user) {
      return inputRequired({
        inputRequests: {
          opinion: inputRequired.createMessage(asked(`What do you think of ${user.name}?`)),
        },
        requestState: `${user.name}, ${answers.folders?.roots?.length} roots`,
      });
    }
    const who = inputRequired.elicit({ message: 'Who are you?', requestedSchema: Who });
    return inputRequired({ inputRequests: { who, folders: inputRequired.listRoots() } });
  });
}

/** A whole workshop, for one session or for one request of the modern era. */
function workshop(touched) {
  const server = new McpServer(
    { name: 'workshop', version: '1.0.0' },
    {
      instructions: 'Try every tool once.',
      capabilities: { logging: {}, resources: { subscribe: true } },
    },
  );
  server.registerTool(
    'add',
    {
      description: 'Add two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ result: z.number() }),
    },
    async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { result: a + b } }),
  );
  server.registerTool('fail', {}, async () => {
    throw new Error('it does not work ☃');
  });
  server.registerTool('touch', {}, async () => {
    await touched(server);
    return text('touched');
  });
  addTalkers(server);
  addHolders(server);
  addAskers(server);
  addConsult(server);
  server.registerResource('topic', TOPIC, { mimeType: 'text/plain' }, async () => ({
    contents: [{ uri: TOPIC, mimeType: 'text/plain', text: 'naïve ☃' }],
  }));
  server.registerPrompt('greet', { argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${name}.` } }],
  }));
  return server;
}

const updated = (server) => server.server.sendResourceUpdated({ uri: TOPIC });

/** Answer requests of the legacy era, each in its session. */
function sessions() {
  const transports = new Map();
  return async (request) => {
    let transport = transports.get(request.headers.get('mcp-session-id'));
    if (transport === undefined) {
      transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        eventStore: new Events(),
        retryInterval: RETRY,
        onsessioninitialized: (id) => transports.set(id, transport),
        onsessionclosed: (id) => transports.delete(id),
      });
      await workshop(updated).connect(transport);
    }
    return transport.handleRequest(request);
  };
}

/** Serve over Streamable HTTP on a port of our own choice. */
function serveHttp() {
  const modern = createMcpHandler(() => workshop(() => modern.notify.resourceUpdated(TOPIC)), {
    legacy: 'reject',
  });
  const legacy = sessions();
  const fetch = async (request, options) => {
    if (new URL(request.url).pathname !== '/mcp') return new Response(null, { status: 404 });
    return (await isLegacyRequest(request)) ? legacy(request) : modern.fetch(request, options);
  };
  const listener = createServer(toNodeHandler({ fetch }));
  listener.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
    console.error(`listening on http://127.0.0.1:${listener.address().port}/mcp`);
  });
}

if (process.argv[2] === 'stdio') {
  const { serveStdio } = await part('@modelcontextprotocol/server/stdio');
  serveStdio(() => workshop(updated));
} else {
  serveHttp();
}
