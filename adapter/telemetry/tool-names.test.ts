import { describe, expect, test } from 'vitest';

import { OTHER_TOOL, ToolNames } from './tool-names.ts';

const many = (count: number, prefix = 'x'): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

describe('the name of a tool', () => {
  test('is shown when the configuration has it, or its server has listed it', () => {
    const names = new ToolNames(['s1', 's2']);
    names.configured('s1', ['own']);
    names.listed('s1', ['a']);
    expect(['own', 'a', 'b'].map((name) => names.label('s1', name))).toEqual(['own', 'a', OTHER_TOOL]);
    expect(['own', 'a'].map((name) => names.label('s2', name))).toEqual([OTHER_TOOL, OTHER_TOOL]);
    names.listed('s1', ['b']);
    expect(['a', 'b'].map((name) => names.label('s1', name))).toEqual(['a', 'b']);
  });

  test('is not shown for a server that is none', () => {
    const names = new ToolNames(['s1']);
    names.listed('other', ['a']);
    names.configured('other', ['a']);
    expect([names.label('other', 'a'), names.label(undefined, 'a')]).toEqual([OTHER_TOOL, OTHER_TOOL]);
  });

  test('is one of 200 at most for each server, and stays', () => {
    const names = new ToolNames(['s1']);
    names.listed('s1', many(1_000));
    const labels = new Set(many(1_000).map((name) => names.label('s1', name)));
    expect([labels.size, labels.has(OTHER_TOOL), names.label('s1', 'x0')]).toEqual([201, true, 'x0']);
    names.listed('s1', many(10_000, 'y'));
    expect([names.label('s1', 'x0'), names.label('s1', 'y0')]).toEqual(['x0', OTHER_TOOL]);
  });

  test('that is called takes none of these places while nobody has listed it', () => {
    const names = new ToolNames(['s1']);
    expect(new Set(many(10_000).map((name) => names.label('s1', name)))).toEqual(new Set([OTHER_TOOL]));
    names.listed('s1', ['a']);
    expect(names.label('s1', 'a')).toBe('a');
  });

  test('is shown when a call of it has succeeded, up to 100 that no list has shown', () => {
    const names = new ToolNames(['s1']);
    for (const name of ['a', 'a b', 'é', 'x'.repeat(129), '']) names.worked('s1', name);
    names.worked('other', 'a');
    expect(['a', 'a b', 'é', 'x'.repeat(129), ''].map((name) => names.label('s1', name))).toEqual([
      'a',
      ...Array.from({ length: 4 }, () => OTHER_TOOL),
    ]);
    for (const name of many(10_000)) names.worked('s1', name);
    expect(new Set(many(10_000).map((name) => names.label('s1', name))).size).toBe(100);
    names.listed('s1', many(1_000, 'y'));
    expect(new Set(many(1_000, 'y').map((name) => names.label('s1', name))).size).toBe(101);
  });

  test('of a listed tool takes none of these 100', () => {
    const names = new ToolNames(['s1']);
    names.listed('s1', many(150, 'y'));
    for (const name of many(150, 'y')) names.worked('s1', name);
    for (const name of many(150)) names.worked('s1', name);
    expect(names.label('s1', 'x49')).toBe('x49');
    expect(names.label('s1', 'x100')).toBe(OTHER_TOOL);
  });

  test('is forgotten when 5,000 others were listed later, or when it is longer than a name may be', () => {
    const names = new ToolNames(['s1']);
    names.listed('s1', ['old', 'kept']);
    names.listed('s1', many(4_999));
    names.listed('s1', ['kept', 'z'.repeat(129)]);
    expect(['old', 'kept', 'x0', 'z'.repeat(129)].map((name) => names.label('s1', name))).toEqual([
      OTHER_TOOL,
      'kept',
      'x0',
      OTHER_TOOL,
    ]);
  });
});
