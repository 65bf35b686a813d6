import { DEFAULT_PERMISSIONS } from '../validation/permissions.ts';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { valueAt } from '../../lib/json/tree.ts';
import type { ApiScrapeSource } from '../../crds/v1alpha1/api-scrape-source.ts';
import { createCaches } from '../caches.ts';
import type { Controller } from '../controllers/controller.ts';
import { EventRecorder } from '../status/events.ts';
import type { KubernetesApi, KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';
import { namespacesOf } from '../cache/namespaces.ts';
import {
  API_SCRAPE_SOURCES,
  CONFIG_MAPS,
  DEPLOYMENTS,
  DISRUPTION_BUDGETS,
  EVENTS,
  NAMESPACES,
  NETWORK_POLICIES,
  PODS,
  SERVICE_ACCOUNTS,
  SERVICES,
  STORAGE_CLAIMS,
} from '../kubernetes/resources.ts';
import { recordedApi, type RealApi, startRealApi, writesOf } from '../kubernetes/testing/real-api.ts';
import { fileHash } from './build/config-map.ts';
import { WorkerTaskRunner } from '../tasks/worker-task-runner.ts';
import { scrapeGroupController } from './controller.ts';
import { goldenGroups } from './testing/golden-groups.ts';
import { SHARD_LABEL, shardLabels } from './group/names.ts';
import { first, source } from './testing/sources.ts';

const CHILDREN = [CONFIG_MAPS, DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS, NETWORK_POLICIES, DISRUPTION_BUDGETS];
const USER = { fieldManager: 'user' };
const WAIT = { timeout: 20_000, interval: 50 };

let real: RealApi;
let namespace: string;

beforeAll(async () => {
  real = await startRealApi();
  await real.server.kubectl('apply', '--server-side', '-f', join(import.meta.dirname, '../../crds'));
  await real.server.crdsEstablished();
}, 21 * 60_000);
afterAll(async () => {
  await real?.[Symbol.asyncDispose]();
}, 90_000);
beforeEach(async () => {
  namespace = await real.namespace();
});

interface Operator extends AsyncDisposable {
  readonly requests: string[];
  readonly controller: Controller;
}

/** The controller with all that it has in the operator, for one namespace. */
async function operator(): Promise<Operator> {
  const { api, requests } = recordedApi(real.api);
  const onError = (): void => {};
  const namespaces = namespacesOf({ kind: 'list', names: [namespace] }, { api: real.api, onError });
  const caches = createCaches({ api: real.api, namespaces, onError, onWatch: () => {} });
  const events = new EventRecorder({ api, instance: 'test', suffix: () => randomUUID() });
  const log = pino({ level: 'silent' });
  const hooks = { reconciled: () => {}, queueDepth: () => {} };
  const options = {
    image: 'scraper:1',
    podSecurity: 'restricted',
    otlpEndpoint: undefined,
    permissions: DEFAULT_PERMISSIONS,
  } as const;
  const taskRunner = new WorkerTaskRunner();
  const made = scrapeGroupController({ api, caches, events, log, hooks, taskRunner, options, version: 'test' });
  namespaces.start();
  caches.start();
  await caches.synced;
  made.controller.start();
  return {
    requests,
    controller: made.controller,
    async [Symbol.asyncDispose]() {
      await made.controller.stop();
      await made[Symbol.asyncDispose]();
      await taskRunner[Symbol.asyncDispose]();
      await events.flush();
      await caches.stop();
      await namespaces.stop();
    },
  };
}

async function put(
  { metadata: { name, annotations }, ...rest }: ApiScrapeSource,
  api: KubernetesApi = real.api,
): Promise<void> {
  await api.apply({ ...rest, metadata: { name, namespace, annotations } }, API_SCRAPE_SOURCES, USER);
}
const remove = (name: string): Promise<void> => real.api.delete(API_SCRAPE_SOURCES, { name, namespace });
const live = (resource: Resource, name: string): Promise<KubernetesObject | undefined> =>
  real.api.get(resource, { name, namespace });
const file = async (name = 'scraper-default-config'): Promise<string> =>
  String(valueAt(await live(CONFIG_MAPS, name), ['data', 'config.yaml']));
/** Names of the sources that the file of a group holds. */
const running = async (group = 'default'): Promise<string[]> =>
  [...(await file(`scraper-${group}-config`)).matchAll(/^# ApiScrapeSource (.*)$/gm)].map(([, name = '']) => name);
/** `Type=Status/Reason` of each condition. */
async function conditions(name: string): Promise<string[]> {
  const object = await live(API_SCRAPE_SOURCES, name);
  const found = (valueAt(object, ['status', 'conditions']) ?? []) as { type: string; status: string; reason: string }[];
  return found.map(({ type, status, reason }) => `${type}=${status}/${reason}`);
}
const eventually = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, WAIT);

/** Waits until no request has been made for a while. */
async function quiet({ requests }: Operator, ms = 700): Promise<void> {
  let seen = -1;
  await vi.waitFor(
    () => {
      const before = seen;
      seen = writesOf(requests).length;
      if (before !== seen) throw new Error('not quiet');
    },
    { timeout: 120_000, interval: ms },
  );
}

/** Lets the operator look until it has asked the pods again: it does not when it has just done so. */
async function look(it: Operator, asked: () => number): Promise<void> {
  const before = asked();
  await eventually(async () => {
    it.controller.enqueue({ namespace, name: 'default' });
    expect(asked()).toBeGreaterThan(before);
  });
}

/** Plays the Deployment controller and the kubelet: one pod that is ready, whose port is on this machine. */
async function playPods(): Promise<void> {
  const deployment = await live(DEPLOYMENTS, 'scraper-default');
  const template = valueAt(deployment, ['spec', 'template']) as { metadata: object; spec: { containers: object[] } };
  const name = `pod-${randomUUID().slice(0, 8)}`;
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...template.metadata, name, namespace },
    spec: template.spec,
  };
  await real.api.create(pod, PODS);
  const podStatus = { phase: 'Running', podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] };
  await patchStatus('pod', name, podStatus);
  const generation = deployment?.metadata.generation;
  await patchStatus('deployment', 'scraper-default', {
    observedGeneration: generation,
    replicas: 1,
    updatedReplicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
  });
}
const patchStatus = (kind: string, name: string, status: object): Promise<string> =>
  real.server.kubectl(
    'patch',
    kind,
    name,
    '-n',
    namespace,
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status }),
  );

