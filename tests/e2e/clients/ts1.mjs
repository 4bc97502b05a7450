// The client of npm @modelcontextprotocol/sdk 1.x, as its users write it.
//
//     node ts1.mjs --scenario NAME --workdir DIR -- SERVER ARG..
//     node ts1.mjs --scenario NAME --workdir DIR --transport streamable-http|sse --url URL

import { callsOf, goodbye, main, part, play, transportOf } from './driver.mjs';

const { Client } = await part('@modelcontextprotocol/sdk/client/index.js');
const { SSEClientTransport: Sse } = await part('@modelcontextprotocol/sdk/client/sse.js');
const { StdioClientTransport: Stdio } = await part('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport: StreamableHttp } = await part(
  '@modelcontextprotocol/sdk/client/streamableHttp.js',
);
const { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } = await part(
  '@modelcontextprotocol/sdk/types.js',
);

/** Describe the connected client to the runner. */
function peerOf(client) {
  return {
    server: {
      capabilities: client.getServerCapabilities(),
      serverInfo: client.getServerVersion(),
      instructions: client.getInstructions(),
    },
    callTool: (params, options) => client.callTool(params, undefined, options),
    calls: callsOf(client),
  };
}

await main(async (job) => {
  const client = new Client(
    { name: 'mcpmock-e2e', version: '1.0.0' },
    {
      capabilities: {
        sampling: {},
        elicitation: { form: {}, url: {} },
        roots: { listChanged: true },
      },
    },
  );
  for (const schema of [CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema]) {
    client.setRequestHandler(schema, (request) => job.heard.ask(request));
  }
  client.fallbackNotificationHandler = async (message) => job.heard.notification(message);
  const transport = transportOf(job, { Stdio, StreamableHttp, Sse });
  await client.connect(transport);
  await play(job, peerOf(client));
  await goodbye(client, transport);
});
