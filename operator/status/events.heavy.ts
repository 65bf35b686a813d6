import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { EventRecorder, type NewEvent } from './events.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { CONFIG_MAPS, EVENTS } from '../kubernetes/resources.ts';
import { recordedApi, type RealApi, startRealApi } from '../kubernetes/testing/real-api.ts';

const FAILED: NewEvent = { type: 'Warning', reason: 'NameConflict', action: 'Apply', message: 'Service demo exists' };

let real: RealApi;
let namespace: string;
let object: KubernetesObject;

beforeAll(async () => {
  real = await startRealApi();
}, 20 * 60_000);
afterAll(async () => {
  await real?.[Symbol.asyncDispose]();
}, 60_000);
beforeEach(async () => {
  namespace = await real.namespace();
  object = await real.owner(namespace, 'demo');
});

function recorder() {
  const { api, requests } = recordedApi(real.api);
  const clock = { now: Date.now() };
  const errors: unknown[] = [];
  const events = new EventRecorder({
    api,
    instance: 'mcp-operator-0',
    suffix: () => randomBytes(8).toString('hex'),
    now: () => new Date(clock.now),
    onError: (error) => errors.push(error),
  });
  return { events, clock, requests, errors };
}

const written = async (): Promise<readonly KubernetesObject[]> => (await real.api.list(EVENTS, { namespace })).items;

it('shows what happened in kubectl describe and kubectl events', async () => {
  const { events, errors } = recorder();
  events.record(object, FAILED);
  await events.flush();
  expect(errors).toEqual([]);
  expect(await written()).toMatchObject([
    {
      type: 'Warning',
      reason: 'NameConflict',
      note: 'Service demo exists',
      reportingController: 'mcpadapter.io/operator',
      reportingInstance: 'mcp-operator-0',
      regarding: { kind: 'ConfigMap', name: 'demo', namespace, uid: object.metadata.uid },
    },
  ]);
  expect(await real.server.kubectl('-n', namespace, 'describe', 'configmap', 'demo')).toContain('NameConflict');
  expect(await real.server.kubectl('-n', namespace, 'events')).toContain('Service demo exists');
});

it('counts repetitions on one event, written down every five minutes', async () => {
  const { events, clock, requests, errors } = recorder();
  for (let minute = 0; minute < 12; minute++) {
    events.record(object, FAILED);
    await events.flush();
    clock.now += 60_000;
  }
  expect(errors).toEqual([]);
  const all = await written();
  expect(all).toHaveLength(1);
  expect(requests).toHaveLength(3);
  expect(all[0]?.['series']).toMatchObject({ count: 11 });
  expect(events.size).toBe(1);
});

it('writes another event for another message, reason or object', async () => {
  const { events } = recorder();
  events.record(object, FAILED);
  events.record(object, { ...FAILED, message: 'ConfigMap demo exists' });
  events.record(object, { ...FAILED, reason: 'Other' });
  events.record(await real.owner(namespace, 'another'), FAILED);
  await events.flush();
  expect(await written()).toHaveLength(4);
});

it('begins a new event when the old one was cleaned up', async () => {
  const { events, clock, errors } = recorder();
  events.record(object, FAILED);
  await events.flush();
  await real.server.kubectl('-n', namespace, 'delete', 'events.events.k8s.io', '--all');
  clock.now += 6 * 60_000;
  events.record(object, FAILED);
  await events.flush();
  expect(await written()).toHaveLength(0);
  events.record(object, FAILED);
  await events.flush();
  expect(await written()).toHaveLength(1);
  expect(errors).toEqual([]);
});

it('cuts long messages between characters, and takes the longest names', async () => {
  const { events, errors } = recorder();
  const long = await real.owner(namespace, `${'a'.repeat(211)}.${'b'.repeat(41)}`);
  events.record(long, { ...FAILED, message: 'ü'.repeat(2_000) });
  await events.flush();
  expect(errors).toEqual([]);
  const [event] = await written();
  expect(Buffer.byteLength(String(event?.['note']))).toBeLessThanOrEqual(1_024);
  expect(event?.['note']).toMatch(/^ü{510}…$/);
});

it('never fails: not when the namespace is gone, not when the API is away', async () => {
  const { events, errors } = recorder();
  const gone = { ...object, metadata: { ...object.metadata, namespace: 'nowhere' } };
  events.record(gone, FAILED);
  await events.flush();
  expect(events.size).toBe(0);
  const away = new EventRecorder({
    api: recordedApi(real.api, () => Promise.reject(new Error('connect ECONNREFUSED'))).api,
    instance: 'x',
    suffix: () => 'x',
    onError: (error) => errors.push(error),
  });
  away.record(object, FAILED);
  await away.flush();
  expect(errors).toHaveLength(1);
});

it('stops at 25 different messages for one object, and keeps a bounded number in mind', async () => {
  const { events, requests } = recorder();
  for (let number = 0; number < 40; number++) events.record(object, { ...FAILED, message: `port ${number}` });
  await events.flush();
  expect(requests).toHaveLength(25);
  const { apiVersion, kind } = CONFIG_MAPS;
  for (let number = 0; number < 40; number++) {
    const other = { apiVersion, kind, metadata: { name: `other-${number}`, namespace, uid: `uid-${number}` } };
    events.record(other, FAILED);
  }
  await events.flush();
  expect(events.size).toBe(65);
});
