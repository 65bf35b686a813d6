import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { type Message, SESSIONLESS_REVISION } from '../exchange/message.ts';
import { answerError, answerResult } from '../upstream/testing/http-upstream.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { hiddenUse, usedUis } from './hidden-ui.ts';
import { listAnswer } from './list-answers.ts';
import {
  type Entry,
  type ListingUpstream,
  requestBody,
  startListingUpstream,
  type TestAsker,
} from '../gateway/testing/listing-upstream.ts';

const OFF = { tool_definition_pinning: { mode: 'off' }, tool_metadata_sanitization: { mode: 'off' } };
const DISABLED = { ...OFF, disabled_tools: ['b.*'] };
const BLOCK = (block_strategy: string): Entry => ({ tool_definition_pinning: { mode: 'block', block_strategy } });
const tool = (name: string, uri: string, description = 'D'): Entry => ({
  name,
  description,
  _meta: { ui: { resourceUri: uri } },
});

describe('T11: the ui:// resource of a hidden tool', () => {
  let upstream: ListingUpstream;

  beforeEach(async () => {
    upstream = await startListingUpstream('tools/list', 'tools');
    const older = { name: 'b2', _meta: { 'ui/resourceUri': 'ui://b/2' } };
    upstream.pages = [
      [tool('a', 'ui://a/1'), tool('b1', 'ui://b/1')],
      [older, tool('b3', 'ui://a/1')],
    ];
  });
  afterEach(() => upstream[Symbol.asyncDispose]());

  const used = (record: SessionRecord, messages: readonly Message[]): readonly unknown[] =>
    usedUis(messages, record.protocolVersion !== SESSIONLESS_REVISION);
  const use = async (asker: TestAsker, record: SessionRecord, method: string, params: Entry): Promise<unknown> => {
    const uris = used(record, requestBody(method, params).messages);
    return uris.length === 0
      ? undefined
      : (await hiddenUse(asker.mount.visibleCatalog, asker.source, record, uris))?.uri;
  };
  const listed = async (asker: TestAsker, record: SessionRecord, uris: readonly string[]): Promise<unknown> => {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"resources":[${uris.map((uri) => `{"uri":${JSON.stringify(uri)},"n":1.0}`).join(', ')}]}}`;
    const shown = (await listAnswer(asker, requestBody('resources/list'), undefined, () => record)?.(text)) ?? text;
    const { result } = JSON.parse(shown) as { result: { resources: { uri: string }[] } };
    expect(shown.match(/"n":1\.0/g)?.length ?? 0).toBe(result.resources.length);
    return result.resources.map(({ uri }) => uri);
  };

  test.each(['a session', 'a client without sessions'])('is neither listed nor read (%s)', async (who) => {
    const asker = upstream.asker(DISABLED);
    const record = who === 'a session' ? await upstream.session() : upstream.nobody();
    const all = ['ui://b/1', 'test://x', 'ui://a/1', 'UI://B/2', 'ui://none'];
    expect(await listed(asker, record, all)).toEqual(['test://x', 'ui://a/1', 'ui://none']);
    expect(await listed(asker, record, ['ui://b/1', 'ui://b/2'])).toEqual([]);
    for (const method of ['resources/read', 'resources/subscribe']) {
      for (const uri of ['ui://b/1', 'ui://b/2', 'Ui://b/%32'])
        expect(await use(asker, record, method, { uri })).toBe(uri);
      for (const uri of ['ui://a/1', 'ui://none']) expect(await use(asker, record, method, { uri })).toBeUndefined();
    }
    const notifications = { resourceSubscriptions: ['ui://a/1', 'test://x', 'ui://b/1'] };
    expect(await use(asker, record, 'subscriptions/listen', { notifications })).toBe('ui://b/1');
  });

  test('costs others nothing, and who hides no tools nothing either', async () => {
    const asker = upstream.asker(DISABLED);
    const record = await upstream.session();
    const others = [requestBody('resources/read', { uri: 'test://x' }), requestBody('tools/list'), requestBody('ping')];
    for (const { messages } of others) expect(used(record, messages)).toEqual([]);
    expect(await listed(asker, record, ['test://x'])).toEqual(['test://x']);
    const open = upstream.asker({ ...OFF, disabled_tools: ['s1_get_upload_url'] });
    expect(await use(open, record, 'resources/read', { uri: 'test://b/1' })).toBeUndefined();
    expect(upstream.http.requests).toHaveLength(0);
  });

  test('is not read by a request whose URI is no string, as other parsers might find one there', async () => {
    const asker = upstream.asker(DISABLED);
    const record = await upstream.session();
    expect(await use(asker, record, 'resources/read', { uri: ['ui://b/1'] })).toEqual(['ui://b/1']);
    const none = used(record, requestBody('resources/read').messages);
    expect(await hiddenUse(asker.mount.visibleCatalog, asker.source, record, none)).toEqual({ uri: undefined });
  });

  test('is hidden where cleaning with `block` hides the tool', async () => {
    upstream.pages = [[tool('a', 'ui://a/1'), tool('c', 'ui://c/1', 'hid\u200bden')]];
    const record = await upstream.session();
    const asker = (mode: string): TestAsker => upstream.asker({ ...OFF, tool_metadata_sanitization: { mode } });
    expect(await listed(asker('block'), record, ['ui://a/1', 'ui://c/1'])).toEqual(['ui://a/1']);
    expect(await use(asker('block'), record, 'resources/read', { uri: 'ui://c/1' })).toBe('ui://c/1');
    expect(await use(asker('sanitize'), record, 'resources/read', { uri: 'ui://c/1' })).toBeUndefined();
  });

  test.each(['error', 'baseline_subset'])('is hidden where pinning with `block` does (%s)', async (strategy) => {
    const asker = upstream.asker(BLOCK(strategy));
    const record = upstream.nobody();
    const read = (uri: string): Promise<unknown> => use(asker, record, 'resources/read', { uri });
    expect(await read('ui://b/1')).toBeUndefined();
    upstream.pages = [[tool('a', 'ui://a/1'), tool('b1', 'ui://b/1', 'Evil'), tool('new', 'ui://new')]];
    for (const uri of ['ui://b/1', 'ui://new']) expect(await read(uri)).toBe(uri);
    expect(await read('ui://a/1')).toBeUndefined();
    expect(await listed(asker, record, ['ui://a/1', 'ui://new'])).toEqual(['ui://a/1']);
  });

  test('fails while the upstream does not say what tools it has, unless it has none', async () => {
    const asker = upstream.asker(DISABLED);
    const record = await upstream.session();
    upstream.http.handler = (_request, res) => void res.writeHead(500).end();
    const read = (): Promise<unknown> => use(asker, record, 'resources/read', { uri: 'ui://b/1' });
    await expect(read()).rejects.toMatchObject({ code: 'upstream_failed' });
    await expect(listed(asker, record, ['ui://b/1'])).rejects.toMatchObject({ code: 'upstream_failed' });
    upstream.http.handler = (request, res) => answerError(request, res, 200, -32601, 'Method not found');
    expect(await read()).toBeUndefined();
    upstream.http.handler = (request, res) => answerResult(request, res, { tools: [tool('b', 'ui://b/1')] });
    expect(await read()).toBe('ui://b/1');
  });
});
