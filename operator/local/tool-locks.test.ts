import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import { lockDocument, toolLock } from '../mcp-adapter/testing/locks.ts';
import { sampleAdapter } from '../mcp-adapter/testing/sample.ts';
import { ALL_PERMISSIONS } from '../validation/permissions.ts';
import { checkManifests } from './check-manifests.ts';
import { parseManifests } from './manifests.ts';
import { lockAmong } from './tool-locks.ts';
import { workloads } from './workload.ts';

const adapter = sampleAdapter();
const manifestsOf = (...objects: object[]) =>
  parseManifests(objects.map((object) => stringify(object)).join('---\n'), 'files.yaml', 'team').manifests;
const filesOf = (...objects: object[]) =>
  workloads(manifestsOf(...objects), '/data', {})[0]?.pod((port) => port).files ?? {};

it('an adapter runs here with the lock among the files, at its path here', () => {
  const files = filesOf(adapter, toolLock('approved'));
  const [path = '', text = ''] = Object.entries(files).find(([name]) => name.endsWith('/tool-lock.json')) ?? [];
  expect(JSON.parse(text)).toEqual(lockDocument(2));
  const [, config = ''] = Object.entries(files).find(([name]) => name.endsWith('/config.yaml')) ?? [];
  expect(config).toContain(`path: ${path}`);
});

it('and without one as before', () => {
  expect(JSON.stringify(filesOf(adapter))).not.toMatch(/tool[-_]lock/);
  expect(JSON.stringify(filesOf(adapter, toolLock('other', { adapter: 'other' })))).not.toMatch(/tool[-_]lock/);
});

it('the first of several counts, in its own namespace only', () => {
  const names = (...objects: object[]) =>
    lockAmong(manifestsOf(...objects), adapter as unknown as McpAdapter).map(({ object }) => object['data']);
  const second = toolLock('second', { document: { mode: 'audit' } });
  const elsewhere = toolLock('elsewhere');
  expect(names(second, toolLock('first'))).toEqual([{ 'tool-lock.json': '{"mode":"audit"}' }]);
  expect(names({ ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'other' } })).toEqual([]);
});

it('tells what is wrong with a lock, with its place', () => {
  const found = checkManifests(manifestsOf(adapter, toolLock('bad', { document: { mode: 'of' } })), ALL_PERMISSIONS);
  expect(found).toEqual([
    expect.objectContaining({ path: 'spec.mode', file: 'files.yaml', line: expect.any(Number) as number }),
  ]);
  const { servers } = lockDocument(1000) as { servers: { files: object } };
  const large = toolLock('large', { document: { servers: { ...servers, more: servers.files } } });
  expect(checkManifests(manifestsOf(large), ALL_PERMISSIONS)).toMatchObject([
    { path: 'spec', message: expect.stringContaining('can hold 1048576') as string },
  ]);
});
