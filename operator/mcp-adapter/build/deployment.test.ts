import { describe, expect, test } from 'vitest';
import { valueAt } from '../../../lib/json/tree.ts';
import { deployment } from './deployment.ts';
import { effectiveConfig } from '../config/effective-config.ts';
import { adapterWith, contextOf } from '../testing/golden-resources.ts';

const deploymentOf = (
  spec: Record<string, unknown>,
  config: Record<string, unknown> = {},
  existingClaimModes?: readonly string[],
) => {
  const adapter = adapterWith(spec, config);
  return deployment(
    adapter,
    effectiveConfig(adapter.spec),
    { ...contextOf(), existingClaimModes },
    { hash: 'hash', labels: {} },
  );
};

const redis = { state_persistence: { type: 'redis', redis: { host: 'redis' } } };
const claim = (...accessModes: string[]) => ({ storage: { claim: { size: '1Gi', accessModes } } });
const existing = { storage: { existingClaim: 'files' } };

describe('a rollout', () => {
  test.each([
    ['Redis and files of each pod', {}, redis, undefined, 'RollingUpdate'],
    ['Redis and a claim of all nodes', claim('ReadWriteMany'), redis, undefined, 'RollingUpdate'],
    ['Redis and a claim of one node', claim('ReadWriteOnce'), redis, undefined, 'Recreate'],
    ['Redis and a claim of one pod', claim('ReadWriteOncePod'), redis, undefined, 'Recreate'],
    ['Redis and the default claim', { storage: { claim: { size: '1Gi' } } }, redis, undefined, 'Recreate'],
    ['Redis and an existing claim of all nodes', existing, redis, ['ReadWriteMany'], 'RollingUpdate'],
    ['Redis and an existing claim of one node', { ...existing, replicas: 2 }, redis, ['ReadWriteOnce'], 'Recreate'],
    ['Redis, one pod and an unknown claim', existing, redis, undefined, 'Recreate'],
    ['Redis, several pods and an unknown claim', { ...existing, replicas: 2 }, redis, undefined, 'RollingUpdate'],
    ['state on disk', {}, {}, undefined, 'Recreate'],
    ['state on a disk of all nodes', claim('ReadWriteMany'), {}, undefined, 'Recreate'],
    ['state in memory', {}, { state_persistence: { type: 'memory' } }, undefined, 'Recreate'],
    ['state that is not known', {}, { state_persistence: { type: '${TYPE}' } }, undefined, 'Recreate'],
  ])('with %s', (_name, spec, config, modes, type) => {
    const strategy = valueAt(deploymentOf(spec, config, modes), ['spec', 'strategy']);
    const none = { maxUnavailable: 0, maxSurge: 1 };
    expect(strategy).toEqual(type === 'Recreate' ? { type } : { type, rollingUpdate: none });
  });
});

test('the number of pods is one, what the resource says, or the autoscaler’s', () => {
  const replicas = (spec: Record<string, unknown>): unknown => valueAt(deploymentOf(spec), ['spec']);
  expect(replicas({})).toHaveProperty('replicas', 1);
  expect(replicas({ replicas: 0 })).toHaveProperty('replicas', 0);
  expect(replicas({ replicas: 3, autoscaling: { maxReplicas: 5 } })).not.toHaveProperty('replicas');
});

test.each([
  [60, 75, 600],
  [3600, 3615, 3915],
])('calls of up to %i s give pods %i s to stop, and a rollout %i s to get on', (limit, grace, deadline) => {
  const spec = valueAt(deploymentOf({}, { core: { defaults: { tool_call_timeout_seconds: limit } } }), ['spec']);
  expect(valueAt(spec, ['template', 'spec', 'terminationGracePeriodSeconds'])).toBe(grace);
  expect(spec).toHaveProperty('progressDeadlineSeconds', deadline);
});