describe('sources of a namespace', () => {
  test('become pods of their group: one joins, changes, moves, goes', async () => {
    await using it = await operator();
    await put(first('a'));
    await eventually(async () => expect(await running()).toEqual(['a']));
    await quiet(it);
    const template = valueAt(await live(DEPLOYMENTS, 'scraper-default'), ['spec', 'template']);
    for (const resource of CHILDREN.slice(1, 5))
      expect(await live(resource, 'scraper-default'), resource.kind).toBeDefined();

    await put(source('b'));
    await eventually(async () => expect(await running()).toEqual(['a', 'b']));
    await put(source('b', { source: { endpoint: '/other' } }));
    await eventually(async () => expect(await file()).toContain('endpoint: /other'));
    await quiet(it);
    const { metadata } = (await live(DEPLOYMENTS, 'scraper-default')) ?? {};
    expect(metadata?.ownerReferences?.map(({ name }) => name).sort()).toEqual(['a', 'b']);
    expect(metadata?.generation).toBe(1);
    expect(valueAt(await live(DEPLOYMENTS, 'scraper-default'), ['spec', 'template'])).toEqual(template);

    await put(first('b', { group: 'other' }));
    await eventually(async () => expect(await running('other')).toEqual(['b']));
    await eventually(async () => expect(await running()).toEqual(['a']));
    const shownGroup = async (): Promise<unknown> => valueAt(await live(API_SCRAPE_SOURCES, 'b'), ['status', 'group']);
    await eventually(async () => expect(await shownGroup()).toBe('other'));

    await put(source('c', { group: 'other' }));
    await eventually(async () => expect(await running('other')).toEqual(['b', 'c']));
    await remove('c');
    await eventually(async () => expect(await running('other')).toEqual(['b']));

    // Moving the last one leaves nothing behind: it still exists, so the garbage collector would not help.
    await put(first('b', { group: 'default' }));
    await eventually(async () => {
      for (const resource of CHILDREN) expect(await live(resource, 'scraper-other')).toBeUndefined();
      expect(await live(CONFIG_MAPS, 'scraper-other-config')).toBeUndefined();
    });
    await eventually(async () => expect(await running()).toEqual(['a', 'b']));
  });

  test('keep their state in a claim, which outlives the group and is taken up again', async () => {
    await using it = await operator();
    const claim = (): Promise<KubernetesObject | undefined> => live(STORAGE_CLAIMS, 'scraper-default-state');
    const kept = first('a', { storage: { claim: { size: '1Gi' } } });
    await put(kept);
    await eventually(async () => expect(await claim()).toBeDefined());
    await quiet(it);
    const before = await claim();
    expect(before?.metadata.ownerReferences).toBeUndefined();
    expect(JSON.stringify(await live(DEPLOYMENTS, 'scraper-default'))).toContain('"claimName":"scraper-default-state"');

    await put(first('a', { group: 'other' }));
    await eventually(async () => expect(await live(DEPLOYMENTS, 'scraper-default')).toBeUndefined());
    await put(kept);
    await eventually(async () => expect(await running()).toEqual(['a']));
    await quiet(it);
    expect((await claim())?.metadata.uid).toBe(before?.metadata.uid);
    expect((await claim())?.metadata.deletionTimestamp).toBeUndefined();
    expect(await conditions('a')).toContain('Accepted=True/Accepted');
  });

  test('let their claim go with them where that is wanted, for as long as it is', async () => {
    await using it = await operator();
    const owners = async (): Promise<unknown[] | undefined> => {
      const { metadata } = (await live(STORAGE_CLAIMS, 'scraper-default-state')) ?? {};
      return metadata && (metadata.ownerReferences ?? []).map(({ kind, name }) => `${kind} ${name}`);
    };
    const storage = { claim: { size: '1Gi' } };
    await put(first('a', { storage: { ...storage, deletionPolicy: 'Delete' } }));
    await eventually(async () => expect(await owners()).toEqual(['ApiScrapeSource a']));
    await put(first('a', { storage }));
    await eventually(async () => expect(await owners()).toEqual([]));
    await quiet(it);
  });

  test('leave a group that was moved out of while the operator was away', async () => {
    {
      await using it = await operator();
      await put(first('a', { group: 'one' }));
      await eventually(async () => expect(await running('one')).toEqual(['a']));
      await quiet(it);
    }
    await put(first('a', { group: 'two' }));
    await using _again = await operator();
    await eventually(async () => expect(await running('two')).toEqual(['a']));
    await eventually(async () => expect(await live(DEPLOYMENTS, 'scraper-one')).toBeUndefined());
  });

  test('leave their objects to the garbage collector when the last one is deleted', async () => {
    await using it = await operator();
    await put(first('a'));
    await eventually(async () => expect(await running()).toEqual(['a']));
    await quiet(it);
    const before = it.requests.length;
    const uid = (await live(API_SCRAPE_SOURCES, 'a'))?.metadata.uid;
    await remove('a');
    await quiet(it, 1500);
    expect(writesOf(it.requests.slice(before))).toEqual([]);
    for (const resource of CHILDREN.slice(1, 5)) {
      expect((await live(resource, 'scraper-default'))?.metadata.ownerReferences?.map((one) => one.uid)).toEqual([uid]);
    }
  });

  test('write nothing when nothing changes, also after a restart of the operator', async () => {
    const versions = async (): Promise<unknown> =>
      Promise.all(
        [...CHILDREN, API_SCRAPE_SOURCES].map(async (resource) =>
          (await real.api.list(resource, { namespace })).items.map(({ metadata }) => [
            metadata.name,
            metadata.resourceVersion,
          ]),
        ),
      );
    {
      await using it = await operator();
      await put(first('a', { replicas: 2, scraper: { fingerprintStore: { backend: 'valkey' } } }));
      await put(
        source('b', {
          env: [{ name: 'T', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
          source: { endpoint: '/${T}' },
        }),
      );
      await eventually(async () => expect(await running()).toEqual(['a', 'b']));
      await quiet(it);
      const before = it.requests.length;
      it.controller.enqueue({ namespace, name: 'default' });
      await quiet(it);
      expect(writesOf(it.requests.slice(before))).toEqual([]);
    }
    const before = await versions();
    await using again = await operator();
    await quiet(again);
    expect(await versions()).toEqual(before);
    // An apply for each object, which changes nothing.
    expect(writesOf(again.requests).length).toBeLessThanOrEqual(6);
  });

  test('go on when one contradicts its group or is edited wrongly, and say which', async () => {
    await using it = await operator();
    await put(first('a', { scraper: { logLevel: 'info' } }));
    await eventually(async () => expect(await running()).toEqual(['a']));
    await quiet(it, 1200); // so that the next one is younger by a second
    await put(source('b'));
    await put(source('c', { scraper: { logLevel: 'error' } }));
    await eventually(async () => expect(await conditions('c')).toContain('Accepted=False/GroupConflict'));
    await eventually(async () => expect(await running()).toEqual(['a', 'b']));
    expect(await conditions('c')).toContain('Stalled=True/GroupConflict');
    expect(await conditions('a')).toContain('Accepted=True/Accepted');

    // The API server takes it: a rule of several fields.
    await put(source('b', { source: { scrape: { type: 'range' } } }));
    await eventually(async () => expect(await conditions('b')).toContain('Accepted=False/InvalidSpec'));
    await quiet(it);
    expect(await running()).toEqual(['a', 'b']);
    expect(await file()).not.toContain('type: range');
    const message = JSON.stringify(valueAt(await live(API_SCRAPE_SOURCES, 'b'), ['status', 'conditions']));
    expect(message).toContain('spec.source.scrape.rangeKeys is required');

    await put(source('c', { scraper: { logLevel: 'info' } }));
    await eventually(async () => expect(await running()).toEqual(['a', 'b', 'c']));
    expect(await conditions('a')).toContain('Accepted=True/Accepted');
  });

  test.each(['5000000000', 'none'])('go on whatever somebody writes as a shard: %s', async (shard) => {
    await using it = await operator();
    const { apiVersion, kind } = CONFIG_MAPS;
    const forged = { name: 'forged', namespace, labels: { ...shardLabels('default', 1), [SHARD_LABEL]: shard } };
    await real.api.create({ apiVersion, kind, metadata: forged }, CONFIG_MAPS);
    await put(first('a'));
    await put(source('b'));
    await eventually(async () => expect(await running()).toEqual(['a', 'b']));
    await quiet(it);
    // What runs has to be looked up, because this one does not say what it was.
    await put(source('b', { source: { scrape: { type: 'range' } } }));
    await eventually(async () => expect(await conditions('b')).toContain('Accepted=False/InvalidSpec'));
    await quiet(it);
    expect(await running()).toEqual(['a', 'b']);
  });

  test('stay as they are while one of them is paused, and go on afterwards', async () => {
    await using it = await operator();
    await put(first('a'));
    await eventually(async () => expect(await running()).toEqual(['a']));
    await put(first('a', { paused: true }));
    await put(source('b'));
    await eventually(async () => expect(await conditions('b')).toContain('Paused=True/Paused'));
    await real.api.delete(SERVICES, { name: 'scraper-default', namespace });
    await quiet(it);
    expect(await running()).toEqual(['a']);
    expect(await live(SERVICES, 'scraper-default')).toBeUndefined();
    await put(first('a', { paused: false }));
    await eventually(async () => expect(await running()).toEqual(['a', 'b']));
    await eventually(async () => expect(await live(SERVICES, 'scraper-default')).toBeDefined());
    await eventually(async () => expect((await conditions('b')).join()).not.toContain('Paused'));
  });

  test('do not touch what someone else made', async () => {
    const theirs = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'scraper-default', namespace },
      spec: { ports: [{ port: 1 }] },
    };
    await real.api.create(theirs, SERVICES);
    await using _it = await operator();
    await put(first('a'));
    await eventually(async () => expect(await conditions('a')).toContain('Accepted=False/NameConflict'));
    expect((await live(SERVICES, 'scraper-default'))?.metadata.ownerReferences).toBeUndefined();
  });

  test('tell what their pods say of them', async () => {
    let health: object = {};
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.end(JSON.stringify(health));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await using it = await operator();
      await put(first('a', { scraper: { servicePort: port } }));
      await eventually(async () => expect(await running()).toEqual(['a']));
      await eventually(async () => expect(await conditions('a')).toContain('Ready=Unknown/Progressing'));
      const scraped = (last_scrape: string, last_error: string | null = null) => ({
        config_hash: hash,
        references: { changed: false },
        sources: [
          { name: 'a', last_scrape, last_success: '2026-01-01T00:00:00.5Z', watermark: null, records: 7, last_error },
        ],
      });
      const hash = fileHash(await file());
      health = scraped('2026-01-01T00:00:00.9Z');
      await playPods();
      await eventually(async () =>
        expect(await conditions('a')).toEqual(
          expect.arrayContaining(['Ready=True/Ready', 'SourcesHealthy=True/Scraped', 'Progressing=False/Complete']),
        ),
      );
      expect((await live(API_SCRAPE_SOURCES, 'a'))?.['status']).toMatchObject({
        observedGeneration: 1,
        group: 'default',
        lastScrapeTime: '2026-01-01T00:00:00Z',
        lastSuccessTime: '2026-01-01T00:00:00Z',
        records: 7,
      });

      // A later scrape within a minute is no news; an error is.
      await quiet(it);
      const before = it.requests.length;
      health = scraped('2026-01-01T00:00:30Z');
      await look(it, () => asked);
      await quiet(it);
      expect(writesOf(it.requests.slice(before))).toEqual([]);
      health = scraped('2026-01-01T00:00:40Z', 'HTTP 500');
      await look(it, () => asked);
      await eventually(async () => expect(await conditions('a')).toContain('SourcesHealthy=False/ScrapeFailed'));
      expect((await live(API_SCRAPE_SOURCES, 'a'))?.['status']).toMatchObject({
        lastError: 'HTTP 500',
        lastScrapeTime: '2026-01-01T00:00:40Z',
      });
      expect(await conditions('a')).toContain('Ready=True/Ready');

      // An object that the pod refers to has changed: new pods.
      health = { ...scraped('2026-01-01T00:00:50Z'), references: { changed: true } };
      await look(it, () => asked);
      await eventually(async () =>
        expect(
          valueAt(await live(DEPLOYMENTS, 'scraper-default'), [
            'spec',
            'template',
            'metadata',
            'annotations',
            'mcpadapter.io/references-revision',
          ]),
        ).toBe('1'),
      );

      // A pod that runs with an older file has not read a source that has just come.
      await put(source('b'));
      await eventually(async () => expect(await running()).toEqual(['a', 'b']));
      await eventually(async () => expect((await conditions('b')).join()).toMatch(/Ready=Unknown/));
    } finally {
      server.close();
    }
  });

  test('O10: O19: leave nothing to write for an operator that is killed, and for the one after it', async () => {
    let asked = 0;
    let hour = 0;
    const hash = { value: '' };
    const times = () => ({ last_scrape: `2026-01-01T0${hour}:00:00Z`, last_success: '2026-01-01T00:00:00Z' });
    const server = createServer((_, response) => {
      asked++;
      const sources = [
        { name: 'a', ...times(), watermark: times().last_scrape, records: hour, last_error: null },
        { name: 'b', ...times(), watermark: null, records: 0, last_error: `request ${hour} failed` },
      ];
      response.end(JSON.stringify({ config_hash: hash.value, references: { changed: false }, sources }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const state = async (): Promise<unknown> =>
      Promise.all(
        [...CHILDREN, API_SCRAPE_SOURCES, EVENTS].map(async (resource) =>
          (await real.api.list(resource, { namespace })).items.map(({ metadata }) => [
            metadata.name,
            metadata.resourceVersion,
          ]),
        ),
      );
    const looks = async (it: Operator): Promise<void> => {
      await look(it, () => asked);
      await quiet(it);
    };
    try {
      const killed = await operator();
      await put(first('a', { scraper: { servicePort: port } }));
      await put(source('b'));
      await eventually(async () => expect(await running()).toEqual(['a', 'b']));
      hash.value = fileHash(await file());
      await playPods();
      for (const [name, expected] of [
        ['a', 'Ready=True/Ready'],
        ['a', 'SourcesHealthy=True/Scraped'],
        ['b', 'SourcesHealthy=False/ScrapeFailed'],
      ] as const)
        await eventually(async () => expect(await conditions(name)).toContain(expected));
      await quiet(killed);
      const before = await state();
      hour = 1;
      await quiet(killed, 2_000);
      await looks(killed);
      expect(await state()).toEqual(before);
      await killed[Symbol.asyncDispose]();

      hour = 5;
      await using again = await operator();
      await looks(again);
      await looks(again);
      expect(await state()).toEqual(before);
      expect(writesOf(again.requests).filter((one) => /ApiScrapeSource|Event/.test(one))).toEqual([]);
    } finally {
      server.close();
    }
  });
});

describe.each(goldenGroups())('the golden objects of $name', ({ objects, context }) => {
  test('are accepted by the API server without a warning, where only restricted pods may run', async () => {
    const restricted = {
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/warn': 'restricted',
    };
    const labels = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: context.namespace, labels: restricted } };
    await real.api.apply(labels, NAMESPACES, USER);
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    await real.server.kubectlWith(list, 'apply', '--server-side', '--warnings-as-errors', '-f', '-');
    const diff = await real.server.kubectlWith(list, 'diff', '--server-side', '-f', '-');
    expect(diff).toBe('');
    const deployment = objects.find(({ kind }) => kind === 'Deployment');
    const template = valueAt(deployment, ['spec', 'template']) as { metadata: object };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      ...template,
      metadata: { ...template.metadata, name: 'x', namespace: context.namespace },
    };
    const made = await real.server.kubectlWith(
      JSON.stringify(pod),
      'create',
      '--dry-run=server',
      '--warnings-as-errors',
      '-f',
      '-',
    );
    expect(made).toContain('created (server dry run)');
  });
});

