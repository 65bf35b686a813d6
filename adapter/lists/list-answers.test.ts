import { describe, expect, test } from 'vitest';

import { type Body, parseBody } from '../exchange/message.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import type { MountAdditions, MountOptions } from '../mount/create-mount.ts';
import { cachedList, listAnswer, resumedAnswer } from './list-answers.ts';
import type { Mount } from '../mount/mount.ts';
import { askerOf } from '../gateway/testing/listing-upstream.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';

const record = sessionRecord();
const TOOLS = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"}]}}';
const ONE_TOOL = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}';

/** What is done to tools one by one is tested with the surface. */
const PLAIN = { tool_metadata_sanitization: { mode: 'off' }, tool_definition_pinning: { mode: 'off' } };

const plain = (server: Record<string, unknown> = {}, options: Partial<MountOptions> = {}): Mount =>
  sampleMount({ ...PLAIN, ...server }, options);
const hiding = (): Mount => plain({ disabled_tools: ['b'] });
const uncached = (server: Record<string, unknown> = {}): Mount => plain(server, { listTtlMs: 0 });

function body(text: string): Body {
  const parsed = parseBody(Buffer.from(text));
  if ('code' in parsed) throw new Error(parsed.detail);
  return parsed;
}
const LIST = body('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
const PROMPTS = body('{"jsonrpc":"2.0","id":1,"method":"prompts/list"}');
const CALL = body('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}');
const BATCH = body('[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"tools/call"}]');

const answer = (mount: Mount, of: Body, list: string | undefined, text: string): string | Promise<string> | undefined =>
  listAnswer(askerOf(mount), of, list, () => record)?.(text);

describe('the answer to a list', () => {
  test('is kept as the client saw it', async () => {
    const mount = hiding();
    expect(await answer(mount, LIST, 'tools/list', TOOLS)).toBe(ONE_TOOL);
    expect(mount.lists.get(record, 'tools/list', Date.now())?.text).toBe('{"tools":[{"name":"a"}]}');
    expect(await answer(mount, LIST, 'tools/list\n2', TOOLS)).toBe(ONE_TOOL);
  });

  test('of anything but tools is kept as it is', async () => {
    const mount = hiding();
    expect(await answer(mount, PROMPTS, 'prompts/list', TOOLS)).toBe(TOOLS);
    expect(mount.lists.get(record, 'prompts/list', Date.now())?.text).toBe('{"tools":[{"name":"a"},{"name":"b"}]}');
  });

  test('that is an error is not kept', async () => {
    const mount = hiding();
    const error = '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}';
    expect(await answer(mount, LIST, 'tools/list', error)).toBe(error);
    expect(mount.lists.get(record, 'tools/list', Date.now())).toBeUndefined();
  });

  test.each([60_000, 0])('passes as it is, but somebody may hear the names in it (kept: %i)', async (listTtlMs) => {
    const heard: (readonly string[])[] = [];
    const mount = plain({}, { listTtlMs, onTools: (names) => heard.push(names) });
    const list = listTtlMs === 0 ? undefined : 'tools/list';
    const others = ['{"id":1,"error":{"code":1}}', '{"id":1,"result":{"tools":{}}}', '{"id":1,"result":{"tools":[7]}}'];
    for (const text of [TOOLS, TOOLS, ...others, ONE_TOOL]) expect(await answer(mount, LIST, list, text)).toBe(text);
    expect(await answer(mount, PROMPTS, undefined, TOOLS)).toBeUndefined();
    expect(heard).toEqual([['a', 'b'], [], ['a']]);
    expect(listAnswer(askerOf(plain({}, { listTtlMs: 0 })), LIST, undefined, () => record)).toBeUndefined();
  });

  test('is looked at also where nothing is kept, if tools are hidden', async () => {
    expect(await answer(uncached({ disabled_tools: ['b'] }), LIST, 'tools/list', TOOLS)).toBe(ONE_TOOL);
  });

  test.each<[string, Mount, Body, string | undefined]>([
    ['nothing is kept and nothing hidden', uncached(), LIST, 'tools/list'],
    ['nothing is kept of other lists', uncached({ disabled_tools: ['b'] }), PROMPTS, 'prompts/list'],
    ['it is no list', hiding(), CALL, undefined],
    ['it is a batch and nothing is hidden', plain(), BATCH, undefined],
  ])('is not looked at when %s', async (_name, mount, of, list) => {
    expect(await answer(mount, of, list, TOOLS)).toBeUndefined();
  });

  test('hides tools in a batch too, and only where tools were asked for', async () => {
    const other = TOOLS.replace('"id":1', '"id":2');
    expect(await answer(hiding(), BATCH, undefined, `[${other},${TOOLS}]`)).toBe(`[${other},${ONE_TOOL}]`);
    expect(await answer(hiding(), BATCH, undefined, TOOLS)).toBe(ONE_TOOL);
    expect(await answer(hiding(), BATCH, undefined, other)).toBe(other);
  });

  test.each(['', '{', TOOLS.slice(0, -1), '<html>', `${TOOLS}x`])('must be JSON: %.30j', (text) => {
    for (const of of [LIST, BATCH]) {
      expect(() => answer(hiding(), of, of === LIST ? 'tools/list' : undefined, text)).toThrow(
        expect.objectContaining({ code: 'upstream_failed', status: 502 }) as Error,
      );
    }
  });
});

test('T15: what is pinned for one client without a session is kept by no shared cache', async () => {
  const text = '{"id":1,"result":{"ttlMs":5,"cacheScope":"public","prompts":[{"name":"a"}]}}';
  const shown = (mode: string, protocolVersion: string): unknown => {
    const mount = plain({ tool_definition_pinning: { mode } });
    return listAnswer(askerOf(mount), PROMPTS, undefined, () => sessionRecord({ protocolVersion }))?.(text) ?? text;
  };
  expect(await shown('warn', '2026-07-28')).toBe(text.replace('public', 'private'));
  expect(await shown('off', '2026-07-28')).toBe(text);
  expect(await shown('warn', '2025-11-25')).toBe(text);
});

const UNKNOWN = '{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"Method not found"}}';
const RESOURCES = '{"jsonrpc":"2.0","id":1,"result":{"resources":[ {"uri":"a"} ],"nextCursor":"2"}}';
const LIST_RESOURCES = body('{"jsonrpc":"2.0","id":1,"method":"resources/list"}');
const MORE_RESOURCES = body('{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"2"}}');
const LIST_TEMPLATES = body('{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}');

describe('what the adapter adds', () => {
  let listed: string[] = [];
  const additions: MountAdditions = {
    steps: new Map(),
    transforms: new Map(),
    own: [{ name: 'help', definition: '{"name":"help"}' }],
    resources: { list: async () => listed, owns: () => true, read: async () => undefined },
  };
  const adding = (listTtlMs = 60_000): Mount => plain({}, { additions, listTtlMs });

  test.each([60_000, 0])('stands in the list of tools, on its first page (kept for %i ms)', async (ttl) => {
    const mount = adding(ttl);
    expect(await answer(mount, LIST, 'tools/list', ONE_TOOL)).toBe(ONE_TOOL.replace('}]', '},{"name":"help"}]'));
    const more = body('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"2"}}');
    expect(await answer(mount, more, 'tools/list\n2', ONE_TOOL)).toBe(ONE_TOOL);
    const odd = body('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"filter":"x"}}');
    expect(await answer(mount, odd, undefined, ONE_TOOL)).toBe(ONE_TOOL.replace('}]', '},{"name":"help"}]'));
  });

  test('is all where the upstream has no such thing', async () => {
    const mount = adding();
    listed = ['{"uri":"own"}'];
    expect(await answer(mount, LIST, 'tools/list', UNKNOWN)).toBe(
      '{"jsonrpc":"2.0","id":"x","result":{"tools":[{"name":"help"}]}}',
    );
    expect(await answer(mount, LIST_RESOURCES, 'resources/list', UNKNOWN)).toBe(
      '{"jsonrpc":"2.0","id":"x","result":{"resources":[{"uri":"own"}]}}',
    );
    expect(await answer(mount, LIST_TEMPLATES, 'resources/templates/list', UNKNOWN)).toBe(
      '{"jsonrpc":"2.0","id":"x","result":{"resourceTemplates":[]}}',
    );
    const other = UNKNOWN.replace('-32601', '-32603');
    expect(await answer(mount, LIST, 'tools/list', other)).toBe(other);
    expect(await answer(plain(), LIST, 'tools/list', UNKNOWN)).toBe(UNKNOWN);
    const more = body('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"2"}}');
    expect(await answer(mount, more, 'tools/list\n2', UNKNOWN)).toBe(UNKNOWN);
  });

  test('stands in the list of resources as it is now, beside those that are kept', async () => {
    const mount = adding();
    listed = ['{"uri":"1"}'];
    const shown = (own: string): string => RESOURCES.replace('{"uri":"a"} ]', `{"uri":"a"} ,${own}]`);
    expect(await answer(mount, LIST_RESOURCES, 'resources/list', RESOURCES)).toBe(shown('{"uri":"1"}'));
    listed = ['{"uri":"1"}', '{"uri":"2"}'];
    const kept = mount.lists.get(record, 'resources/list', Date.now())?.text;
    expect(kept).toBe('{"resources":[ {"uri":"a"} ],"nextCursor":"2"}');
    const [first] = LIST_RESOURCES.messages;
    if (first === undefined || kept === undefined) throw new Error('nothing');
    expect(await cachedList(mount, {}, record, first, kept)).toBe(
      '{"resources":[ {"uri":"a"} ,{"uri":"1"},{"uri":"2"}],"nextCursor":"2"}',
    );
    expect(await answer(mount, MORE_RESOURCES, 'resources/list\n2', RESOURCES)).toBe(RESOURCES);
    listed = [];
    expect(await answer(mount, LIST_RESOURCES, 'resources/list', RESOURCES)).toBe(RESOURCES);
  });

  test('stands in the answers of a batch', async () => {
    listed = ['{"uri":"1"}'];
    const batch = body(
      '[{"jsonrpc":"2.0","id":1,"method":"resources/list"},{"jsonrpc":"2.0","id":2,"method":"tools/list"},{"jsonrpc":"2.0","id":3,"method":"ping"}]',
    );
    const tools = ONE_TOOL.replace('"id":1', '"id":2');
    expect(await answer(adding(), batch, undefined, `[${tools}, ${RESOURCES},{"id":3,"result":{}}]`)).toBe(
      `[${tools.replace('}]', '},{"name":"help"}]')}, ${RESOURCES.replace(' ]', ' ,{"uri":"1"}]')},{"id":3,"result":{}}]`,
    );
  });

  test('stands in an answer that is taken up again', async () => {
    listed = ['{"uri":"1"}'];
    const mount = adding();
    expect(await resumedAnswer(askerOf(mount), record, ONE_TOOL)).toBe(ONE_TOOL.replace('}]', '},{"name":"help"}]'));
    expect(await resumedAnswer(askerOf(mount), record, RESOURCES)).toBe(RESOURCES.replace(' ]', ' ,{"uri":"1"}]'));
    const result = '{"jsonrpc":"2.0","id":1,"result":{"content":[],"tools":[],"resources":[]}}';
    expect(await resumedAnswer(askerOf(mount), record, result)).toBe(result);
    expect(await resumedAnswer(askerOf(plain()), record, TOOLS)).toBe(TOOLS);
  });
});
