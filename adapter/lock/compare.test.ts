import { describe, expect, test } from 'vitest';

import { cpuMillis } from '../catalog/testing/cpu-millis.ts';
import { compareServer } from './compare.ts';
import type { ServerLock } from '../../crds/config/lock-file/lock-document.ts';
import { makeLock } from './make-lock.ts';
import type { ServerLists } from './server-lists.ts';
import { HARMLESS } from './testing/harmless.ts';
import { HOSTILE } from './testing/hostile.ts';
import { sampleServer } from './testing/sample-server.ts';

const { lock: LOCK } = makeLock(sampleServer());

/** All that is not the same, as `kind/name: fields`, or `: new` and `: removed`. */
function found(lists: ServerLists, lock: ServerLock | undefined = LOCK): string[] {
  const { instructions, ...kinds } = compareServer(lists, lock);
  return [
    ...Object.entries(kinds).flatMap(([kind, { entries, removed }]) => [
      ...entries.flatMap(({ name, state, fields }) =>
        state === 'same' ? [] : [`${kind}/${name}: ${state === 'new' ? state : fields.join(', ')}`],
      ),
      ...removed.map((name) => `${kind}/${name}: removed`),
    ]),
    ...(instructions === 'same' ? [] : [`instructions: ${instructions}`]),
  ];
}

const textsOf = ({ tools, prompts, resourceTemplates, instructions }: ServerLists): string =>
  [...tools, ...prompts, ...resourceTemplates, instructions ?? ''].join('\n');

test('a server is as it was locked', () => {
  expect(found(sampleServer())).toEqual([]);
  expect(compareServer(sampleServer(), LOCK).tools).toEqual({
    entries: [
      { name: 'search', state: 'same', fields: [] },
      { name: 'fetch', state: 'same', fields: [] },
    ],
    removed: [],
  });
});

test('there are 60 harmless changes and 40 hostile ones, no two with one name', () => {
  expect(new Set(HARMLESS.map(([name]) => name)).size).toBeGreaterThanOrEqual(60);
  expect(new Set(HOSTILE.map(([name]) => name)).size).toBeGreaterThanOrEqual(40);
  expect(new Set([...HARMLESS, ...HOSTILE].map(([name]) => name)).size).toBe(HARMLESS.length + HOSTILE.length);
  expect(new Set([...HARMLESS, ...HOSTILE].map(([, lists]) => textsOf(lists()))).size).toBe(
    HARMLESS.length + HOSTILE.length,
  );
});

describe('no drift', () => {
  test.each(HARMLESS)('%s', (_name, lists) => {
    const changed = lists();
    expect(textsOf(changed)).not.toBe(textsOf(sampleServer()));
    const byName = (texts: readonly string[]): unknown => texts.map(value).toSorted(names);
    expect(byName(changed.tools)).toEqual(byName(sampleServer().tools));
    expect(found(changed)).toEqual([]);
    expect(makeLock(changed)).toEqual(makeLock(sampleServer()));
  });
});

/** 0 for -0, which RFC 8785 does not tell apart. */
const value = (json: string): unknown => JSON.parse(JSON.stringify(JSON.parse(json)));
const names = (a: unknown, b: unknown): number =>
  (a as { name: string }).name < (b as { name: string }).name ? -1 : 1;

describe('drift', () => {
  test.each(HOSTILE)('%s', (_name, lists, expected) => {
    const changed = lists();
    for (const json of textsOf(changed).split('\n')) if (json !== '') JSON.parse(json);
    expect(found(changed)).toEqual(expected);
  });
});

test('of a server that the lock does not name, all is new', () => {
  expect(compareServer(sampleServer(), undefined)).toMatchObject({
    tools: { entries: [{ state: 'new' }, { state: 'new' }], removed: [] },
    prompts: { entries: [{ state: 'new' }] },
    resourceTemplates: { entries: [{ state: 'new' }] },
    instructions: 'new',
  });
  expect(compareServer(sampleServer({ instructions: undefined }), undefined).instructions).toBe('same');
});

test('of a server that the lock names, instructions are drift where none were approved', () => {
  const { instructions: _none, ...lock } = LOCK;
  expect(found(sampleServer(), lock)).toEqual(['instructions: drift']);
});

test('what drifts has the digest that was approved, where there is one', () => {
  const [search = ''] = sampleServer().tools;
  const lockedOf = (tools: readonly string[]) =>
    compareServer({ ...sampleServer(), tools }, LOCK).tools.entries.map(({ locked }) => locked);
  const digest = LOCK.tools['search']?.digest;
  expect(digest).toMatch(/^sha256:/);
  expect(lockedOf([search.replace('Finds', 'Sends')])).toEqual([digest]);
  expect(lockedOf([search, search])).toEqual([digest, digest]);
  const added = search.replace('"search"', '"other"');
  expect(lockedOf([search, added, added])).toEqual([undefined, undefined, undefined]);
});

test('a lock that contradicts itself is told as such', () => {
  const { search, ...tools } = LOCK.tools;
  const contradicting = { ...search, digest: `sha256:${'0'.repeat(64)}`, fields: search?.fields ?? {} };
  expect(found(sampleServer(), { ...LOCK, tools: { ...tools, search: contradicting } })).toEqual([
    'tools/search: digest',
  ]);
});

test('1,000 tools of 2 KB are compared in well under a second', () => {
  const tools = Array.from({ length: 1000 }, (_, i) =>
    sampleServer().tools[0]?.replace('"search"', `"search_${i}"`).replace('Finds', 'Finds '.repeat(150)),
  ).filter((one) => one !== undefined);
  expect(tools[0]?.length).toBeGreaterThan(2000);
  const lists = { ...sampleServer(), tools };
  const { lock } = makeLock(lists);
  expect(found(lists, lock)).toEqual([]);
  expect(cpuMillis(200, () => compareServer(lists, lock))).toBeLessThan(200);
});
