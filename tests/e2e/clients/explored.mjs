// A small program for each Node library, to be explored. explored.py is the same for Python, and
// says what it does.
//
//     node explored.mjs ts1|ts2|ts2-modern URL
//     node explored.mjs ts1|ts2|ts2-modern COMMAND..

import { part } from './driver.mjs';

const TIMEOUT = 1000 * (process.env.EXPLORED_TIMEOUT_S ?? 1); // milliseconds

const SHORT_TIMEOUT = 300;

const EXIT_TIMEOUT = 3;

const [library, command, ...args] = process.argv.slice(2);
const first = library === 'ts1';
const { Client, StreamableHTTPClientTransport } = first
  ? {
      ...(await part('@modelcontextprotocol/sdk/client/index.js')),
      ...(await part('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    }
  : await part('@modelcontextprotocol/client');
const { StdioClientTransport } = await part(
  first ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio',
);

const isTimeout = (error) => `${error?.message}`.toLowerCase().includes('timed out');

function expect(text, result) {
  if (result.content[0].text !== text) {
    throw new Error(`expected ${text}, got ${JSON.stringify(result)}`);
  }
}

/** The program itself. Gives whether a call took too long. */
async function play(client) {
  const call = (name, given, options) =>
    first
      ? client.callTool({ name, arguments: given }, undefined, options)
      : client.callTool({ name, arguments: given }, options);
  const { tools } = await client.listTools(undefined, { timeout: TIMEOUT });
  if (!tools.some(({ name }) => name === 'countdown')) throw new Error('no countdown');
  let late = false;
  const callInTime = async (expected, name, given, options) => {
    try {
      expect(expected, await call(name, given, { timeout: TIMEOUT, ...options }));
    } catch (error) {
      if (!isTimeout(error)) throw error;
      late = true;
    }
  };
  const onprogress = () => {};
  await callInTime('lift-off', 'countdown', { steps: 2, pause: 0.02 }, { onprogress });
  const wait = (seconds) => callInTime(`waited ${seconds} seconds`, 'slow', { seconds });
  await Promise.all([wait(0.1), wait(0.05)]);
  const gaveUp = await call('slow', { seconds: 50 }, { timeout: SHORT_TIMEOUT }).catch((error) => {
    if (!isTimeout(error)) throw error;
  });
  if (gaveUp !== undefined) throw new Error('a call that takes 50 s was answered');
  await callInTime('still here', 'echo', { message: 'still here' });
  return late;
}

try {
  const versionNegotiation = library === 'ts2-modern' ? { mode: 'auto' } : { mode: 'legacy' };
  const client = new Client(
    { name: 'explored', version: '1' },
    first ? {} : { versionNegotiation },
  );
  const transport = command.startsWith('http:')
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args, env: process.env });
  await client.connect(transport, { timeout: TIMEOUT });
  const late = await play(client);
  await client.close();
  process.exitCode = late ? EXIT_TIMEOUT : 0;
} catch (error) {
  process.stderr.write(`${error?.stack ?? error}\n`);
  process.exit(isTimeout(error) ? EXIT_TIMEOUT : 1);
}
