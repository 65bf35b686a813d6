import { expect, test } from 'vitest';
import { startAdapter } from '../support/adapter-process.ts';
import { startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { drain, initialize } from './kit/session.ts';

test('a mount is closed without the token and open with it', async () => {
  await using upstream = await startScriptedUpstream();
  const core = { auth: { enabled: true, token: 'The-Token-1' }, max_start_wait_seconds: 0 };
  const servers = [mounted('up', upstream.url)];
  await using adapter = await startAdapter({ config: { core, state_persistence: { type: 'memory' }, servers } });
  expect(await drain(initialize(adapter))).toBe(401);
  expect(await drain(initialize(adapter, { headers: { 'x-mcp-adapter-auth-token': 'The-Token-1' } }))).toBe(200);
});
