import { describe, expect, test } from 'vitest';

import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { ObjectStore } from './object-store.ts';

const object = (
  name: string,
  resourceVersion: string,
  labels: Record<string, string> = {},
  namespace = 'ns',
): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, uid: `uid of ${name}`, resourceVersion, labels },
});
const names = (objects: readonly KubernetesObject[]): string[] => objects.map(({ metadata }) => metadata.name).sort();

describe('a list that replaces what was here', () => {
  test('reports what came, what changed and what went, and nothing else', () => {
    const store = new ObjectStore();
    store.replace([object('same', '1'), object('changed', '2'), object('gone', '3')]);
    const changes = store.replace([object('same', '1'), object('changed', '5'), object('new', '6')]);
    expect(
      changes.map(({ key, old, new: now }) => [key.name, old?.metadata.resourceVersion, now?.metadata.resourceVersion]),
    ).toEqual([
      ['changed', '2', '5'],
      ['new', undefined, '6'],
      ['gone', '3', undefined],
    ]);
    expect(names(store.list())).toEqual(['changed', 'new', 'same']);
  });

  test('tells apart the same names in two namespaces', () => {
    const store = new ObjectStore();
    store.replace([object('a', '1', {}, 'one'), object('a', '2', {}, 'two')]);
    const changes = store.replace([object('a', '2', {}, 'two')]);
    expect(changes.map(({ key }) => key)).toEqual([{ namespace: 'one', name: 'a' }]);
    expect(store.get({ namespace: 'two', name: 'a' })).toBeDefined();
    expect(store.list('one')).toEqual([]);
  });

  test('notices an object that was made again under its name', () => {
    const store = new ObjectStore();
    store.set(object('a', '1'));
    const again = { ...object('a', '1'), metadata: { ...object('a', '1').metadata, uid: 'another' } };
    expect(store.replace([again])).toHaveLength(1);
  });
});

describe('an index of a label', () => {
  test('follows changes of the label and deletions', () => {
    const store = new ObjectStore(['group']);
    store.set(object('a', '1', { group: 'x' }));
    store.set(object('b', '2', { group: 'x' }));
    store.set(object('c', '3', { group: 'x' }, 'elsewhere'));
    expect(names(store.byLabel('group', 'ns', 'x'))).toEqual(['a', 'b']);
    store.set(object('a', '4', { group: 'y' }));
    store.remove({ namespace: 'ns', name: 'b' });
    expect(names(store.byLabel('group', 'ns', 'x'))).toEqual([]);
    expect(names(store.byLabel('group', 'ns', 'y'))).toEqual(['a']);
  });

  test('that does not exist is an error, not an empty answer', () => {
    expect(() => new ObjectStore(['group']).byLabel('other', 'ns', 'x')).toThrow('no index');
  });
});
