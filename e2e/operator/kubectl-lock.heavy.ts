import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../operator/kubernetes/kubernetes.ts';
import { MCP_TOOL_LOCKS } from '../../operator/kubernetes/resources.ts';
import { type Cluster, connect } from '../../operator/plugin/cluster/connect.ts';
import { lockInForce } from '../../operator/plugin/commands/lock/lock-in-force.ts';
import { replaceServers } from '../../operator/plugin/commands/lock/replace-servers.ts';
import { startApiServer } from '../cluster/api-server.ts';
import { Kubectl } from '../cluster/kubectl.ts';

const NEVER = new AbortController().signal;
const entry = (digit: string) => ({ digest: `sha256:${digit.repeat(64)}`, fields: {} });
const spec = (tools: object, more: object = {}) => ({ adapterRef: { name: 'a' }, ...more, servers: { up: { tools } } });

const fresh = async (cluster: Cluster, name: string): Promise<KubernetesObject> => {
  const { namespace } = cluster;
  return (await cluster.api.get(MCP_TOOL_LOCKS, { name, namespace }))!;
};

test('an approval is written over the lock that was read, and over no other', async () => {
  await using server = await startApiServer();
  const admin = new Kubectl(server.kubeconfig);
  await admin.run('apply', '--server-side', '-f', join(import.meta.dirname, '../../crds'));
  await server.crdsEstablished();
  await using cluster = await connect({ kubeconfig: server.kubeconfig }, '0');
  const { api, namespace } = cluster;
  const { apiVersion, kind } = MCP_TOOL_LOCKS;
  const lock = (name: string, tools: object, more: object = {}) => ({
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec: spec(tools, more),
  });
  await expect(lockInForce(cluster, 'a')).rejects.toThrow('"lock create a" makes one');
  // As somebody applies it from Git.
  await api.apply(lock('b', { one: entry('1'), two: entry('2') }, { mode: 'audit' }), MCP_TOOL_LOCKS, {
    fieldManager: 'git',
  });
  const before = await lockInForce(cluster, 'a');
  expect(before.metadata.name).toBe('b');

  // The operator has written its status meanwhile: no change of what was read.
  await api.apply({ ...lock('b', {}), spec: undefined, status: { digest: 'x' } }, MCP_TOOL_LOCKS, {
    fieldManager: 'operator',
    subresource: 'status',
  });
  const after = { name: 'a', before, object: lock('b', { one: entry('3') }) };
  await replaceServers(cluster, after, NEVER);
  // A tool that is gone is gone, whoever had written it; the mode stays.
  const written = await fresh(cluster, 'b');
  expect(written['spec']).toMatchObject({ mode: 'audit', servers: { up: { tools: { one: entry('3') } } } });
  expect(JSON.stringify(written['spec'])).not.toContain('two');
  expect(written.metadata.managedFields?.map(({ manager }) => manager)).toContain('kubectl-mcpadapter');

  // Somebody has changed it since it was read.
  await expect(replaceServers(cluster, { ...after, before }, NEVER)).rejects.toThrow('was changed meanwhile');
  const now = await fresh(cluster, 'b');
  await api.delete(MCP_TOOL_LOCKS, now.metadata);
  await api.create(lock('b', { one: entry('4') }), MCP_TOOL_LOCKS);
  const other = { ...after, before: { ...now, metadata: { ...now.metadata, generation: 1 } } };
  await expect(replaceServers(cluster, other, NEVER)).rejects.toThrow('was changed meanwhile');
  expect((await fresh(cluster, 'b'))['spec']).toMatchObject({ servers: { up: { tools: { one: entry('4') } } } });
});
