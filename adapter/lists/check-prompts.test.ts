import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { SessionRecord } from '../state/state-store.ts';
import { checkPrompts } from './check-prompts.ts';
import { listAnswer } from './list-answers.ts';
import {
  type Entry,
  type ListingUpstream,
  requestBody,
  startListingUpstream,
  type TestAsker,
} from '../gateway/testing/listing-upstream.ts';

const pinning = (mode: string, block_strategy: string): Entry => ({
  tool_definition_pinning: { mode, block_strategy },
});
const unknown = expect.objectContaining({ code: 'unknown_prompt' }) as Error;
const drifted = expect.objectContaining({ code: 'prompt_definition_drift' }) as Error;
const USES: [string, (name?: unknown) => ReturnType<typeof requestBody>][] = [
  ['prompts/get', (name) => requestBody('prompts/get', { name })],
  ['completion/complete', (name) => requestBody('completion/complete', { ref: { type: 'ref/prompt', name } })],
];

describe.each(USES)('T10: %s', (_method, using) => {
  let upstream: ListingUpstream;

  beforeEach(async () => {
    upstream = await startListingUpstream('prompts/list', 'prompts');
    upstream.pages = [[{ name: 'a' }], [{ name: 'b', description: 'B' }]];
  });
  afterEach(() => upstream[Symbol.asyncDispose]());

  const lists = async (asker: TestAsker, record: SessionRecord): Promise<void> =>
    void (await listAnswer(asker, requestBody('prompts/list'), undefined, () => record)?.(upstream.answer(0)));
  const uses = (asker: TestAsker, record: SessionRecord, name?: unknown): Promise<void> =>
    checkPrompts(asker.mount, asker.source, record, using(name).messages);

  test.each([
    ['error', drifted],
    ['baseline_subset', unknown],
  ])('of a prompt that has changed or is new is refused (%s)', async (strategy, error) => {
    const asker = upstream.asker(pinning('block', strategy));
    const record = await upstream.session();
    await lists(asker, record);
    await uses(asker, record, 'b');
    upstream.pages = [[{ name: 'a' }, { name: 'c' }], [{ name: 'b', description: 'Evil' }]];
    await uses(asker, record, 'a');
    for (const name of ['b', 'c']) await expect(uses(asker, record, name)).rejects.toEqual(error);
    for (const name of ['nobody', undefined, 7]) await expect(uses(asker, record, name)).rejects.toEqual(unknown);
    expect(upstream.drifts).toEqual(['prompts: new=c, changed=b']);
  });

  test('says what has changed, and how it is accepted', async () => {
    const asker = upstream.asker(pinning('block', 'error'));
    const changes = async (record: SessionRecord): Promise<Promise<void>> => {
      upstream.pages = [[{ name: 'a' }]];
      await lists(asker, record);
      upstream.pages = [[{ name: 'a', title: 'Evil' }]];
      return uses(asker, record, 'a');
    };
    await expect(changes(await upstream.session())).rejects.toMatchObject({
      message: /session saw them first: changed=a\. Open a new session/,
      data: { changed: [{ name: 'a', fields: [] }], new: [], removed: [] },
    });
    await expect(changes(upstream.nobody())).rejects.toMatchObject({ message: /has not asked for 86400 seconds/ });
  });

  test('pins a client without sessions, and is free to a session that has seen no prompts', async () => {
    const asker = upstream.asker(pinning('block', 'error'));
    const record = await upstream.session();
    await uses(asker, record, 'b');
    expect(upstream.http.requests).toHaveLength(0);
    await uses(asker, upstream.nobody(), 'b');
    upstream.pages[1] = [{ name: 'b', description: 'Evil' }];
    await uses(asker, record, 'b');
    await expect(uses(asker, upstream.nobody(), 'b')).rejects.toEqual(drifted);
  });

  test('of a prompt that is hidden for what it says is refused', async () => {
    upstream.pages[1] = [{ name: 'b', description: 'hid\u200bden' }, { name: 'x\u200by' }];
    const off = { tool_definition_pinning: { mode: 'off' } };
    const asker = upstream.asker({ ...off, tool_metadata_sanitization: { mode: 'block' } });
    const record = await upstream.session();
    await uses(asker, record, 'a');
    await uses(asker, record, 'nobody');
    for (const name of ['b', 'x\u200by']) await expect(uses(asker, record, name)).rejects.toEqual(unknown);
    await expect(uses(upstream.asker(off), record, 'x\u200by')).rejects.toEqual(unknown);
  });

  test('is not looked at in the modes that forbid nothing', async () => {
    const asker = upstream.asker(pinning('warn', 'error'));
    const record = await upstream.session();
    await lists(asker, record);
    upstream.pages = [[{ name: 'a', title: 'Evil' }]];
    const before = upstream.http.requests.length;
    await uses(asker, record, 'a');
    const blocking = upstream.asker(pinning('block', 'error'));
    await checkPrompts(blocking.mount, blocking.source, record, requestBody('ping').messages);
    expect(upstream.http.requests).toHaveLength(before);
  });

  test('fails while the upstream does not say what prompts it has', async () => {
    const asker = upstream.asker(pinning('block', 'error'));
    const record = await upstream.session();
    await lists(asker, record);
    upstream.http.handler = (_request, res) => void res.writeHead(500).end();
    await expect(uses(asker, record, 'a')).rejects.toMatchObject({ code: 'upstream_failed' });
  });
});
