import { expect, test, vi } from 'vitest';
import { startAdapter } from '../support/adapter-process.ts';

const PLACE = 'salary-abc123.invalid';

test('O23 T9: health and log tell a host from a variable as it is written', async () => {
  await using adapter = await startAdapter({
    env: { S: 'Salary-ABC123' },
    config: {
      core: { max_start_wait_seconds: 0, upstream_ping: { interval_seconds: 1 } },
      state_persistence: { type: 'memory' },
      servers: [{ id: 'up', mount_path: '/mcp', upstream: { url: 'http://${S}.invalid/mcp' } }],
    },
  });
  const health = async (): Promise<string> =>
    (await fetch(`${adapter.url}/healthz`, { signal: AbortSignal.timeout(5000) })).text();
  await vi.waitFor(async () => expect(await health()).toMatch(/"last_error":"[^"]*E[A-Z_]+ \$\{S\}\.invalid/), 30_000);
  expect(await health()).toContain('"upstream_url":"http://${S}.invalid/mcp"');
  await vi.waitFor(() => expect(adapter.stdout()).toContain('${S}.invalid'), 10_000);
  expect(`${await health()}${adapter.stdout()}${adapter.stderr()}`.toLowerCase()).not.toContain(PLACE);
});
