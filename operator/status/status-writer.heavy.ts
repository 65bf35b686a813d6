import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { Condition } from '../../crds/v1alpha1/conditions.ts';
import type { DesiredCondition } from './conditions.ts';
import type { KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../kubernetes/resources.ts';
import { type Status, StatusWriter } from './status-writer.ts';
import { recordedApi, type RealApi, startRealApi } from '../kubernetes/testing/real-api.ts';

const WIDGETS: Resource = { apiVersion: 'test.example.com/v1', kind: 'Widget', plural: 'widgets', namespaced: true };

const conditions = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: { type: 'object', required: ['type'], properties: { type: { type: 'string' } } },
};
const open = { 'x-kubernetes-preserve-unknown-fields': true };
const status = {
  type: 'object',
  ...open,
  properties: { conditions: { ...conditions, items: { ...conditions.items, ...open } } },
};
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.test.example.com' },
  spec: {
    group: 'test.example.com',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', ...open }, status } } },
      },
    ],
  },
};

const forever = new AbortController().signal;
const READY: DesiredCondition = { type: 'Ready', status: 'True', reason: 'Serving', message: 'All pods serve.' };
const ACCEPTED: DesiredCondition = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' };

let real: RealApi;
let name: { readonly name: string; readonly namespace: string };

beforeAll(async () => {
  real = await startRealApi();
  await real.api.create(definition, CUSTOM_RESOURCE_DEFINITIONS);
  const probe = { ...WIDGETS, metadata: { name: 'probe', namespace: await real.namespace() } };
  const { apiVersion, kind, metadata } = probe;
  await vi.waitFor(() => real.api.create({ apiVersion, kind, metadata }, WIDGETS), { timeout: 30_000, interval: 200 });
}, 20 * 60_000);
afterAll(async () => {
  await real?.[Symbol.asyncDispose]();
}, 60_000);
beforeEach(async () => {
  name = { name: 'demo', namespace: await real.namespace() };
  await create();
});

async function create(): Promise<void> {
  const { apiVersion, kind } = WIDGETS;
  await real.api.create({ apiVersion, kind, metadata: name, spec: { size: 1 } }, WIDGETS);
}

async function live(): Promise<KubernetesObject> {
  const object = await real.api.get(WIDGETS, name);
  if (object === undefined) throw new Error('it is gone');
  return object;
}

const statusOf = (object: KubernetesObject) => object['status'] as { readonly conditions: readonly Condition[] };

function writer() {
  const { api, requests } = recordedApi(real.api);
  const clock = { now: new Date('2026-01-01T10:00:00.500Z') };
  const statuses = new StatusWriter({
    api,
    resource: WIDGETS,
    fieldManager: 'mcp-operator-status',
    now: () => clock.now,
    monotonic: () => clock.now.getTime(),
  });
  return {
    statuses,
    clock,
    requests,
    write: (object: KubernetesObject, next: Status) => statuses.write(object, next, forever),
  };
}

it('writes a status once, and again only when it says something else', async () => {
  const { write, requests, clock } = writer();
  const first = await write(await live(), { observedGeneration: 1, url: 'http://demo', conditions: [ACCEPTED, READY] });
  expect(first).toMatchObject({ written: true, changed: [{ type: 'Accepted' }, { type: 'Ready' }] });
  clock.now = new Date('2026-01-01T11:00:00Z');
  const same = await write(await live(), { observedGeneration: 1, url: 'http://demo', conditions: [READY, ACCEPTED] });
  expect(same).toEqual({ written: false, changed: [] });
  expect(requests).toEqual(['apply Widget/demo']);

  const waiting: DesiredCondition = { ...READY, status: 'False', reason: 'Waiting', message: '1 of 2 pods' };
  const second = await write(await live(), { observedGeneration: 1, conditions: [waiting] });
  expect(second.changed).toMatchObject([{ type: 'Ready', reason: 'Waiting' }]);
  expect((await live())['status']).toEqual({
    observedGeneration: 1,
    conditions: [
      {
        type: 'Ready',
        status: 'False',
        reason: 'Waiting',
        message: '1 of 2 pods',
        observedGeneration: 1,
        lastTransitionTime: '2026-01-01T11:00:00Z',
      },
    ],
  });
});

it('writes nothing after a restart of the operator', async () => {
  await writer().write(await live(), { conditions: [READY] });
  const restarted = writer();
  restarted.clock.now = new Date('2027-01-01T00:00:00Z');
  expect(await restarted.write(await live(), { conditions: [READY] })).toEqual({ written: false, changed: [] });
  expect(restarted.requests).toEqual([]);
});

