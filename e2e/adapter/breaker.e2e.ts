import { expect, test } from 'vitest';
import { startAdapter } from '../support/adapter-process.ts';
import { startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { initialize } from './kit/session.ts';

test('requests for an upstream that has died are refused with 503 and Retry-After', async () => {
  await using upstream = await startScriptedUpstream();
  const ping = { interval_seconds: 0.1, timeout_seconds: 0.5, failure_threshold: 2 };
  const core = { max_start_wait_seconds: 0, upstream_ping: ping };
  const servers = [mounted('up', upstream.url)];
  await using adapter = await startAdapter({ config: { core, state_persistence: { type: 'memory' }, servers } });
  await upstream.waitForMessage('ping');
  await upstream.die();
  await expect.poll(async () => (await initialize(adapter)).status, { timeout: 5_000 }).toBe(503);
  const response = await initialize(adapter);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await response.json()).toMatchObject({ id: 'init', error: { data: { code: 'upstream_unavailable' } } });
});
