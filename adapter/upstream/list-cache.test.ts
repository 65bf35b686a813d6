import { describe, expect, test } from 'vitest';

import { sessionRecord } from '../sessions/testing/session-record.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { ListCache, listKey } from './list-cache.ts';
import { sampleCaches } from '../testing/sample-caches.ts';

const TTL = 1000;
const record = sessionRecord();
const valid = (): boolean => true;

test.each<[string, Record<string, unknown>, string | undefined]>([
  ['tools/list', {}, 'tools/list'],
  ['resources/list', {}, 'resources/list'],
  ['resources/templates/list', {}, 'resources/templates/list'],
  ['prompts/list', {}, 'prompts/list'],
  ['tools/list', { cursor: 'a' }, 'tools/list\na'],
  ['tools/list', { cursor: '' }, 'tools/list\n'],
  ['tools/list', { _meta: { progressToken: 1 } }, 'tools/list'],
  ['tools/list', { cursor: 'x'.repeat(1024) }, `tools/list\n${'x'.repeat(1024)}`],
  ['tools/list', { cursor: 'x'.repeat(1025) }, undefined],
  ['tools/list', { cursor: 7 }, undefined],
  ['tools/list', { cursor: null }, undefined],
  ['tools/list', { filter: 'x' }, undefined],
  ['tools/call', {}, undefined],
  ['resources/read', { uri: 'x' }, undefined],
  ['roots/list', {}, undefined],
])('%s with %j is kept as %j', (method, params, key) => {
  expect(listKey(method, params)).toBe(key);
});

describe('the cache of lists', () => {
  test('gives a list until its time is over', () => {
    const cache = new ListCache(TTL, sampleCaches());
    cache.set(record, 'tools/list', '{"tools":[]}', 0, valid);
    expect(cache.get(record, 'tools/list', 999)?.text).toBe('{"tools":[]}');
    expect(cache.get(record, 'tools/list', 1000)).toBeUndefined();
    expect(cache.get(record, 'tools/list', 0)).toBeUndefined();
  });

  test('knows lists of this session, server, method and page only', () => {
    const cache = new ListCache(TTL, sampleCaches());
    cache.set(record, 'tools/list', 'a', 0, valid);
    for (const other of [{ sessionId: 'x' }, { serverId: 'x' }]) {
      expect(cache.get({ ...record, ...other }, 'tools/list', 0)).toBeUndefined();
    }
    expect(cache.get(record, 'tools/list\n2', 0)).toBeUndefined();
    expect(cache.get(record, 'prompts/list', 0)).toBeUndefined();
    expect(cache.get(record, 'tools/list', 0)?.text).toBe('a');
  });

  test.each(['generation', 'listsGeneration'] as const)('forgets a list of another %s', (name) => {
    const cache = new ListCache(TTL, sampleCaches());
    cache.set(record, 'tools/list', 'old', 0, valid);
    const later = { ...record, [name]: record[name] + 1 };
    expect(cache.get(later, 'tools/list', 0)).toBeUndefined();
    cache.set(later, 'tools/list', 'new', 0, valid);
    expect(cache.get(later, 'tools/list', 0)?.text).toBe('new');
    // A replica that has read the session before must not see what came after, nor bring the old one back.
    expect(cache.get(record, 'tools/list', 0)).toBeUndefined();
  });

  test('keeps only what is valid, and asks once for equal texts', () => {
    const cache = new ListCache(TTL, sampleCaches());
    expect(cache.set(record, 'tools/list', 'bad', 0, () => false)).toBe(false);
    expect(cache.get(record, 'tools/list', 0)).toBeUndefined();
    expect(cache.set(record, 'tools/list', 'good', 0, valid)).toBe(true);
    const other = sessionRecord({ sessionId: 'other' });
    expect(cache.set(other, 'tools/list', 'good', 0, () => expect.unreachable('asked twice'))).toBe(true);
    expect(cache.get(other, 'tools/list', 0)?.text).toBe('good');
  });

  test('replaces a list', () => {
    const cache = new ListCache(TTL, sampleCaches());
    for (const text of ['a', 'b', 'b', 'a']) cache.set(record, 'tools/list', text, 0, valid);
    expect(cache.get(record, 'tools/list', 500)?.text).toBe('a');
    cache.set(record, 'tools/list', 'c', 900, valid);
    expect(cache.get(record, 'tools/list', 1500)?.text).toBe('c');
  });

  test('keeps equal lists of many sessions, each for its own time', () => {
    const cache = new ListCache(TTL, sampleCaches());
    const sessions = Array.from({ length: 50 }, (_, i) => sessionRecord({ sessionId: String(i) }));
    sessions.forEach((one, i) => cache.set(one, 'tools/list', 'same', i * 10, valid));
    expect(sessions.map((one) => cache.get(one, 'tools/list', 1250)?.text)).toEqual(
      sessions.map((_, i) => (i * 10 + TTL > 1250 ? 'same' : undefined)),
    );
  });

  test('does nothing without a time to live', () => {
    const cache = new ListCache(0, sampleCaches());
    expect(cache.enabled).toBe(false);
    cache.set(record, 'tools/list', 'a', 0, valid);
    expect(cache.get(record, 'tools/list', 0)).toBeUndefined();
    expect(new ListCache(TTL, sampleCaches()).enabled).toBe(true);
  });

  test('M2 T17: equal lists are one text and, where they are large, one buffer, whoever gets them', () => {
    const cache = new ListCache(TTL, sampleCaches());
    const other = sessionRecord({ sessionId: 'other' });
    for (const one of [record, other]) cache.set(one, 'tools/list', 'ä'.repeat(20_000), 0, valid);
    const bytes = cache.get(record, 'tools/list', 0)?.bytes;
    expect(bytes?.toString()).toBe('ä'.repeat(20_000));
    expect(cache.get(other, 'tools/list', 0)?.bytes).toBe(bytes);
    cache.set(record, 'prompts/list', 'small', 0, valid);
    expect(cache.get(record, 'prompts/list', 0)?.bytes).toBeUndefined();
  });

  test('counts equal lists once, and forgets what was asked for longest ago', () => {
    const caches = sampleCaches(20_000);
    const cache = new ListCache(TTL, caches);
    const session = (i: number): SessionRecord => sessionRecord({ sessionId: String(i) });
    for (let i = 0; i < 10; i += 1) cache.set(session(i), 'tools/list', 'x'.repeat(8000), 0, valid);
    const kept = (): number =>
      Array.from({ length: 10 }, (_, i) => cache.get(session(i), 'tools/list', 0)).filter(Boolean).length;
    expect(kept()).toBe(10);
    cache.set(session(10), 'tools/list', 'y'.repeat(8000), 0, valid);
    expect(kept()).toBeLessThan(10);
    expect(cache.get(session(10), 'tools/list', 0)?.text).toHaveLength(8000);
    expect(caches.size).toBeLessThanOrEqual(20_000);
  });
});
