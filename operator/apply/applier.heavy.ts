import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Applier } from './applier.ts';
import type { ApplyReport, Desired, Existing } from './desired.ts';
import { ApiError, type KubernetesObject, type OwnerReference, type Resource } from '../kubernetes/kubernetes.ts';
import type { Ownership } from './ownership.ts';
import {
  AUTOSCALERS,
  CONFIG_MAPS,
  DEPLOYMENTS,
  SERVICE_MONITORS,
  SERVICES,
  SERVICE_ACCOUNTS,
  STORAGE_CLAIMS,
} from '../kubernetes/resources.ts';
import { recordedApi, type RealApi, startRealApi, type Verb, writesOf } from '../kubernetes/testing/real-api.ts';

const LABELS = { 'app.kubernetes.io/managed-by': 'mcp-operator', 'mcpadapter.io/adapter': 'demo' };
const SELECTOR = 'app.kubernetes.io/managed-by=mcp-operator,mcpadapter.io/adapter=demo';
const KINDS = [CONFIG_MAPS, DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS, STORAGE_CLAIMS, AUTOSCALERS];
const forever = new AbortController().signal;

let real: RealApi;
let namespace: string;
let ownership: Ownership;

beforeAll(async () => {
  real = await startRealApi();
}, 20 * 60_000);
afterAll(async () => {
  await real?.[Symbol.asyncDispose]();
}, 60_000);
beforeEach(async () => {
  namespace = await real.namespace();
  ownership = { owners: [await reference('demo')], labels: LABELS };
});

async function reference(name: string): Promise<OwnerReference> {
  const { apiVersion, kind, metadata } = await real.owner(namespace, name);
  return { apiVersion, kind, name, uid: metadata.uid ?? '', controller: true, blockOwnerDeletion: true };
}

function desired(resource: Resource, name: string, content: object, owned = true): Desired {
  const { apiVersion, kind } = resource;
  return { resource, owned, object: { apiVersion, kind, metadata: { name, namespace, labels: LABELS }, ...content } };
}

const configMap = (data: Record<string, string>): Desired => desired(CONFIG_MAPS, 'demo-config', { data });

const service = (): Desired =>
  desired(SERVICES, 'demo', { spec: { selector: { app: 'demo' }, ports: [{ name: 'http', port: 80 }] } });

interface Wishes {
  readonly replicas?: number;
  readonly app?: string;
  readonly image?: string;
  readonly extra?: object;
}

function deployment({ replicas, app = 'demo', image = 'adapter:1', extra = {} }: Wishes = {}): Desired {
  const container = {
    name: 'adapter',
    image,
    env: [{ name: 'A', value: '1' }],
    resources: { requests: { cpu: '0.5' } },
  };
  return desired(DEPLOYMENTS, 'demo', {
    spec: {
      replicas,
      selector: { matchLabels: { app } },
      template: { metadata: { labels: { app } }, spec: { containers: [container], ...extra } },
    },
  });
}

const claim = (size = '1Gi', mode = 'ReadWriteOnce', owned = false): Desired =>
  desired(
    STORAGE_CLAIMS,
    'demo-storage',
    { spec: { accessModes: [mode], resources: { requests: { storage: size } } } },
    owned,
  );

/** What caches with the family's labels would show: without managed fields. */
async function existing(): Promise<Existing[]> {
  const found: Existing[] = [];
  for (const resource of KINDS) {
    for (const object of (await real.api.list(resource, { namespace, labelSelector: SELECTOR })).items) {
      const { managedFields: _, ...metadata } = object.metadata;
      found.push({ resource, object: { ...object, metadata } });
    }
  }
  return found;
}

