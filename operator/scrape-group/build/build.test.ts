import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { Source } from '../../../crds/config/scraper-file/scraper.ts';
import { loadScraperConfig } from '../../../crds/config/load/load.ts';
import { type Environment, interpolateAll } from '../../../lib/references/reference.ts';
import { valueAt } from '../../../lib/json/tree.ts';
import type { ApiScrapeSource } from '../../../crds/v1alpha1/api-scrape-source.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { build } from './build.ts';
import { type GoldenGroup, goldenGroup, goldenGroups, TESTDATA } from '../testing/golden-groups.ts';
import { groupOf } from '../group/group.ts';
import { ownerReferences } from '../group/owners.ts';
import { type ShardPlan, plan } from './plan.ts';
import { ALL_PERMISSIONS } from '../../validation/permissions.ts';
import { type Prepared, preparing } from '../group/prepare.ts';
import { stateIsTemporary } from './state-volume.ts';
import { first, source } from '../testing/sources.ts';
import { variablePrefix } from '../group/variables.ts';

const find = (objects: readonly KubernetesObject[], kind: string, name?: string): KubernetesObject => {
  const found = objects.find((one) => one.kind === kind && (name === undefined || one.metadata.name === name));
  if (found === undefined) throw new Error(`no ${kind}`);
  return found;
};
const fileOf = (objects: readonly KubernetesObject[]): string =>
  String(valueAt(find(objects, 'ConfigMap'), ['data', 'config.yaml']));
const templateOf = (objects: readonly KubernetesObject[]): unknown =>
  valueAt(find(objects, 'Deployment'), ['spec', 'template']);

/** What the container finds in its environment, and what a source alone would have found in its own. */
const madeUp = (name: string): string =>
  name.endsWith('URL') ? 'https://a.example.com' : `value-of-${name.replace(/^.*?__/, '')}`;
const environmentOf = (file: string, { plans }: GoldenGroup): Environment => ({
  ...Object.fromEntries(
    interpolateAll([file], {})
      .found.flatMap(({ unset }) => unset)
      .map((name) => [name, madeUp(name)]),
  ),
  ...Object.fromEntries(
    plans
      .flatMap(({ members }) => members.flatMap(({ env }) => env))
      .map(({ name, value }) => [name, value ?? madeUp(name)]),
  ),
});
const ownEnvironment = ({ spec }: ApiScrapeSource): Environment => ({
  ...Object.fromEntries(
    interpolateAll(spec.source, {})
      .found.flatMap(({ unset }) => unset)
      .map((name) => [name, madeUp(name)]),
  ),
  ...Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value ?? madeUp(name)])),
});

describe.each(goldenGroups())('$name', (golden) => {
  const { objects, sources, context, plans } = golden;

  test('becomes the objects of its golden file', async () => {
    const text = objects.map((object) => `---\n${stringify(object, { lineWidth: 0, version: '1.1' })}`).join('');
    await expect(text).toMatchFileSnapshot(join(TESTDATA, 'goldens', `${golden.name}.yaml`));
  });

  test('becomes a file from which the scraper reads what the resources say', () => {
    const file = fileOf(objects);
    const loaded = loadScraperConfig(file, environmentOf(file, golden));
    const running = sources.filter(({ metadata }) => !golden.group.refusals.has(metadata.name));
    expect(loaded.sources).toEqual(
      running.map((one) => Source.parse(interpolateAll(one.spec.source, ownEnvironment(one)).value)),
    );
    expect(file).not.toMatch(/value-of/);
  });

  test('becomes the same bytes each time, whatever the order of the sources', () => {
    const turned = goldenGroup(golden.name, sources.toReversed());
    const again = build(plan(turned.group, { ...context, owners: turned.context.owners }), context);
    expect(JSON.stringify(again.map(({ object }) => object))).toBe(JSON.stringify(objects));
  });

  test('becomes objects of the group, owned by every source and controlled by none, but for what is to stay', () => {
    expect(JSON.stringify(objects).replaceAll(/"config.yaml":"[^"]*"/g, '')).not.toMatch(
      /null|\[\]|kubernetes.io\/instance|argocd/,
    );
    for (const { kind, metadata } of objects) {
      expect(metadata.namespace).toBe('tools');
      expect(metadata.labels).toMatchObject({ 'mcpadapter.io/scrape-group': context.name });
      if (kind === 'PersistentVolumeClaim') {
        expect(metadata.ownerReferences).toBeUndefined();
        continue;
      }
      const owners = new Set(metadata.ownerReferences?.map(({ uid }) => uid));
      expect(owners).toEqual(new Set(sources.map((one) => one.metadata.uid)));
      expect(JSON.stringify(metadata.ownerReferences)).not.toContain('controller');
    }
    expect(plans).toHaveLength(1);
  });
});

