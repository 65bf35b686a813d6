import { expect, test } from 'vitest';

import { RecordingTelemetry } from '../telemetry/testing/recording-telemetry.ts';
import { MemoryStore } from './memory/memory-store.ts';
import { observedNonces } from './observed-nonces.ts';

const NOW = 1_700_000_000_000;

test('each nonce that is reserved or used up is told, with what keeps it at that moment', async () => {
  const telemetry = new RecordingTelemetry();
  const store = new MemoryStore();
  let backend: 'redis' | 'memory' = 'redis';
  const nonces = observedNonces(store.nonces, telemetry, () => backend);
  const permission = {
    serverId: 's1',
    sessionId: 'x',
    principal: '',
    toolName: null,
    elicitationId: null,
    expiresAt: NOW + 60_000,
  };
  expect(await nonces.issue('n', permission, NOW)).toBe(true);
  expect(await nonces.issue('n', permission, NOW)).toBe(false);
  backend = 'memory';
  expect(await nonces.find('n', NOW)).toMatchObject({ serverId: 's1' });
  expect(await nonces.consume('n', NOW)).toMatchObject({ serverId: 's1' });
  expect(await nonces.consume('n', NOW)).toBeUndefined();
  expect(telemetry.of('nonce')).toEqual([
    { serverId: 's1', operation: 'reserve', result: 'success', backend: 'redis' },
    { serverId: 's1', operation: 'reserve', result: 'collision', backend: 'redis' },
    { serverId: 's1', operation: 'consume', result: 'success', backend: 'memory' },
    { serverId: '', operation: 'consume', result: 'invalid', backend: 'memory' },
  ]);
  await store.close();
});
