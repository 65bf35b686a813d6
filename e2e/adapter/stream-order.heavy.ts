import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningAdapter } from '../support/adapter-process.ts';
import { type AskingServer, startAskingServer } from './kit/asking-server.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';

const PAIRS = 200;
/** Of one client after the other, as many at once. */
const AT_ONCE = 4;

describe('I1: a client that opens its event stream and calls a tool at once, through three replicas', () => {
  let server: AskingServer;
  let deployment: Deployment;
  let third: RunningAdapter;

  beforeAll(async () => {
    server = await startAskingServer();
    deployment = await startDeployment({ config: { servers: [mounted('up', server.url)] } });
    third = await deployment.startAnother({});
    deployment.balancer.targets.push(third.url);
  });
  afterAll(async () => {
    await third?.stop();
    await deployment?.close();
    await server?.close();
  });

  test(`is asked by the server on that stream, ${PAIRS} times of ${PAIRS}`, { timeout: 180_000 }, async () => {
    const outcomes: string[] = [];
    let left = PAIRS;
    const clients = Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) outcomes.push(await askedAtOnce(`${deployment.balancer.url}/mcp/up`));
    });
    await Promise.all(clients);
    expect(Object.groupBy(outcomes, (outcome) => outcome)).toEqual({ Ada: outcomes });
    expect(server.dropped).toBe(0);
    const streams = deployment.balancer.requests.filter(({ method }) => method === 'GET');
    expect(new Set(streams.map(({ target }) => target)).size).toBe(3);
  });
});

/** What a new client answers that calls the tool right after its connection; the error where it was not asked. */
async function askedAtOnce(url: string): Promise<string> {
  const client = new Client({ name: 'hasty', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }));
  const transport = new StreamableHTTPClientTransport(new URL(url));
  try {
    await client.connect(transport);
    const { content } = await client.callTool({ name: 'ask' }, undefined, { timeout: 5_000 });
    return (content as { text: string }[])[0]?.text ?? '';
  } catch (error) {
    return String(error);
  } finally {
    await transport.terminateSession().catch(() => undefined);
    await client.close();
  }
}