describe('pods', () => {
  const built = (...sources: ApiScrapeSource[]) => goldenGroup('x', sources).objects;
  const base = first('a');

  test.each<[string, readonly ApiScrapeSource[]]>([
    ['a source joins', [base, source('b')]],
    ['a source changes', [first('a', { source: { endpoint: '/other', frequency: '1h' } })]],
    ['a source is refused', [base, source('b', { source: { baseUrl: 'x' } })]],
    ['a source says again what another one said', [base, first('b', {}, 5)]],
    ['the number of pods changes', [first('a', { replicas: 0 })]],
  ])('stay when %s', (_, sources) => {
    expect(templateOf(built(...sources))).toEqual(templateOf(built(base)));
  });

  test.each<[string, readonly ApiScrapeSource[]]>([
    ['a setting changes', [first('a', { scraper: { logLevel: 'info' } })]],
    ['a source brings a variable', [base, source('b', { env: [{ name: 'A', value: 'x' }] })]],
    [
      'a restart is asked for',
      [{ ...base, metadata: { ...base.metadata, annotations: { 'mcpadapter.io/restartedAt': 'now' } } }],
    ],
    ['the overlay changes', [first('a', { podOverlay: { spec: { nodeName: 'x' } } })]],
  ])('are made anew when %s', (_, sources) => {
    expect(templateOf(built(...sources))).not.toEqual(templateOf(built(base)));
  });

  test('answer who knows the uid of the oldest source that runs, at a port that the scraper does not use', () => {
    const variables = (...sources: ApiScrapeSource[]): Record<string, unknown> => {
      const env = valueAt(templateOf(built(...sources)), ['spec', 'containers', 0, 'env']);
      const all = env as readonly { readonly name: string; readonly value: string }[];
      return Object.fromEntries(all.map(({ name, value }) => [name, value]));
    };
    const admin = { SCRAPER_ADMIN_PORT: '8933', SCRAPER_ADMIN_KEY: 'uid-a' };
    expect(variables(source('b'), base)).toMatchObject(admin);
    const refused = first('older', { source: { baseUrl: 'x' } }, -5);
    expect(variables(refused, base)).toMatchObject(admin);
    expect(variables(first('a', { scraper: { servicePort: 8933 } }))).toMatchObject({ SCRAPER_ADMIN_PORT: '8934' });
    const { uid: _, ...metadata } = base.metadata;
    expect(variables({ ...base, metadata })).not.toHaveProperty('SCRAPER_ADMIN_PORT');
  });

  test('never hold a variable of a source that does not run', () => {
    const objects = built(
      base,
      source('b', { replicas: 0 }),
      source('c', { replicas: 1, env: [{ name: 'A', value: 'x' }] }, 9),
    );
    expect(JSON.stringify(templateOf(objects))).not.toContain(variablePrefix('c'));
  });
});

