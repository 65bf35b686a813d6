import { describe, expect, it } from 'vitest';
import { loadAdapterConfig } from './load.ts';
import type { Problem } from './problem.ts';
import { problemsOf } from '../testing/adapter-config.ts';

const servers = 'servers: [{id: a, mount_path: /a, upstream: {url: "http://a/mcp"}}]';

const count = (times: number, of: (index: number) => string): string =>
  Array.from({ length: times }, (_, i) => of(i)).join('');

/** A list with an anchor that repeats something ten times. */
const level = (name: string, of: string): string =>
  `${name}: &${name} [${Array.from({ length: 10 }, () => of).join(', ')}]`;

describe('YAML that is broken', () => {
  it.each([
    ['an unclosed quote', 'core:\n  host: "abc\n', 3, 'Missing closing "quote'],
    ['a tab', 'core:\n\tport: 1\n', 2, 'tabs cannot indent'],
    ['two documents', `${servers}\n---\ncore: {}\n`, 2, 'more than one document'],
    ['a tag', `core: {host: !env HOST}\n${servers}`, 1, 'this tag (!name) is not known'],
    ['an alias without an anchor', `core:\n  auth:\n    token: *sesame\n${servers}`, 3, 'has no anchor'],
    ['a key that is a list', `? [a]\n: b\n${servers}`, 1, 'a key must be plain text'],
  ])('names the line: %s', (_name, text, line, part) => {
    const problem = problemsOf(text).find(({ message }) => message.includes(part));
    expect(problem).toMatchObject({ path: '', line });
  });

  it('nested without an end is reported once for each place', () => {
    const problems = problemsOf('['.repeat(50_000));
    const tooDeep = problems.find(({ message }) => message.includes('nested too deeply'));
    expect(tooDeep).toMatchObject({ path: '', line: 1 });
    const places = problems.map(({ line, column }) => `${line}:${column}`);
    expect(new Set(places).size).toBe(places.length);
  });

  it('is never quoted in the message', () => {
    for (const text of [
      'password: *sesame',
      'password: "a\\qsesame"',
      'a: |sesame\n b',
      'a: [sesame',
      'a: b: sesame',
    ]) {
      expect(JSON.stringify(problemsOf(text))).not.toContain('sesame');
    }
  });

  it('that repeats aliases without end is refused', () => {
    const text = [level('a', 'x'), level('b', '*a'), level('c', '*b'), level('d', '*c'), level('e', '*d')].join('\n');
    expect(problemsOf(text)).toEqual([
      { path: '', message: expect.stringContaining('aliases in this file cannot be resolved') },
    ]);
  });

  it('M8 T17: with 6,000 aliases is refused, and in less than a second', () => {
    const text = `a: &a 1\nb: [${'*a, '.repeat(6000)}]\n${servers}`;
    const start = process.threadCpuUsage();
    const problems = problemsOf(text);
    const { user, system } = process.threadCpuUsage(start);
    expect(problems).toEqual([
      { path: '', message: expect.stringContaining('has 6000 aliases (*name); at most 1000') },
    ]);
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  it.each([
    ['20,000 aliases', `a: &a 1\nb: [${'*a, '.repeat(20_000)}]\n${servers}`, 'has 20000 aliases'],
    ['keys of one mapping', `core: {${count(20_000, (i) => `k${i}: 1, `)}}\n${servers}`, 'is not a known key'],
    ['a key that is set again and again', `core:\n${'  port: 1\n'.repeat(20_000)}${servers}`, 'is set twice'],
    ['errors', `core:\n${'  a: "\\q"\n'.repeat(20_000)}${servers}`, 'invalid escape sequence'],
    [
      'mappings that are merged',
      `a: &a {${count(2000, (i) => `k${i}: 1, `)}}\n${count(900, (i) => `m${i}: {<<: *a}\n`)}${servers}`,
      'repeat too much',
    ],
    [
      'numbers that are read as they are written',
      `sources: [{scrape: {extraArgs: {${count(20_000, (i) => `k${i}: 1.0, `)}}}}]`,
      'servers is required',
    ],
  ])('M8 T17: hundreds of kilobytes of %s take seconds at most, and make a bounded list', (_name, text, part) => {
    let problems: readonly Problem[] = [];
    const start = process.threadCpuUsage();
    problems = problemsOf(text);
    const { user, system } = process.threadCpuUsage(start);
    expect(problems.map(({ path, message }) => `${path} ${message}`)).toContainEqual(expect.stringContaining(part));
    expect(problems.length).toBeLessThanOrEqual(2001);
    expect((user + system) / 1000).toBeLessThan(5000);
  });

  it('names the place of an anchor that was set again', () => {
    const text = `core: &x {port: 1}\nuploads: &x {ttl_seconds: 0}\nsessions: *x\n${servers}`;
    expect(problemsOf(text)).toContainEqual(expect.objectContaining({ path: 'sessions.ttl_seconds', line: 2 }));
  });

  it('that repeats a large value very often is refused', () => {
    const large = `a: &a [${'1,'.repeat(10_000)}]`;
    const text = `${large}\nb: [${'*a ,'.repeat(100)}]`;
    expect(problemsOf(text)).toEqual([{ path: '', message: expect.stringContaining('they repeat too much') }]);
  });

  it('may use an anchor in each of many servers', () => {
    const many = Array.from({ length: 300 }, (_, i) => `  - {<<: *base, id: s${i}, mount_path: /s${i}}`).join('\n');
    const text = `servers:\n  - &base {id: base, mount_path: /base, upstream: &up {url: "http://a"}, upstream_ping: {}}\n${many}\n`;
    expect(loadAdapterConfig(text, {}).servers).toHaveLength(301);
  });

  it.each(['a: &a {b: *a}', 'a: &a [*a]', 'a: &a {b: {c: [*a]}}'])('that contains itself is refused: %s', (text) => {
    expect(problemsOf(text)).toEqual([{ path: '', message: expect.stringContaining('alias of itself') }]);
  });

  it('with a key set twice is still checked in full', () => {
    const text = `core:\n  port: 1\n  port: 0\n${servers}\nuploads: {ttl_seconds: 0}\ncore: {}\n`;
    expect(problemsOf(text).map(({ path, line, column }) => [path, line, column])).toEqual([
      ['core.port', 3, 3],
      ['uploads.ttl_seconds', 5, 11],
      ['core', 6, 1],
    ]);
  });

  it('names a key set twice inside a list', () => {
    const text = 'servers:\n  - id: a\n    mount_path: /a\n    id: b\n    upstream: {url: "http://a"}\n';
    expect(problemsOf(text)).toMatchObject([
      { path: 'servers[0].id', message: 'is set twice; keep one of the two', line: 4 },
    ]);
  });
});
