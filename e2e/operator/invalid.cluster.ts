import { describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at, conditionOf, type Live } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { startLoad } from './kit/load.ts';
import { adapter, upstream } from './kit/resources.ts';

const NAME = 'edited';
const READY_MS = 180_000;
const SERVER = { id: 'demo', mount_path: '/mcp/demo', upstream: { url: 'http://upstream:8931/mcp' } };

interface Edit {
  readonly what: string;
  readonly spec?: object;
  readonly config?: object;
  /** What kubectl, or the condition, says. */
  readonly says: readonly string[];
}

/** These never become part of the resource. */
const REFUSED_BY_API: readonly Edit[] = [
  { what: 'a port that is none', config: { core: { port: 70_000 } }, says: ['spec.config.core.port', '65535'] },
  { what: 'an unknown field', config: { core: { prot: 80 } }, says: ['spec.config.core.prot', 'unknown field'] },
  {
    what: 'replicas without Redis',
    spec: { replicas: 3 },
    says: ['spec.config.state_persistence', 'needs config.state_persistence.type redis'],
  },
  {
    what: 'one id twice',
    config: { servers: [SERVER, { ...SERVER, mount_path: '/b' }] },
    says: ['spec.config.servers[1]', 'Duplicate value'],
  },
  {
    what: 'a token that is written out',
    config: { core: { auth: { enabled: true, token: 'secret' } } },
    says: ['spec.config.core.auth.token', 'must be a reference'],
  },
];

/** Only the operator, or the API server when it gets what the operator made of it, can tell that these are wrong. */
const REFUSED_BY_CONDITION: readonly (Edit & { readonly reason: string })[] = [
  {
    what: 'an address that nobody reaches',
    config: { core: { host: '127.0.0.1' } },
    reason: 'InvalidSpec',
    says: ['spec.config.core.host is 127.0.0.1'],
  },
  {
    what: 'an upstream where clouds keep credentials',
    config: { servers: [{ ...SERVER, upstream: { url: 'http://169.254.169.254/mcp' } }] },
    reason: 'InvalidSpec',
    says: ['spec.config.servers[0].upstream.url leads to 169.254.169.254'],
  },
  {
    what: 'two mistakes at once',
    config: { servers: [{ ...SERVER, mount_path: '/healthz', upstream: { url: 'upstream/mcp' } }] },
    reason: 'InvalidSpec',
    says: ['spec.config.servers[0].mount_path', 'spec.config.servers[0].upstream.url'],
  },
  {
    what: 'a variable from nowhere',
    config: { servers: [{ ...SERVER, upstream: { url: 'http://${UPSTREAM_HOST}/mcp' } }] },
    reason: 'UndeclaredVariable',
    says: ['spec.config.servers[0].upstream.url', 'UPSTREAM_HOST'],
  },
  {
    what: 'an API that the cluster does not have',
    spec: { httpRoute: { parentRefs: [{ name: 'gateway' }], hostnames: ['mcp.example.com'] } },
    reason: 'ApiMissing',
    says: ['spec.httpRoute', 'gateway.networking.k8s.io'],
  },
  {
    what: 'a pod that cannot be',
    spec: { resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } },
    reason: 'Refused',
    says: ['resources.requests', 'cpu limit'],
  },
];