describe('the state', () => {
  const claim = { claim: { size: '1Gi' } };
  const valkey = { fingerprintStore: { backend: 'valkey', valkey: { host: 'valkey' } } } as const;
  const inTmp = { fingerprintStore: { sqlite: { path: '/tmp/state.db' } } };
  const overlaid = { spec: { volumes: [{ name: 'state', persistentVolumeClaim: { claimName: 'mine' } }] } };

  test.each<[string, Partial<ApiScrapeSource['spec']>, string | undefined, boolean]>([
    ['is in the pod', {}, undefined, true],
    ['is in a claim', { storage: claim }, 'scraper-default-state', false],
    ['is in a claim of somebody else', { podOverlay: overlaid }, 'mine', false],
    ['is in a store, and needs no claim', { storage: claim, scraper: valkey }, undefined, false],
    ['is in a folder that has no volume', { storage: claim, scraper: inTmp }, 'scraper-default-state', true],
  ])('%s', (_, changes, claimName, temporary) => {
    const { objects, plans } = goldenGroup('x', [first('a', { ...changes, source: {} })]);
    const volumes = valueAt(templateOf(objects), ['spec', 'volumes']) as { name: string }[];
    expect(
      valueAt(
        volumes.find(({ name }) => name === 'state'),
        ['persistentVolumeClaim', 'claimName'],
      ),
    ).toBe(claimName);
    expect(objects.filter(({ kind }) => kind === 'PersistentVolumeClaim').map(({ metadata }) => metadata.name)).toEqual(
      claimName === 'scraper-default-state' ? [claimName] : [],
    );
    expect(plans.map(stateIsTemporary)).toEqual([temporary]);
  });
});

