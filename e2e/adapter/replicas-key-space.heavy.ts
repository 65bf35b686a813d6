import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runAdapter, startAdapter } from '../support/adapter-process.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import type { JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { accessTo, mounted } from './kit/deployment.ts';
import { openSession } from './kit/session.ts';

const NAME = { MCP_ADAPTER_NAME: 'tools/one' };

describe('T19: two adapters with one Redis', { timeout: 60_000 }, () => {
  let redis: RedisServer;
  let upstream: ScriptedUpstream;
  let other: ScriptedUpstream;
  beforeAll(async () => {
    [redis, upstream, other] = await Promise.all([startRedis(), startScriptedUpstream(), startScriptedUpstream()]);
  });
  afterAll(async () => {
    await upstream?.close();
    await other?.close();
    await redis?.[Symbol.asyncDispose]();
  });

  const config = (servers: JsonObject[], more: JsonObject = {}): JsonObject => ({
    core: { max_start_wait_seconds: 0, upstream_ping: { enabled: false }, shutdown_grace_seconds: 0 },
    state_persistence: { type: 'redis', redis: accessTo(redis), ...more },
    servers,
  });

  test('that say nothing about keys do not share them: the second one is refused, and the first loses nothing', async () => {
    await using first = await startAdapter({ config: config([mounted('search', upstream.url)]) });
    const session = await openSession(first, { path: '/mcp/search' });
    // Whoever starts empty would have emptied the other's state.
    const second = { config: config([mounted('search', other.url)], { refresh_on_startup: true }) };
    const refused = await runAdapter(second);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/cannot start: the keys "mcp_remote_adapter" in Redis belong to another adapter: /);
    expect(refused.stderr).toContain('Set state_persistence.redis.key_base of one of them to something else');
    expect((await session.at(first).send('{"jsonrpc":"2.0","id":1,"method":"ping"}')).status).toBe(200);
    expect(other.sessions.size).toBe(0);
    const keyed = config([mounted('search', other.url)], { redis: { ...accessTo(redis), key_base: 'mcp:other' } });
    await using _second = await startAdapter({ config: keyed });
  });

  test('three replicas of one are welcome, and so is an update of it that changes its servers', async () => {
    const before = { config: config([mounted('search', upstream.url)]), env: NAME };
    await using first = await startAdapter(before);
    await using _second = await startAdapter(before);
    await using _third = await startAdapter(before);
    const session = await openSession(first, { path: '/mcp/search' });
    for (const servers of [
      [mounted('search', upstream.url), mounted('notes', other.url)],
      [mounted('search', other.url)],
      [mounted('notes', other.url)],
    ]) {
      await using _updated = await startAdapter({ config: config(servers), env: NAME });
    }
    expect((await session.at(first).send('{"jsonrpc":"2.0","id":1,"method":"ping"}')).status).toBe(200);
    const stranger = await runAdapter({ ...before, env: { MCP_ADAPTER_NAME: 'tools/two' } });
    expect(stranger.stderr).toContain(
      'they are used by tools/one (servers search), and this is tools/two (servers search)',
    );
  });
});
