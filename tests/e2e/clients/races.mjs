// The clients of npm @modelcontextprotocol/sdk 1.x and @modelcontextprotocol/client 2.x, cancelling
// calls. races.py is the same for Python, and says what a job is.
//
//     node races.mjs ts1|ts2 JOB

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { part } from './driver.mjs';

const PATIENCE = 5000; // milliseconds for anything that should come

const SETTLING = 10; // for what the library may say of late messages

const POLLING = 5;

const first = process.argv[2] === 'ts1';
const { Client, StreamableHTTPClientTransport } = first
  ? {
      ...(await part('@modelcontextprotocol/sdk/client/index.js')),
      ...(await part('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    }
  : await part('@modelcontextprotocol/client');
const { StdioClientTransport } = await part(
  first ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio',
);

/** A connected client: what it hears of errors, and the id of its newest call. */
async function connected(job, number) {
  const noise = [];
  const versionNegotiation = first ? {} : { versionNegotiation: { mode: job.mode } };
  const client = new Client({ name: 'races', version: '1' }, { ...versionNegotiation });
  client.onerror = (error) => noise.push(`${error.message}`.slice(0, 120));
  const [command, ...args] = (job.command ?? []).map((word) => word.replace('$N', `${number}`));
  const transport =
    job.transport === 'stdio'
      ? new StdioClientTransport({ command, args, env: process.env })
      : new StreamableHTTPClientTransport(new URL(job.url));
  const peer = { client, transport, noise, id: undefined, sent: () => {} };
  peer.record = job.record.replace('$N', `${number}`);
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const sending = send(message, options);
    if (message.method === 'tools/call') {
      peer.id = message.id;
      peer.sent();
    }
    return sending;
  };
  await client.connect(transport);
  return peer;
}

const call = ({ client }, name, options) =>
  first
    ? client.callTool({ name, arguments: {} }, undefined, options)
    : client.callTool({ name, arguments: {} }, options);

/** Until the server has the call. */
const arrived = async ({ record }, tool) => {
  while (!readFileSync(record, 'utf8').includes(JSON.stringify(tool))) await sleep(POLLING);
};

/** By hand. */
const cancel = ({ client, id }) =>
  client.notification({
    method: 'notifications/cancelled',
    params: { requestId: id, reason: 'by hand' },
  });

const described = ({ code, name }) => (code === undefined ? name : `error ${code}`);

/** What a promise gives within the patience we have, or `nothing`. */
async function within(promise) {
  const timer = new AbortController();
  const late = sleep(PATIENCE, 'nothing', { signal: timer.signal }).catch(() => 'nothing');
  const came = await Promise.race([promise, late]);
  timer.abort();
  return came;
}

/** Makes the call and cancels it behind i messages; gives what the caller saw. */
async function race(peer, { tool, i, k }, job) {
  const controller = new AbortController();
  const { signal } = controller;
  let consumed = 0;
  const onprogress = () => {
    consumed += 1;
    if (consumed === i && i < k) controller.abort();
  };
  peer.sent = () => {
    if (!i) arrived(peer, tool).then(() => controller.abort());
  };
  const calling = call(peer, tool, { onprogress, signal }).then(
    (result) => (result.content[0].text === tool ? 'result' : 'a wrong result'),
    (error) => (signal.aborted ? 'cancelled' : described(error)),
  );
  const saw = await within(calling);
  peer.sent = () => {};
  if (i === k && saw === 'result') await cancel(peer).catch(() => {});
  return saw;
}

/** Whether the session still works, and each answer goes to its own request. */
const followUp = (peer) =>
  within(
    call(peer, 'after').then(
      (result) => (result.content[0].text === 'after' ? 'ok' : 'a wrong result'),
      described,
    ),
  );

/** Takes cells from the list until it is empty, the session full or broken. */
async function session(job, number, cells) {
  const peer = await connected(job, number);
  await followUp(peer); // now it listens: not every era has a handshake
  for (let n = 0; n < job.session && cells.length; n += 1) {
    const cell = cells.shift();
    const saw = await race(peer, cell, job);
    await sleep(SETTLING);
    const next = await followUp(peer);
    const noise = peer.noise.splice(0);
    console.log(JSON.stringify({ tool: cell.tool, saw, next, noise }));
    if (next !== 'ok') break;
  }
  await within(peer.transport.terminateSession?.().catch(() => {}) ?? '');
  await within(peer.client.close());
}

process.on('unhandledRejection', (error) => {
  console.log(JSON.stringify({ unhandled: `${error?.message ?? error}` }));
});
const job = JSON.parse(readFileSync(process.argv[3], 'utf8'));
for (let number = 1; job.cells.length; number += 1) {
  const left = job.cells.length;
  await session(job, number, job.cells).catch((error) => {
    console.log(JSON.stringify({ close: described(error) }));
  });
  if (job.cells.length === left) process.exit(1);
}
process.exit(0);
