import { expect, it } from 'vitest';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { newestPods, readySince, referencesRevision } from './revision.ts';

const configHash: Readonly<Record<string, string>> = { 'mcpadapter.io/config-hash': 'abc' };

const deploymentWith = (annotations: Readonly<Record<string, string>> = configHash): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'demo', namespace: 'team' },
  spec: { template: { metadata: { annotations }, spec: { containers: [{ name: 'program', image: 'program:1' }] } } },
});

const podWith = ({
  name = 'demo-1',
  annotations = configHash,
  image = 'program:1',
  ready = 'True',
} = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'team', annotations },
  spec: { containers: [{ name: 'program', image }] },
  status: { conditions: [{ type: 'Ready', status: ready, lastTransitionTime: '2026-01-01T00:00:00Z' }] },
});

const marks = { 'mcpadapter.io/config-hash': 'abc', 'mcpadapter.io/references-revision': '4' };

it('knows pods of the newest revision by their annotations and images', () => {
  const deployment = deploymentWith(marks);
  const names = (...pods: ReturnType<typeof podWith>[]) =>
    newestPods(deployment, pods).map(({ metadata }) => metadata.name);
  const newest = podWith({ name: 'new', annotations: { ...marks, note: 'x' } });
  expect(names(newest, podWith({ name: 'old', annotations: { ...marks, 'mcpadapter.io/config-hash': 'x' } }))).toEqual([
    'new',
  ]);
  expect(
    names(newest, podWith({ name: 'older', annotations: { ...marks, 'kubectl.kubernetes.io/restartedAt': 'x' } })),
  ).toEqual(['new']);
  expect(names(newest, podWith({ name: 'image', annotations: marks, image: 'program:0' }))).toEqual(['new']);
  expect(names(podWith({ name: 'rewritten', annotations: marks, image: 'mirror/program:1' }))).toEqual(['rewritten']);
});

it('raises the revision when a pod of the newest revision says so', () => {
  const deployment = deploymentWith(marks);
  const newest = [podWith({ name: 'demo-1', annotations: marks })];
  expect(referencesRevision(deployment, newest, [{ pod: 'demo-1', referencesChanged: false }])).toBe('4');
  expect(referencesRevision(deployment, newest, [{ pod: 'demo-1', referencesChanged: true }])).toBe('5');
  expect(referencesRevision(deployment, newest, [{ pod: 'old', referencesChanged: true }])).toBe('4');
  expect(referencesRevision(deploymentWith(), [podWith()], [{ pod: 'demo-1', referencesChanged: true }])).toBe('1');
  expect(referencesRevision(undefined, [], [])).toBeUndefined();
});

it('knows since when all pods are ready', () => {
  expect(readySince([])).toBeUndefined();
  expect(readySince([podWith({ ready: 'False' })])).toBeUndefined();
  expect(readySince([podWith()])).toBe(Date.parse('2026-01-01T00:00:00Z'));
});
