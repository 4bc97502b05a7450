// The client of npm @modelcontextprotocol/client 2.x, as its users write it.
//
//     node ts2.mjs [--mode auto|legacy] --scenario NAME --workdir DIR -- SERVER ARG..
//     node ts2.mjs [--mode M] --scenario NAME --workdir DIR --transport streamable-http|sse --url URL
//
// `legacy`, the initialize handshake, is the library's default; `auto` probes with
// `server/discover` first, on stdio in a process of its own: it starts the server command twice.

import { callsOf, goodbye, main, part, play, transportOf } from './driver.mjs';

const {
  Client,
  SSEClientTransport: Sse,
  StreamableHTTPClientTransport: StreamableHttp,
} = await part('@modelcontextprotocol/client');
const { StdioClientTransport: Stdio } = await part('@modelcontextprotocol/client/stdio');

/** Describe the connected client to the runner. */
function peerOf(client) {
  return {
    server: {
      protocolVersion: client.getNegotiatedProtocolVersion(),
      capabilities: client.getServerCapabilities(),
      serverInfo: client.getServerVersion(),
      instructions: client.getInstructions(),
    },
    callTool: (params, options) => client.callTool(params, options),
    calls: callsOf(client),
  };
}

await main(
  async (job) => {
    const client = new Client(
      { name: 'mcpmock-e2e', version: '1.0.0' },
      {
        capabilities: {
          sampling: {},
          elicitation: { form: {}, url: {} },
          roots: { listChanged: true },
        },
        versionNegotiation: { mode: job.mode },
      },
    );
    for (const method of ['sampling/createMessage', 'elicitation/create', 'roots/list']) {
      client.setRequestHandler(method, (request) => job.heard.ask(request));
    }
    client.fallbackNotificationHandler = async (message) => job.heard.notification(message);
    const transport = transportOf(job, { Stdio, StreamableHttp, Sse });
    await client.connect(transport);
    await play(job, peerOf(client));
    await goodbye(client, transport);
  },
  ['auto', 'legacy'],
);
