import { describe, expect, test } from 'vitest';
import { valueAt } from '../../../lib/json/tree.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { adapterWith } from '../testing/golden-resources.ts';
import { recordAmong, settled } from './settled-config.ts';

const server = (id: string) => ({ id, mount_path: `/${id}`, upstream: { url: `http://${id}:8000/mcp` } });
const SEVERAL = { servers: [server('one'), server('two')] };
const REDIS = { state_persistence: { type: 'redis', redis: { host: 'redis' } } };

/** A ConfigMap as it is there, with the layout that was written on it. */
const live = (layout?: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'sample-config', labels: layout === undefined ? {} : { 'mcpadapter.io/storage-layout': layout } },
});

describe('what the resource began with stands on', () => {
  const [shared, perServer, silent] = [live('shared'), live('per_server'), live()];
  test.each([
    ['nothing where there is nothing', {}, undefined],
    ['the ConfigMap', { configMap: perServer, deployment: shared, claim: shared }, perServer],
    ['the Deployment where the ConfigMap was deleted', { deployment: perServer, claim: shared }, perServer],
    ['the Deployment where somebody took the label away', { configMap: silent, deployment: perServer }, perServer],
    ['the claim that was left of a resource of this name', { claim: shared }, shared],
    ['nothing where only a claim without it was left', { claim: silent }, undefined],
    ['nothing that is neither', { configMap: live('none'), claim: shared }, shared],
    ['the ConfigMap of an earlier release', { configMap: silent, deployment: live(), claim: live() }, silent],
    ['the Deployment of one, where the ConfigMap was deleted', { deployment: silent }, silent],
  ] as const)('%s', (_, remains, record) => {
    expect(recordAmong(remains)).toBe(record);
  });
});

function chosen(config: Record<string, unknown>, there?: KubernetesObject) {
  const { adapter, labels } = settled(adapterWith({}, config), there);
  return {
    layout: valueAt(adapter.spec.config, ['storage', 'layout']),
    keyBase: valueAt(adapter.spec.config, ['state_persistence', 'redis', 'key_base']),
    label: labels['mcpadapter.io/storage-layout'],
  };
}

describe('T7: the layout of the storage', () => {
  test.each([
    ['a new resource with several servers', SEVERAL, undefined, 'per_server', 'per_server'],
    ['a new resource with one server', {}, undefined, undefined, 'shared'],
    ['one that began with one server and has several now', SEVERAL, live('shared'), undefined, 'shared'],
    ['one that began with several and has one now', {}, live('per_server'), 'per_server', 'per_server'],
    ['one of an earlier release', SEVERAL, live(), undefined, undefined],
    ['what the user says', { ...SEVERAL, storage: { layout: 'shared' } }, undefined, 'shared', 'per_server'],
    ['beside other settings', { ...SEVERAL, storage: { root: '/data' } }, undefined, 'per_server', 'per_server'],
    ['a section that is a reference', { ...SEVERAL, storage: '${STORAGE}' }, undefined, undefined, 'per_server'],
  ])('of %s', (_, config, there, layout, label) => {
    expect(chosen(config, there)).toMatchObject({ layout, label });
  });
});

describe('T19: the keys in Redis', () => {
  test.each([
    ['of a new resource are its own', REDIS, undefined, 'mcp:tools/sample'],
    ['stay its own', REDIS, live('shared'), 'mcp:tools/sample'],
    ['of a resource of an earlier release stay where they are', REDIS, live(), undefined],
    ['are the user’s choice', { state_persistence: { type: 'redis', redis: { key_base: 'x' } } }, undefined, 'x'],
    ['are not chosen where there is no Redis', {}, undefined, undefined],
    [
      'are its own where the type of the state is not known',
      { state_persistence: { type: '${T}' } },
      undefined,
      'mcp:tools/sample',
    ],
  ])('%s', (_, config, there, keyBase) => {
    expect(chosen(config, there)).toMatchObject({ keyBase });
  });
});