/** An operator that was just started; `run` is one reconcile. */
function operator(before?: (verb: Verb) => Promise<void>) {
  const { api, requests } = recordedApi(real.api, before);
  const clock = { now: 0 };
  const applier = new Applier({
    api,
    fieldManager: 'mcp-operator',
    transferredFields: [{ resource: DEPLOYMENTS, path: ['spec', 'replicas'] }],
    now: () => clock.now,
  });
  const run = async (objects: readonly Desired[], cached?: readonly Existing[]): Promise<ApplyReport> => {
    const family = { key: { namespace, name: 'demo' }, ownership, existing: cached ?? (await existing()) };
    requests.length = 0;
    return applier.apply(objects, family, forever);
  };
  return { run, applier, clock, writes: () => writesOf(requests) };
}

const outcomes = (report: ApplyReport): string[] =>
  report.objects.map(({ resource, outcome }) => `${resource.kind} ${outcome}`);

async function live(resource: Resource, name: string): Promise<KubernetesObject> {
  const object = await real.api.get(resource, { name, namespace });
  if (object === undefined) throw new Error(`no ${resource.kind} ${name}`);
  return object;
}

interface Workload {
  readonly replicas: number;
  readonly template: {
    readonly metadata: { readonly annotations?: Record<string, string> };
    readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
  };
}

const workload = async (): Promise<Workload> => (await live(DEPLOYMENTS, 'demo'))['spec'] as Workload;

describe('an object that is too large to be held', () => {
  it('is read when it is written, and not at rest', async () => {
    const { run, writes } = operator();
    const reads: string[] = [];
    /** The label stands for the content. */
    const large = (version: string, content: string | undefined): Desired => {
      const light = configMap({});
      const { data: _data, ...object } = light.object;
      const metadata = { ...object.metadata, labels: { ...LABELS, version } };
      const whole = async () => {
        reads.push(version);
        return content === undefined ? undefined : { ...object, metadata, data: { content } };
      };
      return { ...light, object: { ...object, metadata }, whole };
    };
    expect(outcomes(await run([large('1', 'one'), service()]))).toEqual(['ConfigMap created', 'Service created']);
    expect((await live(CONFIG_MAPS, 'demo-config')).metadata.ownerReferences).toEqual(ownership.owners);
    expect(outcomes(await run([large('1', 'one'), service()]))).toEqual(['ConfigMap unchanged', 'Service unchanged']);
    expect([reads, writes()]).toEqual([['1'], []]);

    // What others change is seen, though nothing is held that it could be compared with.
    await real.api.merge({ data: { content: 'other' } }, CONFIG_MAPS, { name: 'demo-config', namespace });
    expect(outcomes(await run([large('1', 'one')]))).toContain('ConfigMap changed');
    expect((await live(CONFIG_MAPS, 'demo-config'))['data']).toEqual({ content: 'one' });
    expect(outcomes(await run([large('2', 'two')]))).toContain('ConfigMap changed');
    expect((await live(CONFIG_MAPS, 'demo-config'))['data']).toEqual({ content: 'two' });
    expect(reads).toEqual(['1', '1', '2']);
  });

  it('waits where it cannot be read, and is not touched meanwhile', async () => {
    const { run, writes } = operator();
    await run([configMap({ content: 'one' })]);
    const gone: Desired = { ...configMap({}), whole: async () => undefined };
    expect(outcomes(await run([gone, service()]))).toEqual(['ConfigMap waiting', 'Service blocked']);
    expect(writes()).toEqual([]);
    expect((await live(CONFIG_MAPS, 'demo-config'))['data']).toEqual({ content: 'one' });
  });
});

