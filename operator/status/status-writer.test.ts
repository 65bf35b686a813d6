import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { DesiredCondition } from './conditions.ts';
import type { KubernetesApi, KubernetesObject } from '../kubernetes/kubernetes.ts';
import { API_SCRAPE_SOURCES } from '../kubernetes/resources.ts';
import { StatusWriter } from './status-writer.ts';

const READY: DesiredCondition = { type: 'Ready', status: 'True', reason: 'Ready', message: 'It runs' };

test('conditions are not kept beside those of the cache', async () => {
  let version = 1;
  const answers: WeakRef<object>[] = [];
  const api: Partial<KubernetesApi> = {
    async apply(object) {
      const answer = structuredClone(object);
      answers.push(new WeakRef((answer['status'] as { conditions: object }).conditions));
      return { ...answer, metadata: { ...answer.metadata, resourceVersion: String(++version) } };
    },
  };
  const writer = new StatusWriter({ api: api as KubernetesApi, resource: API_SCRAPE_SOURCES, fieldManager: 'test' });
  const write = (object: KubernetesObject) =>
    writer.write(object, { conditions: [READY] }, new AbortController().signal);
  const { apiVersion, kind } = API_SCRAPE_SOURCES;
  const behind = { apiVersion, kind, metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1' } };
  expect((await write(behind)).written).toBe(true);
  await collectGarbage();
  // Until the cache has seen it, its times are known from here only.
  const conditions = structuredClone(answers[0]?.deref());
  expect(conditions).toEqual([expect.objectContaining(READY)]);
  expect((await write(behind)).written).toBe(false);

  const shown = { ...behind, metadata: { ...behind.metadata, resourceVersion: '2' }, status: { conditions } };
  expect((await write(shown)).written).toBe(false);
  await collectGarbage();
  expect(answers.map((answer) => answer.deref())).toEqual([undefined]);
  expect(writer.size).toBe(1);
});

test('what others wrote is put back though the clock of the machine was set back meanwhile', async () => {
  let version = 1;
  const api: Partial<KubernetesApi> = {
    async apply(object) {
      return { ...object, metadata: { ...object.metadata, resourceVersion: String(++version) } };
    },
  };
  const clock = { now: new Date('2026-01-01T10:00:00Z') };
  const { apiVersion, kind } = API_SCRAPE_SOURCES;
  const writer = new StatusWriter({
    api: api as KubernetesApi,
    resource: API_SCRAPE_SOURCES,
    fieldManager: 'test',
    now: () => clock.now,
  });
  const write = (status?: object) => {
    const metadata = { name: 'a', namespace: 'n', uid: 'u', resourceVersion: String(++version) };
    return writer.write({ apiVersion, kind, metadata, status }, { conditions: [READY] }, new AbortController().signal);
  };
  expect(await write()).toMatchObject({ written: true });
  expect(await write({ conditions: [] })).toMatchObject({ written: true });
  clock.now = new Date('2026-01-01T09:00:00Z');
  const again = await write({ conditions: [] });
  expect(again).toMatchObject({ written: true });
  expect(again.retryAfterMs).toBeUndefined();
});

async function collectGarbage(): Promise<void> {
  // What a WeakRef gave stays until the job ends.
  await delay(0);
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
