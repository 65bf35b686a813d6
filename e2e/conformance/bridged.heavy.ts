import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../support/adapter-process.ts';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { startFixture } from '../support/fixture-process.ts';
import { startRedis } from '../support/redis.ts';
import { failures, runConformance } from './run-conformance.ts';

describe('MCP conformance where the server speaks another revision, through two replicas and round robin', () => {
  const started = new AsyncDisposableStack();
  const replicas: RunningAdapter[] = [];
  let balancer: Balancer;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'conformance-bridged-'));
    started.defer(() => rm(folder, { recursive: true, force: true }));
    const fixture = started.use(await startFixture());
    const redis = started.use(await startRedis());
    const config = {
      core: { host: '127.0.0.1', max_start_wait_seconds: 0 },
      state_persistence: { type: 'redis', redis: { host: redis.host, port: redis.port } },
      storage: { root: folder },
      servers: [
        { id: 'modern', mount_path: '/mcp/modern', upstream: { url: fixture.modernUrl } },
        { id: 'asking', mount_path: '/mcp/asking', upstream: { url: fixture.askingUrl } },
      ],
    };
    for (let replica = 0; replica < 2; replica += 1) {
      const running = await startAdapter({ config });
      started.defer(async () => void (await running.stop()));
      replicas.push(running);
    }
    balancer = started.use(await startBalancer(replicas.map(({ url }) => url)));
  });
  afterAll(() => started.disposeAsync());

  test('2025-11-25 at a server of 2026-07-28 only', async () => {
    const score = await runConformance({ url: `${balancer.url}/mcp/modern`, requirements: '2025-11-25' });
    // Nothing is excused. The checks of server-sse-polling find no stream to take up again, and say so without a verdict: a
    // server of the newer revision has no ids of events.
    expect(failures(score, 'all')).toEqual([]);
    expect(score).toMatchObject({ exitCode: 0, failed: 0 });
    expect(score.passed).toBeGreaterThanOrEqual(80);
  });

  test('2026-07-28 at a server that wants sessions', async () => {
    const score = await runConformance({ url: `${balancer.url}/mcp/asking`, requirements: '2026-07-28' });
    const outsideTasks = failures(score, 'all').filter((failure) => !failure.startsWith('tasks-'));
    // The keys of questions are the server's own ids of requests: no older server could give this one.
    expect(outsideTasks.map((failure) => failure.replace(/ .*/s, ''))).toEqual([
      'input-required-result-basic-elicitation',
    ]);
    expect(score.passed).toBeGreaterThanOrEqual(155);
  });

  test('both replicas have their share', () => {
    const shares = replicas.map(({ url }) => balancer.requests.filter(({ target }) => target === url).length);
    expect(Math.min(...shares)).toBeGreaterThan(50);
  });
});
