// The clients of npm @modelcontextprotocol/sdk 1.x and @modelcontextprotocol/client 2.x, calling one
// tool of each of several servers at once. endings.py is the same for Python, and says what a job is.
//
//     node endings.mjs ts1|ts2 JOB

import { readFileSync } from 'node:fs';

import { part } from './driver.mjs';

const first = process.argv[2] === 'ts1';
const { Client } = await part(
  first ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client',
);
const { StdioClientTransport } = await part(
  first ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio',
);

const call = async ([command, ...args]) => {
  const client = new Client({ name: 'endings', version: '1' });
  await client.connect(new StdioClientTransport({ command, args, env: process.env }));
  const { content } = await client.callTool({ name: 'work', arguments: {} });
  await client.close();
  return content[0].text;
};

const job = Object.entries(JSON.parse(readFileSync(process.argv[3], 'utf8')));
const said = await Promise.all(job.map(async ([name, command]) => [name, await call(command)]));
console.log(JSON.stringify(Object.fromEntries(said)));
