import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { SessionRecord } from '../state/state-store.ts';
import { LISTS } from '../tools/list-of.ts';
import { listAnswer } from './list-answers.ts';
import {
  type Entry,
  type ListingUpstream,
  requestBody,
  startListingUpstream,
  type TestAsker,
} from '../gateway/testing/listing-upstream.ts';

const WARN = { tool_definition_pinning: { mode: 'warn' } };
const BLOCK = { tool_definition_pinning: { mode: 'block' } };

interface Shown {
  readonly entries: Entry[];
  readonly nextCursor: string | undefined;
}

describe.each([
  ['prompts', 'name', 'this prompt is new'],
  ['templates', 'uriTemplate', 'this resource template is new'],
  ['resources', 'uri', undefined],
] as const)('T10: a list of %s of several pages', (name, id, isNew) => {
  const { method, member } = LISTS[name];
  let upstream: ListingUpstream;
  const entry = (of: string, description = 'D'): Entry => ({ [id]: of, name: of, description });

  beforeEach(async () => {
    upstream = await startListingUpstream(method, member);
    upstream.pages = [[entry('a'), entry('b')], [entry('c')], [entry('d')]];
  });
  afterEach(() => upstream[Symbol.asyncDispose]());

  async function page(asker: TestAsker, record: SessionRecord, at: number): Promise<Shown> {
    const body = requestBody(method, at === 0 ? {} : { cursor: String(at) });
    const text = await listAnswer(asker, body, undefined, () => record)?.(upstream.answer(at));
    const { result } = JSON.parse(text ?? upstream.answer(at)) as { result: Entry };
    return { entries: result[member] as Entry[], nextCursor: result['nextCursor'] as string | undefined };
  }
  const ids = ({ entries }: Shown): unknown[] => entries.map((one) => one[id]);

  test('is shown in the pages of the upstream, with its cursors, and asked for as a whole once', async () => {
    const asker = upstream.asker(WARN);
    const record = await upstream.session();
    for (let time = 0; time < 2; time++) {
      for (const at of [0, 1, 2]) {
        const nextCursor = at < 2 ? String(at + 1) : undefined;
        expect(await page(asker, record, at)).toEqual({ entries: upstream.pages[at], nextCursor });
      }
    }
    expect(upstream.http.requests).toHaveLength(2);
    expect(upstream.drifts).toEqual([]);
  });

  test.each(['a session', 'a client without sessions'])(
    'is compared on each page with what %s saw first',
    async (who) => {
      const asker = upstream.asker(WARN);
      const record = who === 'a session' ? await upstream.session() : upstream.nobody();
      await page(asker, record, 0);
      upstream.pages = [
        [entry('a'), entry('b')],
        [entry('c', 'Evil'), entry('x')],
        [entry('d'), entry('a', 'Evil')],
      ];
      expect((await page(asker, record, 0)).entries).toEqual(upstream.pages[0]);
      const described = async (at: number): Promise<unknown[]> =>
        (await page(asker, record, at)).entries.map(({ description }) => description);
      expect(await described(1)).toEqual([
        expect.stringMatching(/^WARNING: this .* has changed .*\nEvil$/s),
        isNew === undefined ? 'D' : expect.stringMatching(new RegExp(`^WARNING: ${isNew}.*\nD$`, 's')),
      ]);
      expect(await described(2)).toEqual(['D', expect.stringMatching(/^WARNING: this .* has changed .*\nEvil$/s)]);
      expect(upstream.drifts).toHaveLength(2);
    },
  );

  test('is without what has changed or is new on any page, where the mode is block', async () => {
    const asker = upstream.asker(BLOCK);
    const record = await upstream.session();
    await page(asker, record, 0);
    upstream.pages = [[entry('a', 'Evil'), entry('b')], [entry('c', 'Evil'), entry('x')], [entry('d')]];
    expect(await page(asker, record, 0)).toMatchObject({ entries: [entry('b')], nextCursor: '1' });
    expect(ids(await page(asker, record, 1))).toEqual(isNew === undefined ? ['x'] : []);
    expect(ids(await page(asker, record, 2))).toEqual(['d']);
  });

  test('is pinned as a whole also by who asks for a later page first', async () => {
    const asker = upstream.asker(WARN);
    const record = await upstream.session();
    for (const at of [2, 0, 1]) expect((await page(asker, record, at)).entries).toEqual(upstream.pages[at]);
    upstream.pages[0] = [entry('a', 'Evil')];
    expect((await page(asker, record, 0)).entries[0]?.['description']).toMatch(/^WARNING/);
  });

  test('is clean on each page', async () => {
    const asker = upstream.asker(WARN);
    const record = await upstream.session();
    upstream.pages = [[entry('a', 'D\u200b')], [entry('b', 'D\u200b'), entry('c\u200b')]];
    expect((await page(asker, record, 0)).entries).toEqual([entry('a')]);
    expect((await page(asker, record, 1)).entries).toEqual([entry('b')]);
  });
});

describe('T17: an upstream with more than can be read', () => {
  test.each([
    ['resources', 10],
    ['prompts', undefined],
  ] as const)('has %s without an end', async (name, requests) => {
    const { method, member } = LISTS[name];
    await using upstream = await startListingUpstream(method, member);
    const many = Array.from({ length: 100 }, (_, i) => ({ uri: `a:${i}`, name: `${i}` }));
    upstream.pages = Array.from({ length: 2_000 }, () => many);
    const asker = upstream.asker(WARN);
    const record = await upstream.session();
    const shown = listAnswer(asker, requestBody(method), undefined, () => record)?.(upstream.answer(0));
    if (requests === undefined) {
      await expect(shown).rejects.toMatchObject({ code: 'upstream_failed', message: /more than 1000 pages/ });
      return;
    }
    expect(await shown).toBe(upstream.answer(0));
    expect(upstream.http.requests).toHaveLength(requests - 1);
  });
});
