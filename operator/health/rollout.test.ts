import { expect, it } from 'vitest';
import { isOverdue, rolloutOf } from './rollout.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();

interface State {
  readonly available?: number;
  readonly updated?: number;
  /** Minutes since when pods are missing, and of the last progress. */
  readonly lost?: number | undefined;
  readonly progress?: number | undefined;
  readonly deadline?: number;
}

function rollout({ available = 0, updated = 2, lost = 10, progress = 5, deadline }: State) {
  return rolloutOf({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'demo', generation: 1 },
    spec: { replicas: 2, progressDeadlineSeconds: deadline },
    status: {
      observedGeneration: 1,
      replicas: 2,
      updatedReplicas: updated,
      availableReplicas: available,
      conditions: [
        { type: 'Available', status: available === 2 ? 'True' : 'False', lastTransitionTime: at(lost) },
        { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', lastUpdateTime: at(progress) },
      ],
    },
  });
}

it.each<[string, State, number | undefined]>([
  ['ten minutes after pods were lost', {}, 20],
  ['ten minutes after the last progress, when that was later', { progress: 15 }, 25],
  ['after what the Deployment gives them', { deadline: 1200 }, 30],
  ['also when some serve, and nothing is rolled out', { available: 1 }, 20],
  ['not while some serve and others are rolled out', { available: 1, updated: 1 }, undefined],
  ['not while all serve', { available: 2 }, undefined],
])('O3: pods are overdue %s', (_, state, minute) => {
  const found = rollout(state);
  expect(found.overdueAt).toBe(minute === undefined ? undefined : Date.parse(at(minute)));
  expect(isOverdue(found, new Date(at(minute ?? 1_000)))).toBe(minute !== undefined);
  expect(isOverdue(found, new Date(Date.parse(at(minute ?? 0)) - 1))).toBe(false);
});

it('O9: tells when pods that were refused are tried again, and how to have it at once', () => {
  const message = 'pods "demo" is forbidden: minimum memory usage per Container is 1Gi.';
  const { state, refusal } = rolloutOf({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'demo', namespace: 'team', generation: 1 },
    spec: { replicas: 1 },
    status: { observedGeneration: 1, conditions: [{ type: 'ReplicaFailure', status: 'True', message }] },
  });
  expect(state).toBe('refused');
  expect(refusal).toBe(
    'Pods cannot be made: pods "demo" is forbidden: minimum memory usage per Container is 1Gi. Once that is mended, ' +
      'Kubernetes tries again within 17 minutes, and at once after: kubectl rollout restart -n team deployment/demo',
  );
});
