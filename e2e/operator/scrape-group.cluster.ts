import { describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at, conditionOf, type Live } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { CHILD_KINDS, source } from './kit/resources.ts';

const READY_MS = 180_000;
/** The kubelet may take more than a minute to bring a change to the files of a pod. */
const READ_MS = 240_000;
const PORT = 8080;

describe('sources of one group', () => {
  test(
    'run in the same pods, which go on when sources come, go, or are wrong',
    { timeout: 600_000 },
    async ({ operated }) => {
      await using namespace = await operated.namespace('scrape-group');
      const { name: ns } = namespace;
      const apply = (...sources: readonly object[]): Promise<string> => operated.apply(sources, '-n', ns);
      const says = (name: string, type: string, status: 'True' | 'False', timeoutMs = READY_MS): Promise<Live> =>
        operated.waitForCondition('apiscrapesource', name, type, status, { namespace: ns, timeoutMs });

      await apply(source('first', 'one'), source('second', 'one'));
      for (const name of ['first', 'second']) await says(name, 'Ready', 'True');
      const before = await running(operated, ns, 'one');
      expect(before).toEqual([{ id: expect.anything(), sources: ['first', 'second'], status: 'ok' }]);
      expect((await operated.list('deployment', ns)).map(({ metadata }) => metadata.name)).toEqual(['scraper-one']);

      // One comes, one contradicts the group, and one is edited to what only the program can refuse.
      const began = Date.now();
      await apply(
        source('third', 'one'),
        changed(source('stranger', 'one'), { scraper: { otelCollectorEndpoint: 'http://127.0.0.1:4999' } }),
        changed(source('second', 'one'), { source: { frequency: undefined } }),
      );
      expect(conditionOf(await says('stranger', 'Accepted', 'False'), 'Accepted')).toMatchObject({
        reason: 'GroupConflict',
        message: expect.stringMatching(/^spec\.scraper\.otelCollectorEndpoint is .*:4999.* by the older source first/),
      });
      const refused = await says('second', 'Accepted', 'False');
      expect(conditionOf(refused, 'Accepted')).toMatchObject({
        reason: 'InvalidSpec',
        message: expect.stringContaining('spec.source.frequency'),
      });
      expect(conditionOf(refused, 'Ready')).toMatchObject({ status: 'True', observedGeneration: 1 });
      await says('third', 'Ready', 'True', READ_MS);
      console.log(`the pods read a new source after ${Math.round((Date.now() - began) / 1_000)} s`);
      expect(await running(operated, ns, 'one')).toEqual([{ ...before[0], sources: ['first', 'second', 'third'] }]);

      // Moved, mended, and gone: what is left goes on.
      await apply(source('third', 'two'), source('second', 'one'));
      await operated.run('delete', 'apiscrapesource', 'stranger', '-n', ns);
      await says('third', 'Ready', 'True', READ_MS);
      expect((await running(operated, ns, 'two')).map(({ sources }) => sources)).toEqual([['third']]);
      await says('second', 'Ready', 'True', READ_MS);
      await expect
        .poll(() => running(operated, ns, 'one'), { timeout: READ_MS, interval: 1_000 })
        .toEqual([{ ...before[0], sources: ['first', 'second'] }]);

      await operated.run('delete', 'apiscrapesources', '--all', '-n', ns);
      await expect.poll(() => children(operated, ns), { timeout: READY_MS, interval: 500 }).toEqual([]);
    },
  );
});

/** With these fields of the spec laid over its own. */
function changed(object: object, fields: Readonly<Record<string, object>>): object {
  const { spec, ...rest } = object as { spec: Record<string, object> };
  const laid = Object.entries(fields).map(([key, value]) => [key, { ...spec[key], ...value }] as const);
  return { ...rest, spec: { ...spec, ...Object.fromEntries(laid) } };
}

/** The pods of a group, and what they say that they scrape. */
async function running(cluster: Cluster, namespace: string, group: string) {
  const pods = await cluster.list('pods', namespace, `mcpadapter.io/scrape-group=${group}`);
  const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return await Promise.all(
    alive.map(async (pod) => {
      const url = `http://${String(at(pod, 'status', 'podIP'))}:${PORT}/healthz`;
      const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
      const { status, sources } = (await response.json()) as { status: string; sources: { name: string }[] };
      const id = `${pod.metadata.uid} ${String(at(pod, 'status', 'containerStatuses', 0, 'restartCount'))}`;
      return { id, status, sources: sources.map(({ name }) => name).sort() };
    }),
  );
}

async function children(cluster: Cluster, namespace: string): Promise<string[]> {
  const kinds = [...CHILD_KINDS, 'pods', 'replicasets'].join(',');
  const objects = await cluster.list(kinds, namespace, 'app.kubernetes.io/managed-by=mcp-operator');
  const pods = await cluster.list('pods', namespace);
  return [...objects, ...pods].map(({ kind, metadata }) => `${kind} ${metadata.name}`);
}