describe('steady state', () => {
  it('makes the objects with their owner, and then writes nothing', async () => {
    const { run, writes } = operator();
    const objects = [configMap({ a: '1' }), deployment({ replicas: 2 }), service(), claim()];
    expect(outcomes(await run(objects))).toEqual([
      'ConfigMap created',
      'Deployment created',
      'Service created',
      'PersistentVolumeClaim created',
    ]);
    expect(writes()).toHaveLength(4);
    const report = await run(objects);
    expect(writes()).toEqual([]);
    expect(new Set(report.objects.map(({ outcome }) => outcome))).toEqual(new Set(['unchanged']));
    expect(report.settled).toBe(true);
    expect((await live(DEPLOYMENTS, 'demo')).metadata.ownerReferences).toEqual(ownership.owners);
    expect((await live(STORAGE_CLAIMS, 'demo-storage')).metadata.ownerReferences).toBeUndefined();
  });

  it('changes nothing after a restart of the operator: one apply for each object, none of which is stored', async () => {
    const objects = [configMap({ a: '1' }), deployment({ replicas: 2 }), service()];
    await operator().run(objects);
    const before = await Promise.all(objects.map(({ resource, object }) => live(resource, object.metadata.name)));
    const restarted = operator();
    expect(outcomes(await restarted.run(objects))).toEqual([
      'ConfigMap unchanged',
      'Deployment unchanged',
      'Service unchanged',
    ]);
    expect(restarted.writes()).toHaveLength(3);
    const after = await Promise.all(objects.map(({ resource, object }) => live(resource, object.metadata.name)));
    expect(after.map(({ metadata }) => metadata.resourceVersion)).toEqual(
      before.map(({ metadata }) => metadata.resourceVersion),
    );
    await restarted.run(objects);
    expect(restarted.writes()).toEqual([]);
  });

  it('does not write again when the cache has not seen the last write yet', async () => {
    const { run, writes } = operator();
    await run([configMap({ a: '1' })]);
    const behind = await existing();
    await run([configMap({ a: '2' })]);
    expect(writes()).toEqual(['apply ConfigMap/demo-config']);
    await run([configMap({ a: '2' })], behind);
    expect(writes()).toEqual([]);
    await run([configMap({ a: '2' })], []);
    expect(writes()).toEqual([]);
  });

  it('tells of what it wrote last, not of what a cache shows that has not seen it yet', async () => {
    const { run } = operator();
    await run([deployment({ replicas: 1 })]);
    const behind = await existing();
    await run([deployment({ replicas: 1, image: 'adapter:2' })]);
    const [applied] = (await run([deployment({ replicas: 1, image: 'adapter:2' })], behind)).objects;
    expect(applied).toMatchObject({ outcome: 'unchanged', object: { metadata: { generation: 2 } } });
    // Once it has: with what others have written since, such as the status.
    const seen = await existing();
    const [after] = (await run([deployment({ replicas: 1, image: 'adapter:2' })], seen)).objects;
    expect(after?.object).toBe(seen[0]?.object);
  });

  it('does not write when only the status changes', async () => {
    const { run, writes } = operator();
    await run([deployment()]);
    const status = '{"status":{"replicas":1,"observedGeneration":1}}';
    const patch = ['patch', 'deployment', 'demo', '--subresource', 'status', '--type', 'merge', '-p', status];
    await real.server.kubectl('-n', namespace, ...patch);
    await run([deployment()]);
    expect(writes()).toEqual([]);
  });
});

