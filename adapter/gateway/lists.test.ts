import { describe, expect, test } from 'vitest';

import { type Body, parseBody } from '../exchange/message.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { listAnswer } from './lists.ts';
import type { Mount } from './mount.ts';
import { sampleMount } from './testing/sample-mount.ts';

const record = sessionRecord();
const TOOLS = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"}]}}';
const ONE_TOOL = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}';

const hiding = (): Mount => sampleMount({ disabled_tools: ['b'] });
const uncached = (server: Record<string, unknown> = {}): Mount => sampleMount(server, { listTtlMs: 0 });

function body(text: string): Body {
  const parsed = parseBody(Buffer.from(text));
  if ('code' in parsed) throw new Error(parsed.detail);
  return parsed;
}
const LIST = body('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
const CALL = body('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}');
const BATCH = body('[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"tools/call"}]');

const answer = (mount: Mount, of: Body, list: string | undefined, text: string): string | undefined =>
  listAnswer(mount, of, list, () => record)?.(text);

describe('the answer to a list', () => {
  test('is kept as the client saw it', () => {
    const mount = hiding();
    expect(answer(mount, LIST, 'tools/list', TOOLS)).toBe(ONE_TOOL);
    expect(mount.lists.get(record, 'tools/list', Date.now())).toBe('{"tools":[{"name":"a"}]}');
    expect(answer(mount, LIST, 'tools/list\n2', TOOLS)).toBe(ONE_TOOL);
  });

  test('of anything but tools is kept as it is', () => {
    const mount = hiding();
    expect(answer(mount, LIST, 'prompts/list', TOOLS)).toBe(TOOLS);
    expect(mount.lists.get(record, 'prompts/list', Date.now())).toBe('{"tools":[{"name":"a"},{"name":"b"}]}');
  });

  test('that is an error is not kept', () => {
    const mount = hiding();
    const error = '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}';
    expect(answer(mount, LIST, 'tools/list', error)).toBe(error);
    expect(mount.lists.get(record, 'tools/list', Date.now())).toBeUndefined();
  });

  test('is looked at also where nothing is kept, if tools are hidden', () => {
    expect(answer(uncached({ disabled_tools: ['b'] }), LIST, 'tools/list', TOOLS)).toBe(ONE_TOOL);
  });

  test.each<[string, Mount, Body, string | undefined]>([
    ['nothing is kept and nothing hidden', uncached(), LIST, 'tools/list'],
    ['nothing is kept of other lists', uncached({ disabled_tools: ['b'] }), LIST, 'prompts/list'],
    ['it is no list', hiding(), CALL, undefined],
    ['it is a batch and nothing is hidden', sampleMount(), BATCH, undefined],
  ])('is not looked at when %s', (_name, mount, of, list) => {
    expect(answer(mount, of, list, TOOLS)).toBeUndefined();
  });

  test('hides tools in a batch too, and only where tools were asked for', () => {
    const other = TOOLS.replace('"id":1', '"id":2');
    expect(answer(hiding(), BATCH, undefined, `[${other},${TOOLS}]`)).toBe(`[${other},${ONE_TOOL}]`);
    expect(answer(hiding(), BATCH, undefined, TOOLS)).toBe(ONE_TOOL);
    expect(answer(hiding(), BATCH, undefined, other)).toBe(other);
  });

  test.each(['', '{', TOOLS.slice(0, -1), '<html>', `${TOOLS}x`])('must be JSON: %.30j', (text) => {
    for (const of of [LIST, BATCH]) {
      expect(() => answer(hiding(), of, of === LIST ? 'tools/list' : undefined, text)).toThrow(
        expect.objectContaining({ code: 'upstream_failed', status: 502 }) as Error,
      );
    }
  });
});
