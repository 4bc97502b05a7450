// A client of the TypeScript SDK, 1.x or 2.x, that logs in, lists the tools and calls one.
//
//     node login.mjs ts1|ts2 URL
//
// What it prints and takes is that of login.py. Where the SDK leaves it to the program to come back
// from the authorization server and to try again, this one does, five times at the most.

import { part } from './driver.mjs';

const [name, url] = process.argv.slice(2);
const [{ Client }, { StreamableHTTPClientTransport }, { UnauthorizedError }] =
  name === 'ts1'
    ? [
        await part('@modelcontextprotocol/sdk/client/index.js'),
        await part('@modelcontextprotocol/sdk/client/streamableHttp.js'),
        await part('@modelcontextprotocol/sdk/client/auth.js'),
      ]
    : Array(3).fill(await part('@modelcontextprotocol/client'));
const MAX_LOGINS = 5;

function tell(what) {
  console.log(JSON.stringify(what));
}

/** The provider of a program: everything in memory. */
class Provider {
  redirectUrl = 'http://localhost:3000/back';
  clientMetadataUrl = process.env.LOGIN_CLIENT_ID;
  clientMetadata = { client_name: 'test', redirect_uris: [this.redirectUrl] };
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.held;
  }
  saveTokens(tokens) {
    this.held = tokens;
    tell({ granted: tokens.scope ?? '' });
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  saveDiscoveryState(found) {
    this.found = found;
  }
  discoveryState() {
    return this.found;
  }
  invalidateCredentials(scope) {
    if (scope === 'all' || scope === 'client') this.client = undefined;
    if (scope === 'all' || scope === 'tokens') this.held = undefined;
    if (scope === 'all' || scope === 'discovery') this.found = undefined;
  }
  async redirectToAuthorization(page) {
    tell({ authorize: Object.fromEntries(page.searchParams) });
    const answer = await fetch(page, { redirect: 'manual' });
    this.back = new URL(answer.headers.get('location') ?? 'about:blank').searchParams;
  }
}

const provider = new Provider();
let logins = 0;
let transport;

/** What `work` gives, with the logins that it needs. */
async function loggedIn(work) {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const code = provider.back?.get('code');
      if (!(error instanceof UnauthorizedError) || !code || ++logins > MAX_LOGINS) throw error;
      const back = provider.back;
      provider.back = undefined;
      await transport.finishAuth(name === 'ts1' ? code : back);
    }
  }
}

async function main() {
  const client = await loggedIn(async () => {
    const client = new Client({ name: 'test', version: '1' });
    transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
    await client.connect(transport);
    return client;
  });
  const { tools } = await loggedIn(() => client.listTools());
  const call = JSON.parse(process.env.LOGIN_CALL ?? '{}');
  if (tools.length || call.name) {
    const params = { name: call.name ?? tools[0].name, arguments: call.arguments ?? {} };
    const result = await loggedIn(() => client.callTool(params));
    tell({ answered: result.content[0].text });
  }
  await client.close();
}

setTimeout(() => {
  tell({ error: 'TimeoutError: 25 s' });
  process.exit(1);
}, 25_000);
try {
  await main();
} catch (error) {
  tell({ error: `${error.constructor.name}: ${error.message}`.split('\n')[0].slice(0, 200) });
  process.exit(1);
}
process.exit(0);