it('keeps the time of a transition that the cache has not seen yet', async () => {
  const { write, clock, requests } = writer();
  const behind = await live();
  await write(behind, { conditions: [READY] });
  clock.now = new Date('2026-01-01T12:00:00Z');
  expect(await write(behind, { conditions: [READY] })).toEqual({ written: false, changed: [] });
  expect(requests).toHaveLength(1);
  const { changed } = await write(behind, { conditions: [{ ...READY, message: 'Still.' }] });
  expect(changed).toEqual([]);
  expect(statusOf(await live()).conditions[0]?.lastTransitionTime).toBe('2026-01-01T10:00:00Z');
});

it('leaves what others put into the status, and does not write because of it', async () => {
  const { write, requests } = writer();
  await write(await live(), { conditions: [READY] });
  const patch = ['--subresource', 'status', '--type', 'merge', '-p', '{"status":{"theirs":1}}'];
  await real.server.kubectl('-n', name.namespace, 'patch', 'widget', 'demo', ...patch);
  await write(await live(), { conditions: [READY] });
  await write(await live(), { conditions: [READY] });
  await write(await live(), { conditions: [READY] });
  expect(requests).toHaveLength(2);
  expect((await live())['status']).toMatchObject({ theirs: 1 });
});

it('repairs an edit of the status', async () => {
  const { write } = writer();
  await write(await live(), { url: 'http://demo', conditions: [READY] });
  const patch = ['--subresource', 'status', '--type', 'merge', '-p', '{"status":{"url":"http://evil"}}'];
  await real.server.kubectl('-n', name.namespace, 'patch', 'widget', 'demo', ...patch);
  expect((await write(await live(), { url: 'http://demo', conditions: [READY] })).written).toBe(true);
  expect((await live())['status']).toMatchObject({ url: 'http://demo' });
});

it('O11: answers somebody who writes another status again and again less and less often', async () => {
  const { write, clock } = writer();
  const wanted: Status = { url: 'http://demo', conditions: [READY] };
  await write(await live(), wanted);
  const results: Awaited<ReturnType<typeof write>>[] = [];
  const rival = { fieldManager: 'mcp-operator-status', subresource: 'status' } as const;
  for (let round = 0; round < 50; round++) {
    const { apiVersion, kind } = WIDGETS;
    const object = { apiVersion, kind, metadata: name, status: { url: `http://rival-${round}` } };
    await real.api.apply(object, WIDGETS, rival);
    clock.now = new Date(clock.now.getTime() + 400);
    results.push(await write(await live(), wanted));
  }
  expect(results.filter(({ written }) => written).length).toBeLessThanOrEqual(6);
  expect(results.filter(({ retryAfterMs = 0 }) => retryAfterMs > 0).length).toBeGreaterThanOrEqual(44);
  // What is to be said anew is said at once.
  expect((await write(await live(), { url: 'http://other', conditions: [READY] })).written).toBe(true);
});

it('never touches spec and metadata, and raises no generation', async () => {
  const before = await live();
  await writer().write(before, { conditions: [READY] });
  const after = await live();
  expect(after['spec']).toEqual(before['spec']);
  expect(after.metadata.generation).toBe(before.metadata.generation);
  expect(after.metadata.labels).toBeUndefined();
});

it('takes it as done when the object is gone, or another one has its name', async () => {
  const { write } = writer();
  const old = await live();
  await real.api.delete(WIDGETS, name);
  expect(await write(old, { conditions: [READY] })).toEqual({ written: false, changed: [] });
  await create();
  expect(await write(old, { conditions: [READY] })).toEqual({ written: false, changed: [] });
  expect((await live())['status']).toBeUndefined();
});

it('writes on top of a change that the cache has not seen, and says which generation it is about', async () => {
  const { write } = writer();
  const behind = await live();
  await real.api.merge({ spec: { size: 2 } }, WIDGETS, name);
  expect((await write(behind, { observedGeneration: 1, conditions: [READY] })).written).toBe(true);
  expect(statusOf(await live())).toMatchObject({ observedGeneration: 1, conditions: [{ observedGeneration: 1 }] });
});

it('forgets what is gone', async () => {
  const { statuses, write } = writer();
  await write(await live(), { conditions: [READY] });
  expect(statuses.size).toBe(1);
  statuses.forget(name);
  expect(statuses.size).toBe(0);
});