describe('what others write', () => {
  it('leaves foreign labels, annotations, sidecars and the mark of kubectl rollout restart', async () => {
    const { run } = operator();
    await run([deployment({ replicas: 1 })]);
    const kubectl = (...args: string[]) => real.server.kubectl('-n', namespace, ...args);
    await kubectl('label', 'deployment/demo', 'team=blue');
    await kubectl('annotate', 'deployment/demo', 'note=ours');
    await kubectl('rollout', 'restart', 'deployment/demo');
    const sidecar = '{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"proxy:1"}]}}}}';
    await kubectl('patch', 'deployment', 'demo', '-p', sidecar);
    // A new image, so that the object is really written.
    await run([deployment({ replicas: 1, image: 'adapter:2' })]);
    const { metadata } = await live(DEPLOYMENTS, 'demo');
    expect(metadata.labels).toMatchObject({ ...LABELS, team: 'blue' });
    expect(metadata.annotations).toMatchObject({ note: 'ours' });
    const { template } = await workload();
    expect(template.metadata.annotations).toHaveProperty(['kubectl.kubernetes.io/restartedAt']);
    expect(template.spec.containers.map(({ name, image }) => `${name} ${image}`).sort()).toEqual([
      'adapter adapter:2',
      'sidecar proxy:1',
    ]);
  });

  it('repairs an edit of its own field, and the loss of its label', async () => {
    const { run, writes } = operator();
    const objects = [configMap({ a: '1' }), deployment({ replicas: 2 })];
    await run(objects);
    const kubectl = (...args: string[]) => real.server.kubectl('-n', namespace, ...args);
    await kubectl('scale', 'deployment/demo', '--replicas', '5');
    await kubectl('label', 'configmap/demo-config', 'mcpadapter.io/adapter-');
    expect(outcomes(await run(objects))).toEqual(['ConfigMap changed', 'Deployment changed']);
    expect((await workload()).replicas).toBe(2);
    expect((await live(CONFIG_MAPS, 'demo-config')).metadata.labels).toEqual(LABELS);
    await run(objects);
    expect(writes()).toEqual([]);
  });

  it('makes an object anew that was deleted by hand, also while the cache still shows it', async () => {
    const { run } = operator();
    await run([configMap({ a: '1' })]);
    const behind = await existing();
    await real.server.kubectl('-n', namespace, 'delete', 'configmap', 'demo-config');
    // The cache cannot know; the deletion will be reported as an event.
    expect(outcomes(await run([configMap({ a: '1' })], behind))).toEqual(['ConfigMap unchanged']);
    expect(outcomes(await run([configMap({ a: '2' })], behind))).toEqual(['ConfigMap created']);
  });

  it('hands the replicas over to the autoscaler with the number that there is', async () => {
    const { run, writes } = operator();
    await run([deployment({ replicas: 3 })]);
    await run([deployment()]);
    expect((await workload()).replicas).toBe(3);
    expect(writes()).toEqual(['apply Deployment/demo', 'apply Deployment/demo']);
    // The autoscaler scales, and nobody scales back.
    await real.server.kubectl('-n', namespace, 'scale', 'deployment/demo', '--replicas', '7');
    await run([deployment({ image: 'adapter:2' })]);
    expect((await workload()).replicas).toBe(7);
    await run([deployment({ image: 'adapter:2' })]);
    expect(writes()).toEqual([]);
    // And back.
    await run([deployment({ replicas: 2, image: 'adapter:2' })]);
    expect((await workload()).replicas).toBe(2);
  });

  it('hands the replicas over when the operator was restarted in between', async () => {
    await operator().run([deployment({ replicas: 3 })]);
    await operator().run([deployment()]);
    expect((await workload()).replicas).toBe(3);
  });
});

describe('those who want something else, again and again', () => {
  const scale = (replicas: number) => real.api.merge({ spec: { replicas } }, DEPLOYMENTS, { name: 'demo', namespace });

  it('O11: get fewer and fewer answers, and are named', async () => {
    const { run, clock } = operator();
    await run([deployment({ replicas: 2 })]);
    const outcomesOf: string[] = [];
    const contests = new Set<string>();
    for (let replicas = 10; clock.now < 20_000; replicas++, clock.now += 400) {
      await scale(replicas);
      const report = await run([deployment({ replicas: 2 })]);
      const [one] = report.objects;
      outcomesOf.push(one?.outcome ?? '');
      if (one?.contest !== undefined) contests.add(one.contest);
      expect(report.settled).toBe(true);
      expect(report.requeueAfterMs === undefined).toBe(one?.outcome !== 'contested');
    }
    expect(outcomesOf.filter((outcome) => outcome === 'changed').length).toBeLessThanOrEqual(6);
    expect(outcomesOf.filter((outcome) => outcome === 'contested').length).toBeGreaterThan(40);
    expect([...contests]).toEqual([
      expect.stringMatching(/^Deployment demo is changed again and again by contract-test;/),
    ]);
    // It ends as we want it, and a slip later is mended at once.
    clock.now += 60_000;
    await run([deployment({ replicas: 2 })]);
    expect((await workload()).replicas).toBe(2);
    clock.now += 300_000;
    await scale(5);
    expect(outcomes(await run([deployment({ replicas: 2 })]))).toEqual(['Deployment changed']);
  });

  it('O11: are told apart when they are another operator', async () => {
    const [one, other] = [operator(), operator()];
    const contests = new Set<string>();
    let writes = 0;
    for (; one.clock.now < 20_000; one.clock.now = other.clock.now += 1_000) {
      for (const [who, image] of [
        [one, 'adapter:1'],
        [other, 'adapter:2'],
      ] as const) {
        const [applied] = (await who.run([deployment({ replicas: 1, image })])).objects;
        if (applied?.contest !== undefined) contests.add(applied.contest);
        writes += who.writes().length;
      }
    }
    expect([...contests]).toEqual([expect.stringContaining('by another operator that looks after the same namespace')]);
    expect(writes).toBeLessThanOrEqual(14);
  });
});

