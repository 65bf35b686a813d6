import { describe, expect, test } from 'vitest';

import { sessionRecord } from '../sessions/testing/session-record.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { ListCache, listKey } from './list-cache.ts';

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
    const cache = new ListCache(TTL);
    cache.set(record, 'tools/list', '{"tools":[]}', 0, valid);
    expect(cache.get(record, 'tools/list', 999)).toBe('{"tools":[]}');
    expect(cache.get(record, 'tools/list', 1000)).toBeUndefined();
    expect(cache.get(record, 'tools/list', 0)).toBeUndefined();
  });

  test('knows lists of this session, server, method and page only', () => {
    const cache = new ListCache(TTL);
    cache.set(record, 'tools/list', 'a', 0, valid);
    for (const other of [{ sessionId: 'x' }, { serverId: 'x' }]) {
      expect(cache.get({ ...record, ...other }, 'tools/list', 0)).toBeUndefined();
    }
    expect(cache.get(record, 'tools/list\n2', 0)).toBeUndefined();
    expect(cache.get(record, 'prompts/list', 0)).toBeUndefined();
    expect(cache.get(record, 'tools/list', 0)).toBe('a');
  });

  test.each(['generation', 'listsGeneration'] as const)('forgets a list of another %s', (name) => {
    const cache = new ListCache(TTL);
    cache.set(record, 'tools/list', 'old', 0, valid);
    const later = { ...record, [name]: record[name] + 1 };
    expect(cache.get(later, 'tools/list', 0)).toBeUndefined();
    cache.set(later, 'tools/list', 'new', 0, valid);
    expect(cache.get(later, 'tools/list', 0)).toBe('new');
    // A replica that has read the session before must not see what came after, nor bring the old one back.
    expect(cache.get(record, 'tools/list', 0)).toBeUndefined();
  });

  test('keeps only what is valid, and asks once for equal texts', () => {
    const cache = new ListCache(TTL);
    expect(cache.set(record, 'tools/list', 'bad', 0, () => false)).toBe(false);
    expect(cache.get(record, 'tools/list', 0)).toBeUndefined();
    expect(cache.set(record, 'tools/list', 'good', 0, valid)).toBe(true);
    const other = sessionRecord({ sessionId: 'other' });
    expect(cache.set(other, 'tools/list', 'good', 0, () => expect.unreachable('asked twice'))).toBe(true);
    expect(cache.get(other, 'tools/list', 0)).toBe('good');
  });

  test('replaces a list', () => {
    const cache = new ListCache(TTL);
    for (const text of ['a', 'b', 'b', 'a']) cache.set(record, 'tools/list', text, 0, valid);
    expect(cache.get(record, 'tools/list', 500)).toBe('a');
    cache.set(record, 'tools/list', 'c', 900, valid);
    expect(cache.get(record, 'tools/list', 1500)).toBe('c');
  });

  test('keeps equal lists of many sessions, each for its own time', () => {
    const cache = new ListCache(TTL);
    const sessions = Array.from({ length: 50 }, (_, i) => sessionRecord({ sessionId: String(i) }));
    sessions.forEach((one, i) => cache.set(one, 'tools/list', 'same', i * 10, valid));
    expect(sessions.map((one) => cache.get(one, 'tools/list', 1250))).toEqual(
      sessions.map((_, i) => (i * 10 + TTL > 1250 ? 'same' : undefined)),
    );
  });

  test('does nothing without a time to live', () => {
    const cache = new ListCache(0);
    expect(cache.enabled).toBe(false);
    cache.set(record, 'tools/list', 'a', 0, valid);
    expect(cache.get(record, 'tools/list', 0)).toBeUndefined();
    expect(new ListCache(TTL).enabled).toBe(true);
  });

  describe('that is small', () => {
    /** Room for two texts of 100 characters, and for what six entries are called. */
    const small = (): ListCache => new ListCache(TTL, 290);
    const session = (name: string): SessionRecord => sessionRecord({ sessionId: name });
    const put = (cache: ListCache, name: string, text: string, now = 0): boolean =>
      cache.set(session(name), 'tools/list', text, now, valid);
    const kept = (cache: ListCache, names: string): string =>
      names
        .split('')
        .filter((name) => cache.get(session(name), 'tools/list', 0) !== undefined)
        .join('');
    const text = (letter: string): string => letter.repeat(100);

    test('counts what its entries are called', () => {
      const cache = new ListCache(TTL, 3000);
      const page = (i: number): string => `tools/list\n${i}${'x'.repeat(900)}`;
      for (let i = 0; i < 5; i += 1) cache.set(record, page(i), 'same', 0, valid);
      const kept = (): (string | undefined)[] => [0, 1, 2, 3, 4].map((i) => cache.get(record, page(i), 0));
      expect(kept()).toEqual([undefined, undefined, 'same', 'same', 'same']);
      // What is gone is counted no longer.
      for (let i = 0; i < 10; i += 1) cache.set(record, page(4), String(i), 0, valid);
      expect(kept()).toEqual([undefined, undefined, 'same', 'same', '9']);
    });

    test('drops the oldest lists first', () => {
      const cache = small();
      for (const name of 'abcd') put(cache, name, text(name));
      expect(kept(cache, 'abcd')).toBe('cd');
      put(cache, 'e', 'x');
      expect(kept(cache, 'abcde')).toBe('cde');
    });

    test('counts equal lists once', () => {
      const cache = small();
      for (const name of 'abcde') put(cache, name, text('x'));
      put(cache, 'f', text('y'));
      expect(kept(cache, 'abcdef')).toBe('abcdef');
    });

    test('counts a list for as long as somebody has it', () => {
      const cache = small();
      put(cache, 'a', text('x'));
      put(cache, 'b', text('x'));
      put(cache, 'a', '');
      put(cache, 'c', text('y'));
      put(cache, 'd', text('z'));
      expect(kept(cache, 'bcd')).toBe('cd');
    });

    test('counts a list no longer when it is replaced, and again when it comes back', () => {
      const cache = small();
      put(cache, 'a', text('k'));
      for (const letter of 'stuvw') put(cache, 'b', text(letter));
      expect(kept(cache, 'ab')).toBe('ab');
      put(cache, 'b', '');
      put(cache, 'b', text('w'));
      put(cache, 'c', text('y'));
      expect(kept(cache, 'abc')).toBe('bc');
    });

    test('drops what is over, before it needs the room', () => {
      const cache = small();
      put(cache, 'a', text('x'));
      put(cache, 'b', text('y'), 500);
      put(cache, 'c', 'z', TTL);
      // It would still be its time, if it were there.
      expect(kept(cache, 'abc')).toBe('bc');
    });
  });
});
