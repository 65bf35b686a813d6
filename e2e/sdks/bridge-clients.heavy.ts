import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, mounted, startDeployment } from '../adapter/kit/deployment.ts';
import { missing } from './cached.ts';
import { CLIENTS } from './cells/clients.ts';
import { compared, expected } from './cells/expected.ts';
import { type CellServer, type Family, SDKS, startCellServers } from './cells/servers.ts';

const LIMIT_MS = 300_000;
const SERVERS = SDKS.flatMap((sdk) => (['newer', 'older'] as const).map((family) => ({ sdk, family })));

describe('clients and servers of several SDKs, in all four cells, through two replicas', () => {
  const opened = new AsyncDisposableStack();
  let deployment: Deployment;

  beforeAll(async () => {
    const reason = (await missing('python3', '-m', 'venv', '--help')) ?? (await missing('go', 'version'));
    if (reason !== undefined) throw new Error(reason);
    const servers = await startCellServers(opened);
    const config = { uploads: { enabled: false }, artifacts: { enabled: false } };
    const mounts = servers.map((server) => mounted(mountOf(server), server.url));
    deployment = opened.use(await startDeployment({ config: { ...config, servers: mounts } }));
  }, LIMIT_MS);
  afterAll(() => opened.disposeAsync());

  describe.each(SERVERS)('the $family server of $sdk', (server) => {
    test.each(CLIENTS)('serves the $family client of $sdk as the page says', { timeout: LIMIT_MS }, async (client) => {
      const outcomes = await client.use(`${deployment.balancer.url}/mcp/${mountOf(server)}`);
      expect(compared(client, server, outcomes)).toEqual(expected(client, server));
    });
  });
});

const mountOf = ({ sdk, family }: Pick<CellServer, 'sdk'> & { readonly family: Family }): string =>
  `${sdk.toLowerCase()}-${family}`;
