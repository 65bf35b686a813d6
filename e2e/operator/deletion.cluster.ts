import { describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at, type Live } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { openRawClient, type RawClient, responseMessage } from '../support/raw-client.ts';
import { adapter, CHILD_KINDS, upstream } from './kit/resources.ts';

const READY_MS = 180_000;
const GONE_MS = 120_000;
const CLAIM = { storage: { claim: { size: '1Gi' } } };

describe('deleting a McpAdapter', () => {
  test('leaves nothing but a claim that is to be retained, which the next one takes up', async ({ operated }) => {
    await using namespace = await operated.namespace('deletion');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    const run = (...args: readonly string[]): Promise<string> => operated.run('-n', namespace.name, ...args);
    const gone = async (left: readonly string[]): Promise<void> => {
      await expect.poll(() => everything(operated, namespace.name), { timeout: GONE_MS, interval: 500 }).toEqual(left);
    };
    await operated.apply(upstream('upstream'), '-n', namespace.name);
    await operated.waitForRollout('upstream', where);
    const before = await everything(operated, namespace.name);

    const service = { type: 'NodePort' };
    const kept = adapter('kept', { ...CLAIM, service, ingress: { host: 'mcp.example.com' } });
    const autoscaling = { minReplicas: 1, maxReplicas: 1 };
    const lost = adapter('lost', { ...CLAIM, autoscaling, deletionPolicy: 'Delete' });
    await operated.apply([kept, lost], '-n', namespace.name);
    for (const name of ['kept', 'lost']) await operated.waitForCondition('mcpadapter', name, 'Ready', 'True', where);
    await operated.waitForCondition('mcpadapter', 'kept', 'UpstreamsHealthy', 'True', where);
    const session = await openSession(operated, namespace.name);
    const made = ['ingress.networking.k8s.io/kept', 'horizontalpodautoscaler.autoscaling/lost'];
    const claims = ['persistentvolumeclaim/kept-storage', 'persistentvolumeclaim/lost-storage'];
    expect(await everything(operated, namespace.name)).toEqual(expect.arrayContaining([...made, ...claims]));

    await run('delete', 'mcpadapter', 'kept', 'lost');
    await gone([...before, 'persistentvolumeclaim/kept-storage'].sort());
    const claim = await operated.get('persistentvolumeclaim', 'kept-storage', namespace.name);
    expect(claim?.metadata).not.toHaveProperty('ownerReferences');

    await operated.apply(kept, '-n', namespace.name);
    await operated.waitForCondition('mcpadapter', 'kept', 'Ready', 'True', where);
    await operated.waitForCondition('mcpadapter', 'kept', 'UpstreamsHealthy', 'True', where);
    const takenUp = await operated.get('persistentvolumeclaim', 'kept-storage', namespace.name);
    expect(takenUp?.metadata.uid).toBe(claim?.metadata.uid);
    // Sessions lie on the claim: this one has outlived the adapter that it was opened at.
    await expectSession(operated, namespace.name, session);

    // Who changes the policy means the claim that is there.
    await run('patch', 'mcpadapter', 'kept', '--type=merge', '-p', '{"spec":{"deletionPolicy":"Delete"}}');
    const isOwned = (object: Live | undefined): boolean => at(object, 'metadata', 'ownerReferences', 0) !== undefined;
    await operated.waitFor('persistentvolumeclaim', 'kept-storage', isOwned, where);
    // It waits for what it owns, and nothing is made again meanwhile.
    await run('delete', 'mcpadapter', 'kept', '--cascade=foreground');
    await gone(before);
  });

  test('and making it anew at once gives the new one everything', async ({ operated }) => {
    await using namespace = await operated.namespace('deletion');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    await operated.apply(upstream('upstream'), '-n', namespace.name);
    const again = adapter('again', { ...CLAIM, deletionPolicy: 'Delete' });
    await operated.apply(again, '-n', namespace.name);
    const first = await operated.waitForCondition('mcpadapter', 'again', 'Ready', 'True', where);
    await operated.runWith(JSON.stringify(again), 'replace', '--force', '-f', '-', '-n', namespace.name);
    const second = await operated.waitForCondition('mcpadapter', 'again', 'Ready', 'True', where);
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    const owners = async (): Promise<unknown[]> => {
      const children = await operated.list(CHILD_KINDS.join(','), namespace.name, 'mcpadapter.io/adapter=again');
      return [...new Set(children.map((child) => at(child, 'metadata', 'ownerReferences', 0, 'uid')))];
    };
    await expect.poll(owners, { timeout: GONE_MS, interval: 500 }).toEqual([second.metadata.uid]);
    await operated.waitForRollout('again', where);

    // With its namespace: nothing holds that up.
    await operated.run('delete', 'namespace', namespace.name, '--wait=false');
    await operated.waitFor('namespace', namespace.name, (object) => object === undefined, { timeoutMs: GONE_MS });
  });
});

/** Every object of a namespace, of whatever kind, as `kind.group/name`. Events only tell of what was. */
async function everything(cluster: Cluster, namespace: string): Promise<string[]> {
  const kinds = (await cluster.run('api-resources', '--namespaced', '--verbs=list', '-o', 'name')).trim().split('\n');
  const asked = kinds.filter((kind) => !/^events(\.|$)/.test(kind)).join(',');
  return (await cluster.run('get', asked, '-n', namespace, '-o', 'name')).trim().split('\n').sort();
}

async function openSession(cluster: Cluster, namespace: string): Promise<RawClient> {
  const session = await openRawClient(await mountOf(cluster, namespace));
  expect(await session.callTool('word_count', { text: 'hello world' })).toHaveProperty('result');
  return session;
}

/** Goes on with a session at the address that the mount has now. */
async function expectSession(cluster: Cluster, namespace: string, { sessionId = '' }: RawClient): Promise<void> {
  const response = await fetch(await mountOf(cluster, namespace), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': sessionId,
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    signal: AbortSignal.timeout(30_000),
  });
  expect(await responseMessage(response, 1)).toHaveProperty('result.tools');
}

const mountOf = async (cluster: Cluster, namespace: string): Promise<string> =>
  `${await cluster.nodePortUrl('kept', namespace)}/mcp/demo`;
