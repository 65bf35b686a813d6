import { describe, expect, test } from 'vitest';

import { effectiveServer } from '../../crds/config/effective-server.ts';
import { load } from '../../crds/config/testing.ts';
import { type CleaningEvents, toolCleaning } from './tool-cleaning.ts';

function cleaning(core: Record<string, unknown>, events?: CleaningEvents): ReturnType<typeof toolCleaning> {
  const config = load({ core, servers: [{ id: 's', mount_path: '/s', upstream: { url: 'http://u/mcp' } }] });
  const [server] = config.servers;
  return server && toolCleaning(effectiveServer(config, server), events);
}
const sanitization = (mode: string): Record<string, unknown> => ({ tool_metadata_sanitization: { mode } });
const HIDING = JSON.stringify({ name: 'a', description: 'hid\u200bden and long' });

describe('definitions are cleaned', () => {
  test('first of what is invisible, then of what is too long', () => {
    const clean = cleaning({ tool_description_policy: { mode: 'truncate', max_tool_description_chars: 9 } });
    expect(clean?.(HIDING, 'a')).toBe('{"name":"a","description":"hidden..."}');
  });

  test('not at all where nothing asks for it', () => {
    expect(cleaning(sanitization('off'))).toBeUndefined();
    expect(cleaning({ ...sanitization('off'), tool_description_policy: { mode: 'strip' } })).toBeDefined();
  });

  test('by hiding them', () => {
    const clean = cleaning(sanitization('block'));
    expect([clean?.(HIDING, 'a'), clean?.('{"name":"b"}', 'b')]).toEqual([undefined, '{"name":"b"}']);
  });
});

test('what was cleaned is told once, with a name that is fit for a log', () => {
  const told: unknown[] = [];
  const clean = cleaning(sanitization('sanitize'), (event) => told.push(event));
  const name = `\u202e${'x'.repeat(1000)}`;
  for (let i = 0; i < 3; i++) clean?.(HIDING.replace('"a"', JSON.stringify(name)), name);
  expect(told).toMatchObject([{ blocked: false, fields: expect.arrayContaining(['description']) }]);
  expect(String((told[0] as { tool: string }).tool)).toMatch(/^\\u\{202e\}x{127}$/);
});
