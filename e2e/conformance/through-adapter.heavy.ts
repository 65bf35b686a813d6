import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AUDIENCE, sampleKey, signed } from '../../adapter/identity/testing/sample-issuer.ts';
import { type RunningIssuer, startIssuer } from '../adapter/identity/kit/running-issuer.ts';
import { type RunningAdapter, startAdapter } from '../support/adapter-process.ts';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { type RunningFixture, startFixture } from '../support/fixture-process.ts';
import { freePort } from '../support/ports.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { type ConformanceScore, failures, regressions, type Requirements, runConformance } from './run-conformance.ts';

const CORE = { host: '127.0.0.1', max_start_wait_seconds: 0 };

/** What the suite finds behind the adapter must be what it finds without it. */
describe('MCP conformance through the adapter', () => {
  let fixture: RunningFixture;
  let folder: string;
  const direct = new Map<Requirements, ConformanceScore>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'conformance-storage-'));
    fixture = await startFixture();
    for (const requirements of ['2025-11-25', '2026-07-28'] as const) {
      direct.set(requirements, await runConformance({ url: fixture.mcpUrl, requirements }));
    }
  });
  afterAll(async () => {
    await fixture?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const configOf = (name: string, statePersistence: Record<string, unknown>): Record<string, unknown> => ({
    core: CORE,
    state_persistence: statePersistence,
    storage: { root: join(folder, name) },
    servers: [
      { id: 'fixture', mount_path: '/mcp/fixture', upstream: { url: fixture.mcpUrl } },
      { id: 'sse', mount_path: '/mcp/sse', upstream: { url: fixture.sseUrl, transport: 'sse' } },
    ],
  });

  async function expectTheSameAsDirect(url: string, requirements: Requirements, gained = 0): Promise<void> {
    const before = direct.get(requirements);
    if (before === undefined) throw new Error(`not scored directly: ${requirements}`);
    const through = await runConformance({ url, requirements });
    expect(failures(through)).toEqual([]);
    expect(regressions(before, through)).toEqual([]);
    expect(through).toMatchObject({ exitCode: 0, passed: before.passed + gained, failed: before.failed - gained });
  }

  describe('two replicas behind a strict round-robin balancer, with Redis', () => {
    let redis: RedisServer | undefined;
    let balancer: Balancer;
    const replicas: RunningAdapter[] = [];

    beforeAll(async () => {
      redis = await startRedis();
      const config = configOf('redis', { type: 'redis', redis: { host: redis.host, port: redis.port } });
      for (let replica = 0; replica < 2; replica += 1) replicas.push(await startAdapter({ config }));
      balancer = await startBalancer(replicas.map((replica) => replica.url));
    });
    afterAll(async () => {
      await balancer?.close();
      for (const replica of replicas) await replica.stop();
      await redis?.close();
    });

    test.for(['2025-11-25', '2026-07-28'] as const)('score as without the adapter on %s', async (requirements) => {
      await expectTheSameAsDirect(`${balancer.url}/mcp/fixture`, requirements);
    });

    test('serve an upstream of HTTP+SSE to clients of 2025-11-25', async () => {
      const before = direct.get('2025-11-25');
      if (before === undefined) throw new Error('not scored directly');
      const through = await runConformance({ url: `${balancer.url}/mcp/sse`, requirements: '2025-11-25' });
      expect(failures(through, 'all')).toEqual([]);
      // HTTP+SSE has no way to close the stream of one call and to tell when to come back: these three checks.
      const lost = regressions(before, through).filter((check) => !check.startsWith('server-sse-polling '));
      expect(lost).toEqual([]);
      expect(through).toMatchObject({ exitCode: 0, failed: 0 });
      expect(through.passed).toBeGreaterThanOrEqual(before.passed - 3);
    });

    test('have both had their share', () => {
      const shares = replicas.map(({ url }) => balancer.requests.filter(({ target }) => target === url).length);
      expect(Math.min(...shares)).toBeGreaterThan(100);
      expect(balancer.requests.filter(({ status }) => status === 502)).toEqual([]);
    });
  });

  describe('one process that asks for a token, which the balancer brings because the suite has none', () => {
    let adapter: RunningAdapter | undefined;
    let issuer: RunningIssuer | undefined;
    let balancer: Balancer | undefined;

    beforeAll(async () => {
      const key = await sampleKey('one');
      issuer = await startIssuer(key);
      const oauth = { issuer: issuer.url, jwks_uri: `${issuer.url}/keys`, audiences: [AUDIENCE], scopes: ['tools'] };
      const config = configOf('auth', { type: 'memory' });
      adapter = await startAdapter({ config: { ...config, core: { ...CORE, auth: { enabled: true, oauth } } } });
      const token = await signed(key, { iss: issuer.url, exp: Math.floor(Date.now() / 1000) + 3600 });
      balancer = await startBalancer([adapter.url], ['Authorization', `Bearer ${token}`]);
    });
    afterAll(async () => {
      await balancer?.close();
      await adapter?.stop();
      await issuer?.[Symbol.asyncDispose]();
    });

    test('refuses who brings none', async () => {
      expect((await fetch(`${adapter?.url}/mcp/fixture`, { method: 'POST' })).status).toBe(401);
    });

    test('scores as without the adapter on 2025-11-25', async () => {
      await expectTheSameAsDirect(`${balancer?.url}/mcp/fixture`, '2025-11-25');
    });

    test('scores as without the adapter on 2026-07-28, and knows which tasks nobody has', async () => {
      // The fixture has no tasks, so it calls methods unknown where the suite asks for a task that there is not.
      await expectTheSameAsDirect(`${balancer?.url}/mcp/fixture`, '2026-07-28', 1);
    });
  });

  describe('one process with SQLite, whose messages carry the context of a trace', () => {
    let adapter: RunningAdapter | undefined;

    beforeAll(async () => {
      const telemetry = { enabled: true, endpoint: `http://127.0.0.1:${await freePort()}`, traces: { enabled: true } };
      adapter = await startAdapter({ config: { ...configOf('disk', { type: 'disk' }), telemetry } });
    });
    afterAll(async () => {
      await adapter?.stop();
    });

    test.for(['2025-11-25', '2026-07-28'] as const)('scores as without the adapter on %s', async (requirements) => {
      await expectTheSameAsDirect(`${adapter?.url}/mcp/fixture`, requirements);
    });
  });
});
