import { describe, expect, test } from 'vitest';

import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { load } from '../../crds/config/testing/adapter-config.ts';
import type { PreparedTool } from './prepared-tool.ts';
import { cleaningEvents, toolCleaning } from './tool-cleaning.ts';

function cleaning(core: Record<string, unknown>): ReturnType<typeof toolCleaning> {
  const config = load({ core, servers: [{ id: 's', mount_path: '/s', upstream: { url: 'http://u/mcp' } }] });
  const [server] = config.servers;
  return server && toolCleaning(effectiveServer(config, server));
}
const sanitization = (mode: string): Record<string, unknown> => ({ tool_metadata_sanitization: { mode } });
const HIDING = JSON.stringify({ name: 'a', description: 'hid\u200bden and long' });

describe('definitions are cleaned', () => {
  test('first of what is invisible, then of what is too long', () => {
    const clean = cleaning({ tool_description_policy: { mode: 'truncate', max_tool_description_chars: 9 } });
    expect(clean?.(HIDING)).toEqual({
      text: '{"name":"a","description":"hidden..."}',
      modified: ['description'],
    });
  });

  test('not at all where nothing asks for it', () => {
    expect(cleaning(sanitization('off'))).toBeUndefined();
    expect(cleaning({ ...sanitization('off'), tool_description_policy: { mode: 'strip' } })).toBeDefined();
  });

  test('by hiding them', () => {
    const clean = cleaning(sanitization('block'));
    expect(clean?.(HIDING)).toEqual({ text: undefined, modified: ['description'] });
    expect(clean?.('{"name":"b"}')).toEqual({ text: '{"name":"b"}', modified: [] });
  });
});

describe('of the tools that were cleaned', () => {
  const prepared = (name: string | undefined, ...cleaned: string[]): PreparedTool => {
    return { name, fate: 'shown', clean: undefined, shown: undefined, pin: undefined, cleaned, ui: [] };
  };

  test('ten are named, the others counted', () => {
    const cleaned = Array.from({ length: 1_000 }, (_, i) => prepared(`t${i}`, 'description'));
    const [event] = cleaningEvents([prepared('clean'), ...cleaned]);
    expect(event).toMatchObject({ tools: 1_000, blocked: false });
    expect(event?.first).toEqual(Array.from({ length: 10 }, (_, i) => ({ name: `t${i}`, fields: ['description'] })));
    expect(cleaningEvents([prepared('clean')])).toEqual([]);
  });

  test('the names are fit for a log', () => {
    const [event] = cleaningEvents([prepared(`\u202e${'x'.repeat(1000)}`, 'title'), prepared(undefined, 'title')]);
    const first = { name: `\\u{202e}${'x'.repeat(127)}`, fields: ['title'] };
    expect(event?.first).toEqual([first, { name: '', fields: ['title'] }]);
  });

  test('those that are hidden are told of apart', () => {
    const hidden = { ...prepared('a', 'title'), fate: 'blocked' } as const;
    expect(cleaningEvents([prepared('b', 'title'), hidden])).toMatchObject([
      { tools: 1, first: [{ name: 'a' }], blocked: true },
      { tools: 1, first: [{ name: 'b' }], blocked: false },
    ]);
  });
});
