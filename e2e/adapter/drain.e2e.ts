import { expect, test } from 'vitest';
import { startAdapter } from '../support/adapter-process.ts';
import { startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { openSession, textOf } from './kit/session.ts';

test('SIGTERM: the running call finishes with its result, and the program exits with 0', async () => {
  await using upstream = await startScriptedUpstream();
  const servers = [mounted('up', upstream.url)];
  const config = { core: { max_start_wait_seconds: 0 }, state_persistence: { type: 'memory' }, servers };
  await using adapter = await startAdapter({ config });
  const running = (await openSession(adapter)).at(adapter).tool('slow');
  await upstream.waitForMessage('tools/call');
  adapter.kill('SIGTERM');
  expect(await adapter.exitsWithin(200)).toBeUndefined();
  upstream.release('slow');
  expect(textOf(await running)).toBe('done');
  expect(await adapter.exitsWithin(5_000)).toEqual({ code: 0, signal: null });
});