describe('objects of others', () => {
  it('does not touch an object that is not ours, and says which; what comes after it waits', async () => {
    const { api } = real;
    const { apiVersion, kind } = SERVICES;
    const spec = { selector: { app: 'other' }, ports: [{ port: 8080 }] };
    await api.create({ apiVersion, kind, metadata: { name: 'demo', namespace }, spec }, SERVICES);
    const { run, writes } = operator();
    const report = await run([configMap({ a: '1' }), service(), deployment()]);
    expect(outcomes(report)).toEqual(['ConfigMap created', 'Service conflict', 'Deployment blocked']);
    expect(report.objects[1]?.message).toBe('Service demo exists already and was made by someone else');
    expect(report).toMatchObject({ settled: false, requeueAfterMs: 60_000 });
    expect(writes()).toEqual(['apply ConfigMap/demo-config']);
    expect((await live(SERVICES, 'demo'))['spec']).toMatchObject({ selector: { app: 'other' } });
    await real.server.kubectl('-n', namespace, 'delete', 'service', 'demo');
    expect((await run([configMap({ a: '1' }), service(), deployment()])).settled).toBe(true);
  });

  it('does not take over an object that appears between the look and the write', async () => {
    const raced = recordedApi(real.api, async (verb) => {
      if (verb !== 'apply') return;
      await real.server.kubectl('-n', namespace, 'create', 'configmap', 'demo-config', '--from-literal', 'a=theirs');
    });
    const applier = new Applier({ api: raced.api, fieldManager: 'mcp-operator' });
    const family = { key: { namespace, name: 'demo' }, ownership, existing: [] };
    expect(outcomes(await applier.apply([configMap({ a: '1' })], family, forever))).toEqual(['ConfigMap conflict']);
    expect((await live(CONFIG_MAPS, 'demo-config'))['data']).toEqual({ a: 'theirs' });
  });

  it('waits for an object that is being deleted, and for one of a resource that had the same name', async () => {
    const { run, writes } = operator();
    await run([configMap({ a: '1' })]);
    await real.api.merge({ metadata: { finalizers: ['example.com/hold'] } }, CONFIG_MAPS, {
      name: 'demo-config',
      namespace,
    });
    const { ownerReferences = [] } = (await live(CONFIG_MAPS, 'demo-config')).metadata;
    ownership = { ...ownership, owners: ownership.owners.map((one) => ({ ...one, uid: 'a-new-one' })) };
    expect(ownerReferences).toHaveLength(1);
    expect(outcomes(await run([configMap({ a: '1' })]))).toEqual(['ConfigMap waiting']);
    ownership = { ...ownership, owners: ownerReferences };
    await real.api.delete(CONFIG_MAPS, { name: 'demo-config', namespace });
    const report = await run([configMap({ a: '2' })]);
    expect(report.objects[0]).toMatchObject({ outcome: 'waiting', message: 'ConfigMap demo-config is being deleted' });
    expect(writes()).toEqual([]);
    expect(report.requeueAfterMs).toBe(2_000);
  });

  it('deletes only its own: not the objects of another owner, not the ones without, not the retained claim', async () => {
    const { run } = operator();
    await run([configMap({ a: '1' }), service(), claim()]);
    const another = await reference('another');
    const { apiVersion, kind } = CONFIG_MAPS;
    const make = (name: string, ownerReferences: readonly OwnerReference[]) =>
      real.api.create(
        { apiVersion, kind, metadata: { name, namespace, labels: LABELS, ownerReferences } },
        CONFIG_MAPS,
      );
    await make('of-another', [another]);
    await make('of-nobody', []);
    const report = await run([configMap({ a: '1' })]);
    expect(outcomes(report)).toEqual(['ConfigMap unchanged', 'Service deleted']);
    const left = (await existing()).map(({ object }) => object.metadata.name).sort();
    expect(left).toEqual(['demo-config', 'demo-storage', 'of-another', 'of-nobody']);
  });

  it('does not delete an object that took the name of its own', async () => {
    const { run } = operator();
    await run([configMap({ a: '1' }), service()]);
    const behind = await existing();
    await real.server.kubectl('-n', namespace, 'delete', 'service', 'demo');
    await real.server.kubectl('-n', namespace, 'create', 'service', 'clusterip', 'demo', '--tcp', '80');
    await run([configMap({ a: '1' })], behind);
    expect((await live(SERVICES, 'demo')).metadata.labels).toEqual({ app: 'demo' });
  });

  it('takes the claim of a resource that was deleted, and lets it go again', async () => {
    await operator().run([claim()]);
    ownership = { ...ownership, owners: [await reference('demo-again')] };
    const { run } = operator();
    expect(outcomes(await run([claim('1Gi', 'ReadWriteOnce', true)]))).toEqual(['PersistentVolumeClaim changed']);
    expect((await live(STORAGE_CLAIMS, 'demo-storage')).metadata.ownerReferences).toHaveLength(1);
    await run([claim()]);
    expect((await live(STORAGE_CLAIMS, 'demo-storage')).metadata.ownerReferences).toBeUndefined();
  });
});

