import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { asking, type Asking, type Family } from './kit/asking.ts';
import { startToldServer, type ToldServer } from './kit/told-server.ts';

const TOKENS = { anna: 'token-of-anna-for-scopes', bert: 'token-of-bert-for-scopes' };
const FAMILIES: readonly Family[] = ['with a session', 'without a session'];

let upstream: ToldServer;
beforeAll(async () => {
  upstream = await startToldServer();
  upstream.results.set('long', JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(5000) }] }));
});
afterAll(() => upstream?.[Symbol.asyncDispose]());

describe.each(['session', 'principal'] as const)('artifacts.scope: %s', (scope) => {
  let deployment: Deployment;
  beforeAll(async () => {
    const tokens = Object.entries(TOKENS).map(([name, token]) => ({ name, token }));
    const core = { auth: { enabled: true, tokens }, results: { spill_over_chars: 1000 } };
    const servers = [mounted('up', upstream.url)];
    deployment = await startDeployment({ config: { core, artifacts: { scope }, servers } });
  });
  afterAll(() => deployment?.close());

  const clientOf = (family: Family, name: keyof typeof TOKENS): Promise<Asking> =>
    asking(family, deployment.balancer, { headers: { 'x-mcp-adapter-auth-token': TOKENS[name] } });

  /** Whether it gets an artifact, as a resource and from the tool, at either replica. */
  async function reads(client: Asking, uri: unknown): Promise<boolean> {
    const seen = new Set<boolean>();
    for (const place of [deployment.a, deployment.b]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      seen.add('result' in (await client.call(place, 'resources/read', { uri })));
      const params = { name: 'up_read_artifact', arguments: { uri } };
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      seen.add(asObject((await client.call(place, 'tools/call', params)).result).isError !== true);
    }
    if (seen.size > 1) throw new Error('the ways and replicas differ');
    return seen.has(true);
  }

  test.each(FAMILIES)('what a client %s has made', async (family) => {
    const maker = await clientOf(family, 'anna');
    const made = await maker.call(deployment.a, 'tools/call', { name: 'tell', arguments: { key: 'long' } });
    const { artifact_uri: uri } = asObject(asObject(asObject(made.result)._meta).artifact);
    expect(await reads(maker, uri)).toBe(true);
    for (const other of FAMILIES) {
      // Without sessions, a client is whoever has its token.
      const isSame = scope === 'principal' || (family === 'without a session' && other === family);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect([other, await reads(await clientOf(other, 'anna'), uri)]).toEqual([other, isSame]);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect([other, await reads(await clientOf(other, 'bert'), uri)]).toEqual([other, false]);
    }
  });
});
