import { describe, expect, test } from 'vitest';

import { ArtifactProducer } from '../../crds/config/adapter-file/entry.ts';
import { type LocateOutput, locateOutput, pathsIn } from './locate-output.ts';

const text = (...texts: string[]): { content: object[] } => ({
  content: texts.map((one) => ({ type: 'text', text: one })),
});

function locator(settings: object): LocateOutput {
  const entry = ArtifactProducer.parse({ type: 'artifact_producer', tools: ['t'], output_locator: settings });
  return locateOutput(entry.output_locator);
}

describe('output_locator structured', () => {
  const locate = locator({ mode: 'structured', output_path_key: 'out. path' });

  test.each<[string, unknown, string[]]>([
    ['a path', { out: { path: '/tmp/a.png' } }, ['/tmp/a.png']],
    ['a list of paths', { out: { path: ['/a', '/b', '/a'] } }, ['/a', '/b']],
    ['a path in a list of objects', { out: [{ path: '/a' }, { other: 1 }, { path: '/b' }] }, ['/a', '/b']],
    ['a URI', { out: { path: 'file:///tmp/a%20b' } }, ['/tmp/a b']],
    ['a path with punctuation at its end', { out: { path: '/tmp/a.' } }, ['/tmp/a.']],
    ['another path', { path: '/tmp/a.png' }, []],
    ['a number', { out: { path: 5 } }, []],
    ['a relative path', { out: { path: 'a.png' } }, []],
    ['null', { out: null }, []],
    ['nothing', undefined, []],
  ])('takes %s', (_name, structuredContent, expected) => {
    expect(locate({ structuredContent })).toEqual(expected);
  });

  test('takes no members that every object has', () => {
    expect(locator({ mode: 'structured', output_path_key: 'constructor.name' })({ structuredContent: {} })).toEqual([]);
  });
});

describe('output_locator regex', () => {
  test('without patterns takes any path in the text blocks, in order', () => {
    const { content } = text('from https://example.com/a/b', 'to /tmp/a.png and `/tmp/b c.png`');
    expect(locator({ mode: 'regex' })({ content: [...content, { type: 'image', data: '/x' }, null, 5] })).toEqual([
      '/tmp/a.png',
      '/tmp/b c.png',
    ]);
  });

  test('tries the patterns in order, with the first group if there is one, and all that they find', () => {
    const locate = locator({ mode: 'regex', output_path_regexes: ['saved: (\\S+)', '/var/\\S+'] });
    expect(locate(text('/var/a and saved: /tmp/1.', 'saved: /tmp/2 /var/b'))).toEqual([
      '/tmp/1.',
      '/tmp/1',
      '/tmp/2',
      '/var/a',
      '/var/b',
    ]);
  });

  test('skips what is no pattern', () => {
    const locate = locator({ mode: 'regex', output_path_regexes: ['(', '(?=/a)x', '/tmp/\\S+'] });
    expect(locate(text('/tmp/a'))).toEqual(['/tmp/a']);
  });

  test('is not held up by a pattern that would backtrack for ever', () => {
    const locate = locator({ mode: 'regex', output_path_regexes: ['(a+)+$', '(/[a-z]+)*x'] });
    const started = process.threadCpuUsage();
    expect(locate(text(`${'a'.repeat(200_000)}!`))).toEqual([]);
    expect(process.threadCpuUsage(started).user / 1_000).toBeLessThan(5_000);
  });

  test('looks at the first megabyte of text only', () => {
    const filler = 'x'.repeat((1 << 20) - 8);
    expect(locator({ mode: 'regex' })(text(filler, '/a/b/c /d'))).toEqual(['/a/b/c']);
  });

  test.each([[undefined], ['text'], [{}]])('finds nothing in content that is %j', (content) => {
    expect(locator({ mode: 'regex' })({ content })).toEqual([]);
  });
});

test.each(['embedded', 'none'])('output_locator %s names no path', (mode) => {
  expect(locator({ mode })({ ...text('/tmp/a'), structuredContent: { path: '/tmp/a' } })).toEqual([]);
});

test('any path in structured content is found, however deep and within reason', () => {
  expect(pathsIn({ a: ['no', { b: '/x' }], c: 'file:///y', d: ['/x'], e: '/etc/' })).toEqual(['/x', '/y']);
  let deep: unknown = '/x';
  for (let i = 0; i < 100; i++) deep = [deep];
  expect(pathsIn(deep)).toEqual([]);
  expect(pathsIn(Array.from({ length: 1000 }, (_, i) => `/${i}`))).toHaveLength(64);
  expect(pathsIn(undefined)).toEqual([]);
});