describe('thousands of sources', () => {
  test('in 50 groups converge with few writes', async () => {
    const all = Array.from({ length: 2000 }, (_, index) => {
      const group = `g${index % 50}`;
      const name = `s-${String(index).padStart(4, '0')}`;
      return index < 50 ? first(name, { group }) : source(name, { group });
    });
    const makers = all.values();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (const one of makers) await put(one);
      }),
    );
    await using it = await operator();
    await vi.waitFor(
      async () => {
        const { items } = await real.api.list(API_SCRAPE_SOURCES, { namespace });
        if (!items.every((one) => one['status'] !== undefined)) throw new Error('not all have a status');
      },
      { timeout: 240_000, interval: 2000 },
    );
    await quiet(it, 3000);
    const writes = writesOf(it.requests);
    const statuses = writes.filter((one) => one.startsWith('apply ApiScrapeSource/')).length;

    expect((await running('g7')).length).toBe(40);
    expect(statuses).toBeLessThanOrEqual(2100);
    expect(writes.length - statuses).toBeLessThanOrEqual(50 * 5 * 2);

    const before = it.requests.length;
    await put(source('s-0777', { group: 'g27', source: { endpoint: '/changed' } }));
    await eventually(async () => expect(await file('scraper-g27-config')).toContain('/changed'));
    await quiet(it, 1500);
    const after = writesOf(it.requests.slice(before));

    expect(after.length).toBeLessThanOrEqual(3);
  }, 400_000);
});
