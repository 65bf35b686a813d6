import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { connectV1 } from '../support/real-client-v1.ts';
import { connectV2 } from '../support/real-client-v2.ts';
import type { Answers, RealClient } from '../support/real-client.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'examples');
const READY_MS = 180_000;

describe('after helm install and kubectl apply -f examples/', () => {
  test('clients in the cluster and outside of it call tools through three pods', async ({ operated }) => {
    await using namespace = await operated.namespace('examples');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    await operated.run('apply', '-n', namespace.name, '-f', EXAMPLES);
    const replicas = await operated.waitForCondition('mcpadapter', 'demo-replicas', 'Ready', 'True', where);
    const demo = await operated.waitForCondition('mcpadapter', 'demo', 'Ready', 'True', where);
    expect(at(replicas, 'status', 'readyReplicas')).toBe(3);
    expect(at(demo, 'status', 'readyReplicas')).toBe(1);
    for (const name of ['demo', 'demo-replicas']) {
      await operated.waitForCondition('mcpadapter', name, 'UpstreamsHealthy', 'True', where);
    }

    const outside = `${await operated.nodePortUrl('demo-replicas', namespace.name)}/mcp/demo`;
    const connect = { url: outside, transport: 'streamable_http', answers } as const;
    for (const open of [connectV1, connectV2]) {
      await using client = await open(connect);
      // Each call may be served by another pod, because a client may use several connections.
      await Promise.all(Array.from({ length: 12 }, () => expectTwoWords(client)));
    }
    const counted = { timeout: 30_000, interval: 500 };
    // What a pod logs is there to be read a moment later.
    await expect.poll(async () => (await podsThatServed(operated, namespace.name)).size, counted).toBeGreaterThan(1);
    // Prometheus finds each pod behind the Service for metrics, and in them every call.
    await expect
      .poll(() => callsInMetrics(operated, namespace.name, 'demo-replicas'), counted)
      .toEqual({ pods: 3, calls: 24 });

    for (const live of [replicas, demo]) {
      const url = `${String(at(live, 'status', 'url'))}/mcp/demo`;
      expect(await callFromInside(operated, namespace.name, url)).toContain('2 words, 1 lines, 11 characters');
    }
  });

  test('a call that runs when its pod has to go is answered by the server beside the adapter', async ({ operated }) => {
    await using namespace = await operated.namespace('examples-drained');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    await operated.run('apply', '-n', namespace.name, '-f', join(EXAMPLES, 'mcp-adapter.yaml'));
    await operated.waitForCondition('mcpadapter', 'demo', 'Ready', 'True', where);
    const [pod] = await operated.list('pod', namespace.name, 'mcpadapter.io/adapter=demo');
    const url = `http://${String(at(pod, 'status', 'podIP'))}:8932/mcp/demo`;
    await using client = await connectV2({ url, transport: 'streamable_http', answers });

    const underWay = Promise.withResolvers<void>();
    // Longer than a pod stays in its Service.
    const call = client.callTool('count_down', { from: 100 }, { onProgress: () => underWay.resolve() });
    await Promise.race([underWay.promise, call]);
    await operated.run('delete', 'pod', String(pod?.metadata.name), '-n', namespace.name, '--wait=false');
    expect(await call).toMatchObject({ content: [{ type: 'text', text: 'Counted down from 100.' }] });
  });

  test('everything that came with a resource goes with it', async ({ operated }) => {
    await using namespace = await operated.namespace('examples-deleted');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    const file = join(EXAMPLES, 'mcp-adapter.yaml');
    await operated.run('apply', '-n', namespace.name, '-f', file);
    await operated.waitForCondition('mcpadapter', 'demo', 'Ready', 'True', where);
    await operated.run('delete', '-n', namespace.name, '-f', file, '--wait=true');
    for (const kind of ['deployment', 'service', 'configmap', 'serviceaccount', 'networkpolicy', 'pvc', 'pod']) {
      const left = (): Promise<string[]> =>
        operated
          .list(kind, namespace.name, 'mcpadapter.io/adapter=demo')
          .then((objects) => objects.map(({ metadata }) => metadata.name));
      await expect.poll(left, { timeout: 60_000, interval: 500 }).toEqual([]);
    }
  });
});

const answers: Answers = { sampling: '', elicitation: { action: 'decline' }, roots: [] };

async function expectTwoWords(client: RealClient): Promise<void> {
  const result = await client.callTool('word_count', { text: 'hello world' });
  expect(result).toMatchObject({ structuredContent: { words: 2, lines: 1, characters: 11 } });
}

/** Names of the pods whose log tells of a tool call. */
async function podsThatServed(cluster: Cluster, namespace: string): Promise<Set<string>> {
  const logs = await cluster.logs('mcpadapter.io/adapter=demo-replicas', namespace);
  const calls = logs.split('\n').filter((line) => line.includes('"method":"tools/call"'));
  return new Set(calls.map((line) => /^\[(\S+)/.exec(line)?.[1] ?? ''));
}

/** What the metrics of all pods say about successful calls of the tool. */
async function callsInMetrics(
  cluster: Cluster,
  namespace: string,
  name: string,
): Promise<{ pods: number; calls: number }> {
  const slices = await cluster.list('endpointslices', namespace, `kubernetes.io/service-name=${name}-metrics`);
  const urls = slices.flatMap((slice) => {
    const endpoints = at(slice, 'endpoints') as { addresses: string[] }[] | null;
    return (endpoints ?? []).map(
      ({ addresses }) => `http://${addresses[0]}:${String(at(slice, 'ports', 0, 'port'))}/metrics`,
    );
  });
  const texts = await Promise.all(
    urls.map(async (url) => await (await fetch(url, { signal: AbortSignal.timeout(10_000) })).text()),
  );
  const ofTool = /^adapter_upstream_tool_calls_total\{(?=.*tool_name="word_count")(?=.*result="success").*\} (\d+)$/gm;
  const counts = texts.flatMap((text) => [...text.matchAll(ofTool)].map(([, count]) => Number(count)));
  return { pods: texts.length, calls: counts.reduce((sum, count) => sum + count, 0) };
}

/** The project's own terminal client in a pod, from the sources of this machine. */
async function callFromInside(cluster: Cluster, namespace: string, url: string): Promise<string> {
  const name = `client-${url.split('//')[1]?.split('.')[0] ?? ''}`;
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'client',
          image: 'mcp-adapter:0.1.0',
          command: ['node', '/sources/scripts/client.ts', url, 'word_count', '{"text":"hello world"}'],
          // The folder may be its owner's alone.
          securityContext: { runAsUser: 0 },
          volumeMounts: [{ name: 'sources', mountPath: '/sources', readOnly: true }],
        },
      ],
      volumes: [{ name: 'sources', hostPath: { path: ROOT } }],
    },
  });
  const ended = (phase: unknown): boolean => phase === 'Succeeded' || phase === 'Failed';
  await cluster.waitFor('pod', name, (pod) => ended(at(pod, 'status', 'phase')), { namespace });
  return await cluster.logs(name, namespace);
}
