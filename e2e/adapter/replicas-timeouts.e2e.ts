import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader } from './kit/events.ts';
import { openSession, textOf } from './kit/session.ts';

const limitOf = (seconds: number | null) => ({ tool_call_timeout_seconds: seconds });

describe('a tool call that takes too long', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    const overridden = {
      type: 'artifact_producer',
      tools: ['cancel_aware'],
      persist: false,
      overrides: limitOf(0.2),
    };
    const servers = [
      mounted('core', upstream.url),
      mounted('server', upstream.url, { tool_defaults: limitOf(0.7) }),
      mounted('adapter', upstream.url, { tool_defaults: limitOf(0.7), adapters: [overridden] }),
    ];
    const config = {
      core: { defaults: limitOf(0.4) },
      sessions: { max_in_flight_per_session: 1 },
      servers,
    };
    deployment = await startDeployment({ config });
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  const cases = [
    { path: '/mcp/core', tool: 'slow', seconds: 0.4, from: 'of all servers' },
    { path: '/mcp/server', tool: 'slow', seconds: 0.7, from: 'of its server' },
    { path: '/mcp/adapter', tool: 'cancel_aware', seconds: 0.2, from: 'of its tool, on an open stream' },
    { path: '/mcp/adapter', tool: 'slow', seconds: 0.7, from: 'of its server, beside a tool with its own' },
  ];
  test.for(cases)(
    'ends at the limit $from: an error result says so, and the server is told',
    async ({ path, tool, seconds }) => {
      const { a, b } = deployment;
      const session = await openSession(a, { path });
      const sent = upstream.cancelled.length;
      const id = `"${tool}\\u0041${path}"`;
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":{"key":"never"}}}`;
      const started = performance.now();
      const response = await session.at(b).send(body);
      const onStream = tool === 'cancel_aware';
      const message = onStream ? (await new EventReader(response).rest())[0] : await response.json();
      const took = performance.now() - started;

      expect(response.status).toBe(200);
      expect(message).toMatchObject({ jsonrpc: '2.0', id: JSON.parse(id), result: { isError: true } });
      const text = textOf(message as Record<string, unknown>);
      expect(text).toContain(`"${tool}"`);
      expect(text).toContain(`${seconds} second`);
      expect(took).toBeGreaterThan(seconds * 1000 - 50);
      expect(took).toBeLessThan(seconds * 1000 + 4_000);

      await upstream.waitForRequest(() => upstream.cancelled.length > sent);
      expect(upstream.cancelled.at(-1)).toMatchObject({ requestId: JSON.parse(id) });
      // It counts as running no more.
      expect(textOf(await session.at(a).tool('echo', { next: 1 }))).toBe('{"next":1}');
    },
  );

  test('is left alone below the limit, by either replica', async () => {
    const { a, b } = deployment;
    const session = await openSession(b, { path: '/mcp/server' });
    for (const place of [a, b]) expect(textOf(await session.at(place).tool('slow', { ms: 450 }))).toBe('done');
  });
});
