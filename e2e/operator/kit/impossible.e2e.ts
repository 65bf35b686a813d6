import { expect, it } from 'vitest';
import { impossibleStatuses, type Version } from './impossible.ts';

interface Told {
  readonly version: number;
  readonly at?: number;
  readonly generation?: number;
  readonly ready?: 'True' | 'Unknown';
  readonly hash?: string;
  readonly readyReplicas?: number;
  readonly time?: string;
}

function adapter(told: Told): Version {
  const { version, at = 0, generation = 1, ready = 'True', hash = 'a', readyReplicas = 1, time = '2026-01-01' } = told;
  const conditions = [
    {
      type: 'Ready',
      status: ready,
      reason: ready === 'True' ? 'Ready' : 'Progressing',
      message: '',
      observedGeneration: generation,
      lastTransitionTime: time,
    },
  ];
  const status = {
    observedGeneration: generation,
    conditions,
    replicas: 1,
    readyReplicas,
    url: 'http://x',
    configHash: hash,
  };
  const metadata = { name: 'x', uid: 'u', generation, resourceVersion: String(version) };
  return { at, kind: 'McpAdapter', deleted: false, object: { apiVersion: '', kind: 'McpAdapter', metadata, status } };
}

function deployment(version: number, available: number, hash = 'a', at = 0): Version {
  const metadata = { name: 'x', uid: 'd', generation: 1, resourceVersion: String(version) };
  const template = { metadata: { annotations: { 'mcpadapter.io/config-hash': hash } } };
  const status = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: available };
  const object = { apiVersion: '', kind: 'Deployment', metadata, spec: { replicas: 1, template }, status };
  return { at, kind: 'Deployment', deleted: false, object };
}

const unready = adapter({ version: 1, ready: 'Unknown' });

it('finds nothing in a history that can have been', () => {
  const history = [unready, deployment(2, 1), adapter({ version: 3 })];
  expect(impossibleStatuses(history, [], 60_000)).toEqual([]);
});

it.each<[string, Version[], string]>([
  ['pods that never ran that', [unready, deployment(2, 1, 'b'), adapter({ version: 3 })], 'which no pods ran'],
  [
    'pods that were not available',
    [unready, deployment(2, 0), adapter({ version: 3, at: 50_000 })],
    'which no pods ran',
  ],
  ['no ready pods', [unready, deployment(2, 1), adapter({ version: 3, readyReplicas: 0 })], 'ready with 0 of 1'],
  [
    'two configurations',
    [unready, deployment(2, 1), adapter({ version: 3 }), adapter({ version: 4, hash: 'b' })],
    'several configurations',
  ],
  [
    'a time that moves without a change',
    [deployment(1, 1), adapter({ version: 2 }), adapter({ version: 3, time: '2026-01-02' })],
    'Ready got a new time',
  ],
  [
    'an earlier generation',
    [unready, adapter({ version: 2, generation: 2, ready: 'Unknown' }), adapter({ version: 3, ready: 'Unknown' })],
    'went back',
  ],
  ['pods that are long gone', [deployment(1, 1), adapter({ version: 2 }), deployment(3, 0, 'a', 10)], 'without pods'],
])('finds %s', (_, history, sentence) => {
  expect(impossibleStatuses(history, [], 60_000)).toEqual([expect.stringContaining(sentence)]);
});

it('does not judge by what nobody saw', () => {
  const history = [unready, deployment(2, 0, 'a', 59_000), adapter({ version: 9, at: 59_000 })];
  expect(impossibleStatuses(history, [{ after: '3', until: '8' }], 60_000)).toEqual([]);
  expect(impossibleStatuses(history, [{ after: '10', until: '11' }], 60_000)).toHaveLength(1);
  const again = [deployment(1, 1), adapter({ version: 2 }), adapter({ version: 9, time: '2026-01-02' })];
  expect(impossibleStatuses(again, [{ after: '3', until: '8' }], 60_000)).toEqual([]);
  expect(impossibleStatuses(again, [{ after: '10', until: '11' }], 60_000)).toHaveLength(1);
});