describe('a group that is too large for one ConfigMap', () => {
  const SIZE = 1000;
  const known = new Map<ApiScrapeSource, Prepared>();
  const remembering = (one: ApiScrapeSource): Prepared => {
    const prepared = known.get(one) ?? preparing(ALL_PERMISSIONS)(one);
    known.set(one, prepared);
    return prepared;
  };
  const made = new Map<string, ApiScrapeSource>();
  const many = (count: number): ApiScrapeSource[] => [
    first('first', { replicas: 1 }),
    ...Array.from({ length: count - 1 }, (_, index) =>
      once(`source-${String(index).padStart(4, '0')}`, {
        env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: `secret-${index % 50}`, key: 'token' } } }],
        source: { auth: { type: 'apikey', keyName: 'x-key', keyValue: '${TOKEN}' } },
      }),
    ),
  ];
  const once = (...[name, changes]: Parameters<typeof source>): ApiScrapeSource => {
    const one = made.get(name) ?? source(name, changes);
    made.set(name, one);
    return one;
  };
  const built = (sources: readonly ApiScrapeSource[], shards = 0) => {
    const group = groupOf(sources, { otlpEndpoint: undefined, running: () => undefined, prepare: remembering });
    return plan(group, { namespace: 'tools', name: 'large', owners: ownerReferences(sources), shards });
  };
  const places = (plans: readonly ShardPlan[]) =>
    new Map(plans.flatMap(({ shard, members }) => members.map(({ resource }) => [resource, shard] as const)));

  let golden: ReturnType<typeof goldenGroup>;
  let took: number;
  beforeAll(() => {
    const startedAt = performance.now();
    golden = goldenGroup('large', many(SIZE), [], remembering);
    took = performance.now() - startedAt;
  });

  test('has several, each with some of 1,000 sources, and all together have them once', () => {
    const { plans, objects } = golden;
    expect(plans.length).toBeGreaterThan(1);
    expect(places(plans).size).toBe(SIZE);
    expect(plans.flatMap(({ owners }) => owners)).toHaveLength(SIZE);
    for (const { file } of plans) {
      expect(Buffer.byteLength(file)).toBeLessThan(1024 * 1024);
      expect(loadScraperConfig(file, environmentOf(file, golden)).sources.length).toBeGreaterThan(100);
    }
    for (const object of objects) expect(Buffer.byteLength(JSON.stringify(object))).toBeLessThan(1.2 * 1024 * 1024);
    expect(new Set(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).size).toBe(objects.length);
    expect(objects.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.name)).toEqual(
      plans.map((_, index) => (index === 0 ? 'scraper-default' : `scraper${index + 1}-default`)),
    );
    expect(took).toBeLessThan(10_000);
  }, 60_000);

  test('O5: brings the variables of the settings to every shard, and nothing else of their source', () => {
    const secret = (name: string) => ({ name, valueFrom: { secretKeyRef: { name: 'store', key: name } } });
    const fromSecret = (name: string, prefix: string) => ({ prefix, secretRef: { name } });
    const valkey = {
      host: 'valkey.state',
      port: '${VALKEY_PORT}' as unknown as number,
      password: '${VALKEY_PASSWORD}',
    };
    const settings = first('settings', {
      scraper: {
        fingerprintStore: { backend: 'valkey', valkey },
        adminSecretEnv: 'ADMIN',
        logLevel: '${LOG_LEVEL:-info}',
      },
      env: [
        secret('VALKEY_WORD'),
        { name: 'VALKEY_PASSWORD', value: 'x$(VALKEY_WORD)' },
        secret('ADMIN'),
        secret('LOG_LEVEL'),
        secret('TOKEN'),
      ],
      envFrom: [fromSecret('ports', 'VALKEY_'), fromSecret('others', 'OTHER_')],
      source: { auth: { type: 'oauth', token: '${TOKEN}' } },
    });
    const { plans, objects } = goldenGroup('large', [settings, ...many(SIZE).slice(1)], [], remembering);
    expect(plans.length).toBeGreaterThan(1);
    const home = plans.findIndex(({ members }) => members.some(({ resource }) => resource === 'settings'));
    for (const [index, deployment] of objects.filter(({ kind }) => kind === 'Deployment').entries()) {
      const [container] = valueAt(deployment, ['spec', 'template', 'spec', 'containers']) as {
        env: { name: string }[];
        envFrom: { prefix: string }[];
      }[];
      const own = [...(container?.env ?? [])].filter(({ name }) => name.startsWith('SETTINGS__'));
      const names = ['VALKEY_WORD', 'VALKEY_PASSWORD', 'ADMIN', 'LOG_LEVEL', ...(index === home ? ['TOKEN'] : [])];
      expect(own.map(({ name }) => name.replace('SETTINGS__', ''))).toEqual(names);
      const prefixes = index === home ? ['SETTINGS__VALKEY_', 'SETTINGS__OTHER_'] : ['SETTINGS__VALKEY_'];
      expect(container?.envFrom.map(({ prefix }) => prefix)).toEqual(prefixes);
      const volumes = JSON.stringify(valueAt(deployment, ['spec', 'template', 'spec', 'volumes']));
      expect(volumes).toContain('"secretName":"store"');
      expect(volumes.includes('"secretName":"others"')).toBe(index === home);
    }
  }, 60_000);

  test('shares the sources of a shard among its own pods only, whatever else is in their store', () => {
    const shards = golden.objects
      .filter(({ kind }) => kind === 'Deployment')
      .map((object) => valueAt(object, ['spec', 'template', 'spec', 'containers', 0, 'args']))
      .map((args) => (Array.isArray(args) ? args[args.indexOf('--shard') + 1] : undefined));
    expect(shards).toEqual(shards.map((_, index) => `tools/scraper${index === 0 ? '' : index + 1}-default`));
    expect(shards.length).toBeGreaterThan(1);
  });

  test('moves no source when one joins or leaves', () => {
    const plans = built(many(SIZE));
    expect(plans.length).toBeGreaterThan(1);
    const before = places(plans);
    const after = places(built([...many(SIZE), source('new')], plans.length));
    expect([...before].filter(([name, shard]) => after.get(name) !== shard)).toEqual([]);
    const fewer = places(
      built(
        many(SIZE).filter(({ metadata }) => metadata.name !== 'source-0007'),
        plans.length,
      ),
    );
    expect([...fewer].filter(([name, shard]) => before.get(name) !== shard)).toEqual([]);
  }, 60_000);

  test('moves only what a new shard takes', () => {
    const plans = built(many(2000));
    const next = built(many(2000), plans.length + 1);
    expect(next).toHaveLength(plans.length + 1);
    const before = places(plans);
    const moved = [...places(next)].filter(([name, shard]) => before.get(name) !== shard);
    expect(moved.every(([, shard]) => shard === next.length)).toBe(true);
    expect(moved.length).toBeLessThan((1.3 * 2000) / next.length);
  }, 60_000);

  test('stays spread while it shrinks a little, and comes together when it is small', () => {
    const { length } = built(many(2000));
    expect(built(many(1500), length)).toHaveLength(length);
    expect(built(many(100), length)).toHaveLength(1);
  });
});
