import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBalancer } from '../support/balancer.ts';
import { type RunningFixture, startFixture } from '../support/fixture-process.ts';
import { failures, runConformance } from './run-conformance.ts';

describe('the fixture, without a gateway in between', () => {
  let fixture: RunningFixture;

  beforeAll(async () => {
    fixture = await startFixture();
  });
  afterAll(async () => {
    await fixture?.stop();
  });

  test.for(['mcpUrl', 'legacyUrl'] as const)('passes every check of 2025-11-25 at %s', async (mount) => {
    const score = await runConformance({ url: fixture[mount], requirements: '2025-11-25' });
    expect(failures(score, 'all')).toEqual([]);
    expect(score).toMatchObject({ exitCode: 0, passed: 84, failed: 0 });
  });

  test('passes every check of 2026-07-28 but those of the tasks extension', async () => {
    const score = await runConformance({ url: fixture.mcpUrl, requirements: '2026-07-28' });
    expect(failures(score)).toEqual([]);
    expect(failures(score, 'all').filter((failure) => !failure.startsWith('tasks-'))).toEqual([]);
    expect(score).toMatchObject({ exitCode: 0, passed: 164, failed: 30 });
  });

  test('scores the same through the balancer, which is thus not what a gateway behind it is blamed for', async () => {
    const origin = new URL(fixture.mcpUrl).origin;
    await using balancer = await startBalancer([origin, origin]);
    const legacy = await runConformance({ url: `${balancer.url}/mcp`, requirements: '2025-11-25' });
    expect(legacy).toMatchObject({ exitCode: 0, passed: 84, failed: 0 });
    const modern = await runConformance({ url: `${balancer.url}/mcp`, requirements: '2026-07-28' });
    expect(modern).toMatchObject({ exitCode: 0, passed: 164, failed: 30 });
  });

  test('serves a client of HTTP+SSE, which the suite cannot speak', async () => {
    const client = new Client({ name: 'sse-client', version: '1.0.0' }, { capabilities: { sampling: {} } });
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      role: 'assistant' as const,
      content: { type: 'text' as const, text: 'sampled' },
      model: 'test-model',
    }));
    await client.connect(new SSEClientTransport(new URL(fixture.sseUrl)));
    try {
      const { tools } = await client.listTools();
      expect(tools.map((tool) => tool.name)).toContain('test_sampling');
      const result = await client.callTool({ name: 'test_sampling', arguments: { prompt: 'Hello' } });
      expect(result.content).toEqual([{ type: 'text', text: 'LLM response: {"type":"text","text":"sampled"}' }]);
    } finally {
      await client.close();
    }
  });

  test.for(['mcpUrl', 'sseUrl'] as const)('refuses names that are not loopback at %s', async (mount) => {
    const response = await fetch(fixture[mount], { headers: { origin: 'http://evil.example.com' } });
    await response.body?.cancel();
    expect(response.status).toBe(403);
  });
});
