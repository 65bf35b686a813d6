import { expect, test } from 'vitest';
import { adapterWith } from '../mcp-adapter/testing/golden-resources.ts';
import { localAdapter } from './local-config.ts';

test('what a machine can run as one process stays as it is', () => {
  const adapter = adapterWith({ replicas: 1 }, { telemetry: { enabled: true } });
  expect(localAdapter(adapter)).toEqual({ adapter, notes: [] });
});

test('what only a cluster has is replaced, and told', () => {
  const state_persistence = { type: 'redis', redis: { host: 'redis' } };
  const telemetry = { enabled: true, prometheus: { enabled: true } };
  const { adapter, notes } = localAdapter(adapterWith({ replicas: 3 }, { state_persistence, telemetry }));
  expect(adapter.spec.replicas).toBe(1);
  expect(adapter.spec.config.state_persistence).toEqual({ type: 'disk', redis: undefined });
  // Two adapters of one machine cannot listen on one port.
  expect(adapter.spec.config.telemetry).toEqual({ enabled: true });
  expect(notes).toEqual([
    'keeps its state in SQLite here, not in Redis',
    'serves no metrics to Prometheus here',
    'runs once here, not 3 times',
  ]);
});
