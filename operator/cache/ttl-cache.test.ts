import { expect, it } from 'vitest';
import { ApiError, type KubernetesObject } from '../kubernetes/kubernetes.ts';
import { TtlCache } from './ttl-cache.ts';
import { SERVICES } from '../kubernetes/resources.ts';

const KEY = { namespace: 'team', name: 'files' };
const SERVICE: KubernetesObject = { apiVersion: 'v1', kind: 'Service', metadata: KEY };
const signal = new AbortController().signal;
const denied = new ApiError(
  403,
  'Forbidden',
  'services "files" is forbidden: User "op" cannot get resource "services"',
);

/** An API that answers as told, and a clock. */
function cache() {
  const answer: { now: number; give: KubernetesObject | ApiError | undefined; reads: number } = {
    now: 0,
    give: SERVICE,
    reads: 0,
  };
  const get = (): Promise<KubernetesObject | undefined> => {
    answer.reads += 1;
    return answer.give instanceof Error ? Promise.reject(answer.give) : Promise.resolve(answer.give);
  };
  const made = new TtlCache({ api: { get }, resource: SERVICES, keepMs: 5_000, now: () => answer.now });
  return { answer, read: () => made.get(KEY, signal), unreadable: () => made.unreadable(KEY) };
}

it('asks again only after a while', async () => {
  const { answer, read } = cache();
  expect(await read()).toBe(SERVICE);
  answer.give = undefined;
  answer.now = 4_999;
  expect(await read()).toBe(SERVICE);
  answer.now = 5_000;
  expect(await read()).toBeUndefined();
  expect(answer.reads).toBe(2);
});

it('goes on with what it knew while an API server that has just started denies everything', async () => {
  const { answer, read } = cache();
  await read();
  answer.give = denied;
  for (const now of [5_000, 8_000, 14_000]) {
    answer.now = now;
    expect(await read()).toBe(SERVICE);
  }
  answer.give = SERVICE;
  answer.now = 15_000;
  expect(await read()).toBe(SERVICE);
  // That was all: the next denial counts from its own beginning.
  answer.give = denied;
  answer.now = 25_000;
  expect(await read()).toBe(SERVICE);
});

it('takes what may not be read for missing once that has lasted', async () => {
  const { answer, read } = cache();
  await read();
  answer.give = denied;
  answer.now = 5_000;
  await read();
  answer.now = 15_000;
  expect(await read()).toBeUndefined();
  expect(answer.reads).toBe(3);
  answer.now = 19_999;
  expect(await read()).toBeUndefined();
  expect(answer.reads).toBe(3);
});

it('takes a name that no object can have for missing, and fails with what passes', async () => {
  const { answer, read } = cache();
  answer.give = new ApiError(422, 'Invalid', 'a name');
  expect(await read()).toBeUndefined();
  answer.now = 5_000;
  answer.give = new ApiError(503, 'ServiceUnavailable', 'starting');
  await expect(read()).rejects.toThrow('starting');
});

it('tells what may not be read from what is not there', async () => {
  const { answer, read, unreadable } = cache();
  expect(unreadable()).toBe(false);
  answer.give = undefined;
  await read();
  expect(unreadable()).toBe(false);
  answer.give = denied;
  answer.now = 5_000;
  await read();
  expect(unreadable()).toBe(true);
  answer.give = SERVICE;
  answer.now = 6_000;
  await read();
  expect(unreadable()).toBe(false);
  // What was known still holds.
  answer.give = denied;
  answer.now = 11_000;
  await read();
  expect(unreadable()).toBe(false);
});
