import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { healthWith } from '../testing/observed.ts';
import { toolLock } from '../testing/locks.ts';
import { parseToolLock } from '../health/tool-lock-health.ts';
import { cachedLock } from './cached-lock.ts';
import { lockedNames } from './locked-names.ts';

const digest = (word: string) => `sha256:${word.padEnd(64, '0')}`;
const entry = (word: string) => ({ digest: digest(word), fields: {} });
const document = {
  servers: { files: { tools: { search: entry('a'), read: entry('b') }, prompts: { ask: entry('c') } } },
};

/** An API server with one lock. */
function serving(lock: KubernetesObject | undefined) {
  const asked: string[] = [];
  const get = async (_resource: unknown, { name }: { readonly name: string }) => {
    asked.push(name);
    return lock;
  };
  return { asked, get };
}
/** A pod that tells of these, with their digests only where `name` is undefined. */
function telling(...drift: { kind: string; name?: string; locked?: string }[]) {
  const toolLock = parseToolLock({ servers: { files: { drift, new: [], removed: [], compared_at: 1 } } });
  return [healthWith(['files'], toolLock === undefined ? {} : { toolLock })];
}
const { signal } = new AbortController();

it('reads the lock for what pods do not name, and once for the same', async () => {
  const live = toolLock('approved', { document });
  const lock = cachedLock(live);
  const api = serving(live);
  const health = telling({ kind: 'tools', locked: digest('a') }, { kind: 'prompts', locked: digest('c') });
  for (const _ of [1, 2]) {
    const nameOf = await lockedNames(lock, health, api, signal);
    expect(nameOf('files', 'tools', digest('a'))).toBe('search');
    expect(nameOf('files', 'prompts', digest('c'))).toBe('ask');
    // Not of this server, and not of this kind.
    expect(nameOf('other', 'tools', digest('a'))).toBeUndefined();
    expect(nameOf('files', 'tools', digest('c'))).toBeUndefined();
  }
  expect(api.asked).toEqual(['approved']);
  const more = await lockedNames(lock, telling({ kind: 'tools', locked: digest('b') }), api, signal);
  expect(more('files', 'tools', digest('b'))).toBe('read');
  expect(api.asked).toHaveLength(2);
});

it('does not read it again for what it does not have', async () => {
  const live = toolLock('approved', { document });
  const lock = cachedLock(live);
  const api = serving(live);
  for (const _ of [1, 2]) {
    const nameOf = await lockedNames(lock, telling({ kind: 'tools', locked: digest('f') }), api, signal);
    expect(nameOf('files', 'tools', digest('f'))).toBeUndefined();
  }
  expect(api.asked).toHaveLength(1);
});

it('reads nothing where pods name all, where no lock can be used, and takes one that has gone', async () => {
  const api = serving(undefined);
  const lock = cachedLock(toolLock('approved', { document }));
  const unnamed = telling({ kind: 'tools', locked: digest('a') });
  await lockedNames(lock, telling({ kind: 'tools', name: 'search', locked: digest('a') }), api, signal);
  await lockedNames(cachedLock(toolLock('bad', { document: { mode: 'of' } })), unnamed, api, signal);
  await lockedNames(undefined, unnamed, api, signal);
  expect(api.asked).toEqual([]);
  expect((await lockedNames(lock, unnamed, api, signal))('files', 'tools', digest('a'))).toBeUndefined();
});