describe('an invalid edit of an adapter that serves', () => {
  test('is refused with field and reason, and its clients notice nothing', async ({ operated }) => {
    await using namespace = await operated.namespace('invalid');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    const edit = ({ spec, config }: Pick<Edit, 'spec' | 'config'>): Promise<string> =>
      operated.apply(
        adapter(NAME, { service: { type: 'NodePort' }, ...spec }, { ...IN_MEMORY, ...config }),
        '-n',
        namespace.name,
      );
    await operated.apply(upstream('upstream'), '-n', namespace.name);
    await edit({});
    await operated.waitForCondition('mcpadapter', NAME, 'UpstreamsHealthy', 'True', where);
    const ready = await operated.waitForCondition('mcpadapter', NAME, 'Ready', 'True', where);
    const before = await running(operated, namespace.name);
    const url = `${await operated.nodePortUrl(NAME, namespace.name)}/mcp/demo`;

    const load = await startLoad(url, { sessions: 2, pauseMs: 50 });
    try {
      for (const { what, says, ...change } of REFUSED_BY_API) {
        for (const part of says) await expect(edit(change), what).rejects.toThrow(part);
      }
      const same = await operated.get('mcpadapter', NAME, namespace.name);
      expect(same?.metadata.generation).toBe(ready.metadata.generation);

      let { generation } = ready.metadata;
      for (const { what, says, reason, ...change } of REFUSED_BY_CONDITION) {
        await edit(change);
        const refused = await operated.waitForCondition('mcpadapter', NAME, 'Accepted', 'False', where);
        const message = expect.toSatisfy((text: string) => says.every((part) => text.includes(part)));
        expect(conditionOf(refused, 'Accepted'), what).toMatchObject({ reason, message });
        expect(conditionOf(refused, 'Stalled'), what).toMatchObject({ status: 'True', reason });
        // About the pods, and the spec that they were made from.
        expect(conditionOf(refused, 'Ready'), what).toMatchObject({ status: 'True', observedGeneration: generation });
        expect(at(refused, 'status', 'observedGeneration'), what).toBe(refused.metadata.generation);
        expect(at(refused, 'status', 'url'), what).toBe(at(ready, 'status', 'url'));
        await load.more(3, READY_MS);
        expect(await running(operated, namespace.name), what).toEqual(before);

        await edit({});
        await operated.waitForCondition('mcpadapter', NAME, 'Accepted', 'True', where);
        const mended = await operated.waitForCondition('mcpadapter', NAME, 'Ready', 'True', where);
        expect(conditionOf(mended, 'Stalled'), what).toBeUndefined();
        ({ generation } = mended.metadata);
      }
      // Undoing a mistake is no change for the pods.
      expect(await running(operated, namespace.name)).toEqual(before);
      expect(load.tally().failures).toEqual([]);
    } finally {
      await load[Symbol.asyncDispose]();
    }

    const events = await operated.list('events.events.k8s.io', namespace.name);
    const warnings = events.filter(({ type, regarding }) => type === 'Warning' && at(regarding, 'name') === NAME);
    const reasons = REFUSED_BY_CONDITION.map(({ reason }) => reason);
    expect(warnings.map(({ reason }) => reason)).toEqual(expect.arrayContaining(reasons));

    await edit(REFUSED_BY_CONDITION[0] ?? {});
    await operated.waitForCondition('mcpadapter', NAME, 'Accepted', 'False', where);
    await edit({ config: { core: { log_level: 'debug' } } });
    await operated.waitForCondition('mcpadapter', NAME, 'Ready', 'True', where);
    const after = await running(operated, namespace.name);
    expect(after.pods).not.toEqual(before.pods);
    expect(await operated.logs(`mcpadapter.io/adapter=${NAME}`, namespace.name)).toContain('"level":"debug"');
  });
});

const IN_MEMORY = { state_persistence: { type: 'memory' } };

/** What must stay as it is: the Deployment's spec and the pods, with what they restarted. */
async function running(cluster: Cluster, namespace: string): Promise<{ deployment: unknown; pods: unknown[] }> {
  const deployment = await cluster.get('deployment', NAME, namespace);
  const pods = await cluster.list('pods', namespace, `mcpadapter.io/adapter=${NAME}`);
  const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return { deployment: [deployment?.metadata.uid, deployment?.metadata.generation], pods: alive.map(identity) };
}

const identity = (pod: Live): unknown => [pod.metadata.uid, at(pod, 'status', 'containerStatuses', 0, 'restartCount')];
