import { expect, it } from 'vitest';
import { newestPods, readySince, referencesRevision } from './revision.ts';
import { deploymentWith, healthWith, notReady, podWith } from './testing/observed.ts';

const marks = { 'mcpadapter.io/config-hash': 'abc', 'mcpadapter.io/references-revision': '4' };

it('knows pods of the newest revision by their annotations and images', () => {
  const deployment = deploymentWith({ annotations: marks });
  const names = (...pods: ReturnType<typeof podWith>[]) =>
    newestPods(deployment, pods).map(({ metadata }) => metadata.name);
  const newest = podWith({ name: 'new', annotations: { ...marks, note: 'x' } });
  expect(names(newest, podWith({ name: 'old', annotations: { ...marks, 'mcpadapter.io/config-hash': 'x' } }))).toEqual([
    'new',
  ]);
  expect(
    names(newest, podWith({ name: 'older', annotations: { ...marks, 'kubectl.kubernetes.io/restartedAt': 'x' } })),
  ).toEqual(['new']);
  expect(names(newest, podWith({ name: 'image', annotations: marks, image: 'adapter:0' }))).toEqual(['new']);
  expect(names(podWith({ name: 'rewritten', annotations: marks, image: 'mirror/adapter:1' }))).toEqual(['rewritten']);
});

it('raises the revision when a pod of the newest revision says so', () => {
  const deployment = deploymentWith({ annotations: marks });
  const newest = [podWith({ name: 'demo-1', annotations: marks })];
  expect(referencesRevision(deployment, newest, [healthWith([])])).toBe('4');
  expect(referencesRevision(deployment, newest, [healthWith([], { referencesChanged: true })])).toBe('5');
  expect(referencesRevision(deployment, newest, [healthWith([], { referencesChanged: true, pod: 'old' })])).toBe('4');
  expect(referencesRevision(deploymentWith(), [podWith()], [healthWith([], { referencesChanged: true })])).toBe('1');
  expect(referencesRevision(undefined, [], [])).toBeUndefined();
});

it('knows since when all pods are ready', () => {
  expect(readySince([])).toBeUndefined();
  expect(readySince([podWith({ conditions: notReady })])).toBeUndefined();
  expect(readySince([podWith()])).toBe(Date.parse('2026-01-01T00:00:00Z'));
});
