import { monitorEventLoopDelay } from 'node:perf_hooks';

import { describe, expect, test } from 'vitest';

import { catalog } from '../../catalog/catalog.ts';
import { disabledTools } from '../../catalog/disabled-tools.ts';
import type { CleaningEvent } from '../../catalog/tool-cleaning.ts';
import { NormalisedLists } from './normalised-lists.ts';
import { sampleCaches } from '../../testing/sample-caches.ts';

/** What was looked at, and what was told. */
function views(): { views: NormalisedLists; cleaned: string[]; events: CleaningEvent[] } {
  const cleaned: string[] = [];
  const events: CleaningEvent[] = [];
  const clean = (text: string): { text: string; modified: string[] } => {
    cleaned.push(text);
    return { text: text.replace('dirt', 'clean'), modified: text.includes('dirt') ? ['description'] : [] };
  };
  const of = catalog({ disabled: disabledTools(['off']), clean });
  const onCleaned = (event: CleaningEvent): void => void events.push(event);
  return {
    views: new NormalisedLists({ catalog: of, isPinned: true, caches: sampleCaches(), onCleaned }),
    cleaned,
    events,
  };
}
const tool = (name: string, description = `Does ${name}.`): string => JSON.stringify({ name, description });
const many = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => {
    const properties = { a: { type: 'string', description: 'x'.repeat(300) }, b: { type: 'integer' } };
    return JSON.stringify({ name: `t${i}`, description: `${i}`, inputSchema: { type: 'object', properties } });
  });

describe('a list', () => {
  test('is prepared once, however many ask for it at the same time', async () => {
    const { views: all, cleaned } = views();
    const list = `[${tool('a')},${tool('b')}]`;
    const [one, two] = await Promise.all([all.of(list), all.of(list)]);
    expect(two).toBe(one);
    expect(await all.of(list)).toBe(one);
    expect(all.known(one?.key ?? '')).toBe(one);
    expect(cleaned).toHaveLength(2);
  });

  test('costs only what is new in it', async () => {
    const { views: all, cleaned } = views();
    const first = await all.of(`[${tool('a', 'dirt')},${tool('b')},${tool('off')}]`);
    cleaned.length = 0;
    const second = await all.of(`[ ${tool('c')}, ${tool('b')}, ${tool('a', 'dirt')} ]`);
    expect(cleaned).toEqual([tool('c')]);
    expect(second.shown).toEqual([tool('c'), tool('b'), tool('a', 'clean')]);
    expect(first.shown).toEqual([tool('a', 'clean'), tool('b')]);
    const again = await all.of(`[${tool('b')},${tool('a', 'dirt')}]`);
    expect(again.baseline).toEqual(first.baseline);
  });

  test('is told of in one event, with what is new', async () => {
    const { views: all, events } = views();
    await all.of(`[${tool('a', 'dirt')},${tool('b', 'dirt')},${tool('c')}]`);
    await all.of(`[${tool('a', 'dirt')},${tool('b', 'dirt')}]`);
    const first = ['a', 'b'].map((name) => ({ name, fields: ['description'] }));
    expect(events).toEqual([{ tools: 2, first, blocked: false }]);
    await all.of(`[${tool('a', 'dirt')},${tool('d', 'dirt')}]`);
    expect(events.slice(1)).toMatchObject([{ tools: 1, first: [{ name: 'd' }] }]);
  });

  test('of 5,000 tools does not keep others from the event loop', async () => {
    const { views: all } = views();
    await all.of(`[${many(500).join(',')}]`);
    const list = `[${many(5_000).join(',')}]`;
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const { shown } = await all.of(list);
    clearInterval(timer);
    delay.disable();
    expect(shown).toHaveLength(5_000);
    expect(turns).toBeGreaterThan(5);
  });

  test('hides a definition that is longer than a million characters, and says so', async () => {
    const { views: all, cleaned, events } = views();
    const long = tool('long', 'x'.repeat(1 << 20));
    const { view } = await all.of(`[${tool('a', 'dirt')},${long},${tool('b')}]`);
    expect(view.tools.map(({ name }) => name)).toEqual(['a', 'b']);
    expect([...view.blocked]).toEqual(['long']);
    expect(cleaned).toEqual([tool('a', 'dirt'), tool('b')]);
    expect(events).toEqual([
      { tools: 1, first: [{ name: 'long', fields: ['longer than 1048576 characters'] }], blocked: true },
      { tools: 1, first: [{ name: 'a', fields: ['description'] }], blocked: false },
    ]);
  });

  test.each([
    ['more than 20000 tools', () => `[${'{},'.repeat(20_000)}{}]`],
    ['longer than 16777216 characters', () => `["${'x'.repeat(16 << 20)}"]`],
  ])('that is %s is none', async (why, list) => {
    const { views: all } = views();
    const message = expect.stringContaining(why) as string;
    await expect(all.of(list())).rejects.toMatchObject({ code: 'upstream_failed', message });
  });
});