describe('what the API server refuses', () => {
  it('names object and field of a change that is not possible, and does not ask again and again', async () => {
    const { run, writes, clock } = operator();
    await run([deployment()]);
    const report = await run([deployment({ app: 'renamed' })]);
    expect(report.objects[0]?.outcome).toBe('refused');
    expect(report.objects[0]?.message).toMatch(
      /^Deployment demo was refused.*spec\.selector.*immutable.*delete the object/,
    );
    expect(writes()).toHaveLength(1);
    expect((await run([deployment({ app: 'renamed' })])).objects[0]?.message).toBe(report.objects[0]?.message);
    expect(writes()).toEqual([]);
    clock.now += 60_000;
    await run([deployment({ app: 'renamed' })]);
    expect(writes()).toHaveLength(1);
    // The next spec is tried at once.
    expect((await run([deployment({ image: 'adapter:2' })])).settled).toBe(true);
  });

  it('names the fields of claims and Services that cannot change', async () => {
    const { run } = operator();
    await run([claim(), service()]);
    const mode = await run([claim('1Gi', 'ReadWriteMany')]);
    expect(mode.objects[0]?.message).toMatch(/^PersistentVolumeClaim demo-storage was refused.*spec.*immutable/);
    const address = await run([
      claim(),
      desired(SERVICES, 'demo', {
        spec: { clusterIP: '10.96.77.77', selector: { app: 'demo' }, ports: [{ port: 80 }] },
      }),
    ]);
    expect(address.objects[1]?.message).toMatch(/^Service demo was refused.*clusterIP.*delete the object/);
  });

  it('names an unknown field, a variable that is there twice, and a kind that is not installed', async () => {
    const { run } = operator();
    const unknown = await run([deployment({ extra: { nodeSelektor: {} } })]);
    expect(unknown.objects[0]).toMatchObject({ outcome: 'refused' });
    expect(unknown.objects[0]?.message).toMatch(/nodeSelektor/);
    const containers = [
      {
        name: 'adapter',
        image: 'x',
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      },
    ];
    const twice = await run([deployment({ extra: { containers } })]);
    expect(twice.objects[0]).toMatchObject({ outcome: 'refused' });
    expect(twice.objects[0]?.message).toMatch(/"A"/);
    const monitor = await run([desired(SERVICE_MONITORS, 'demo', { spec: {} })]);
    expect(monitor.objects[0]).toMatchObject({ outcome: 'refused' });
  });

  it('believes that it may not write only when that lasts: an API server says so while it starts', async () => {
    const text = 'configmaps "demo-config" is forbidden: User "op" cannot patch resource "configmaps"';
    const access = { denied: false };
    const { run, writes, clock } = operator(async (verb) => {
      if (access.denied && verb === 'apply') throw new ApiError(403, 'Forbidden', text);
    });
    await run([configMap({ a: '1' })]);
    access.denied = true;
    await expect(run([configMap({ a: '2' })])).rejects.toThrow(text);
    access.denied = false;
    expect(outcomes(await run([configMap({ a: '2' })]))).toEqual(['ConfigMap changed']);

    access.denied = true;
    await expect(run([configMap({ a: '3' })])).rejects.toThrow(text);
    clock.now += 9_999;
    await expect(run([configMap({ a: '3' })])).rejects.toThrow(text);
    clock.now += 1;
    const [refused] = (await run([configMap({ a: '3' })])).objects;
    expect(refused).toMatchObject({ outcome: 'refused', message: expect.stringContaining(text) });
    await run([configMap({ a: '3' })]);
    expect(writes()).toEqual([]);
  });

  it('tells of an error that trying again may help against only when it lasts, and goes on trying', async () => {
    const failure = new ApiError(500, 'InternalError', 'failed calling webhook "x"');
    const webhook = { down: true };
    const { run, writes, clock } = operator(async (verb) => {
      if (webhook.down && verb === 'apply') throw failure;
    });
    await expect(run([configMap({ a: '1' }), service()])).rejects.toThrow(failure);
    clock.now += 9_999;
    await expect(run([configMap({ a: '1' }), service()])).rejects.toThrow(failure);
    clock.now += 1;
    const report = await run([configMap({ a: '1' }), service()]);
    expect(report).toMatchObject({ settled: false, failure });
    expect(report.objects).toEqual([
      expect.objectContaining({
        outcome: 'waiting',
        message: 'ConfigMap demo-config cannot be applied for now: failed calling webhook "x"',
      }),
    ]);
    writes();
    await run([configMap({ a: '1' }), service()]);
    expect(writes()).toHaveLength(1);
    webhook.down = false;
    expect((await run([configMap({ a: '1' }), service()])).settled).toBe(true);
    webhook.down = true;
    await expect(run([configMap({ a: '2' }), service()])).rejects.toThrow(failure);
  });

  it('takes a null as a field that is not there', async () => {
    const { run, writes } = operator();
    expect((await run([deployment({ extra: { nodeSelector: null, tolerations: null } })])).settled).toBe(true);
    await run([deployment({ extra: { nodeSelector: null, tolerations: null } })]);
    expect(writes()).toEqual([]);
  });
});

it('remembers only what is desired', async () => {
  const { run, applier } = operator();
  await run([configMap({ a: '1' }), service()]);
  expect(applier.size).toBe(2);
  await run([configMap({ a: '1' })]);
  expect(applier.size).toBe(1);
  applier.forget({ namespace, name: 'demo' });
  expect(applier.size).toBe(0);
});

it('writes nothing more once its signal aborts', async () => {
  const controller = new AbortController();
  const aborting = recordedApi(real.api, (verb) => {
    if (verb === 'apply') controller.abort();
    return Promise.resolve();
  });
  const applier = new Applier({ api: aborting.api, fieldManager: 'mcp-operator' });
  const family = { key: { namespace, name: 'demo' }, ownership, existing: [] };
  await expect(applier.apply([configMap({ a: '1' }), service()], family, controller.signal)).rejects.toThrow(/abort/);
  expect(writesOf(aborting.requests)).toEqual(['apply ConfigMap/demo-config']);
});
