import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';

/** Lists the tools of a server twice in a session for each form, which is the version of the client, and prints what it saw. */
const [sdk = '', url = '', forms = ''] = process.argv.slice(2);
const reconnectionOptions = {
  initialReconnectionDelay: 100,
  maxReconnectionDelay: 100,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 0,
};

async function seen(form: number): Promise<string[][]> {
  const info = { name: 'hostile', version: String(form) };
  const listed: string[][] = [];
  const client = sdk === 'v1' ? new ClientV1(info) : new ClientV2(info);
  const transport = new (sdk === 'v1' ? TransportV1 : TransportV2)(new URL(url), { reconnectionOptions });
  try {
    await client.connect(transport, { timeout: 10_000 });
    for (let i = 0; i < 2; i++) {
      const { tools } = await client.listTools(undefined, { timeout: 8000 });
      for (const { name, description = '' } of tools) listed.push([name, description]);
    }
  } catch (error) {
    process.stderr.write(`${form}: ${String(error)}\n`);
  } finally {
    await client.close();
  }
  return listed;
}

for (let form = 0; form < Number(forms); form++) {
  process.stdout.write(`${JSON.stringify({ form, seen: await seen(form) })}\n`);
}
process.exit(0);
