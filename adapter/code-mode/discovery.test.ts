import { describe, expect, test } from 'vitest';

import { readCodeArguments } from './code-arguments.ts';
import { answerDiscovery } from './discovery.ts';
import { finished } from './testing/finished.ts';
import { sampleTools } from './testing/sample-tools.ts';
import { ToolIndex } from './search/tool-index.ts';
import { MAX_ANSWER_BYTES } from './bounded.ts';

type Discovery = Parameters<typeof answerDiscovery>[0];

const index = new ToolIndex(sampleTools);
const ask = (tool: Discovery, args: unknown, among = index): string => {
  const { text, isError } = finished(answerDiscovery(tool, args, among));
  expect(isError).toBe(false);
  return text;
};
const problem = (tool: Discovery, args: unknown): string => {
  const { text, isError } = finished(answerDiscovery(tool, args, index));
  expect(isError).toBe(true);
  return text;
};
const of = (...tools: object[]): ToolIndex => new ToolIndex(tools.map((tool) => JSON.stringify(tool)));

describe('search', () => {
  test('answers with a line for each tool, and how many of all they are', () => {
    expect(ask('search', { query: 'merge pull request', limit: 1 })).toBe(
      '1 of 40 tools:\n\n- merge_pull_request: Merge a pull request in a GitHub repository.',
    );
  });

  test('leaves the header out when all tools fit', () => {
    expect(ask('search', { query: 'thing' }, of({ name: 'a_thing' }))).toBe('- a_thing');
  });

  test('answers in detail, and with definitions byte for byte', () => {
    expect(ask('search', { query: 'merge pull request', detail: 'detailed', limit: 1 })).toMatch(
      /^1 of 40 tools:\n\n### merge_pull_request\n> Merge a pull request/,
    );
    const spaced = '{ "name" : "big_thing", "x": 12345678901234567890 }';
    expect(ask('search', { query: 'big', detail: 'full' }, new ToolIndex([spaced, '{"name":"other"}']))).toBe(
      `[${spaced}]`,
    );
  });

  test('keeps to tags, in any case of letters, and to any of several', () => {
    const text = ask('search', { query: 'search', tags: ['MAIL', 'database'] });
    expect(text).toContain('- gmail-search:');
    expect(text).not.toContain('search_code');
    expect(ask('search', { query: 'navigate', tags: ['untagged'] })).toContain('- browser_navigate:');
  });

  test('lists what has a tag when there is no word', () => {
    expect(ask('search', { query: '', tags: ['database'] })).toMatch(/^5 of 40 tools:\n\n- db\.query:/);
  });

  test('says which tags there are when there is no such tag', () => {
    const text = ask('search', { query: 'mail', tags: 'mails' });
    expect(text).toContain('No tool matches "mail".');
    expect(text).toContain(
      'No tool has the tag mails. Tags: calendar, database, filesystem, mail, tickets, write, untagged.',
    );
  });

  test('says how to go on when nothing is found', () => {
    expect(ask('search', { query: 'weather\n# forecast' })).toBe(
      'No tool matches "weather # forecast". Try other or fewer words, or list all tools.',
    );
  });

  test('returns at most fifty tools', () => {
    const many = of(...Array.from({ length: 80 }, (_, i) => ({ name: `thing_${i}` })));
    expect(ask('search', { query: 'thing' }, many)).toMatch(/^50 of 80 tools:/);
    expect(ask('search', { query: 'thing', limit: 1_000 }, many)).toMatch(/^50 of 80 tools:/);
  });
});

describe('get_schema', () => {
  test('shows the tools in the order in which they were asked for, each once', () => {
    const text = ask('get_schema', { tools: ['db.query', 'create_issue', 'db.query'] });
    expect(text.match(/^### .*$/gm)).toEqual(['### db.query', '### create_issue']);
  });

  test('names what it has not found at the end, with similar names', () => {
    const text = ask('get_schema', { tools: ['browser_clik', 'db.query', 'qqqq\n# x'], detail: 'brief' });
    expect(text).toMatch(/^- db\.query: .*\n\nNot found:\n- browser_clik \(similar: browser_click.*\)\n- "qqqq\\n# x"/);
  });

  test('fails when it has found nothing', () => {
    expect(problem('get_schema', { tools: ['qqqq'] })).toBe('Not found:\n- qqqq');
  });

  test('gives definitions as they stand in the list', () => {
    const text = ask('get_schema', { tools: ['db.query', 'db.explain'], detail: 'full' });
    expect(JSON.parse(text)).toEqual(
      sampleTools.map((tool) => JSON.parse(tool) as { name: string }).filter(({ name }) => /query|explain/.test(name)),
    );
  });

  test('takes one name too', () => {
    expect(ask('get_schema', { tools: 'db.query' })).toMatch(/^### db\.query/);
  });

  test('does not name all tools that are missing', () => {
    const text = problem('get_schema', { tools: Array.from({ length: 50 }, (_, i) => `missing${i}`) });
    expect(text).toContain('and 30 more');
    expect(text.length).toBeLessThan(5_000);
  });
});

describe('list_tools', () => {
  test('shows all tools, in the order of the upstream', () => {
    const lines = ask('list_tools', undefined).split('\n');
    expect(lines).toHaveLength(40);
    expect(lines[0]).toBe('- browser_navigate: Navigate to a URL');
    expect(JSON.parse(ask('list_tools', { detail: 'full' }))).toHaveLength(40);
    expect(ask('list_tools', { detail: 'detailed' }).match(/^### /gm)).toHaveLength(40);
  });

  test('says when there are none', () => {
    expect(ask('list_tools', {}, of())).toBe('This server has no tools.');
    expect(ask('list_tools', { detail: 'full' }, of())).toBe('[]');
    expect(ask('tags', {}, of())).toBe('This server has no tools.');
    expect(ask('search', { query: 'x' }, of())).toContain('No tool matches');
  });
});

describe('tags', () => {
  test('are counted, those without come last', () => {
    expect(ask('tags', {})).toBe(
      ['calendar (5)', 'database (5)', 'filesystem (7)', 'mail (6)', 'tickets (7)', 'write (11)', 'untagged (10)']
        .map((line) => `- ${line}`)
        .join('\n'),
    );
  });

  test('are shown with their tools', () => {
    const text = ask('tags', { detail: 'full' });
    expect(text).toMatch(/^### calendar \(5\)\n- calendarCreateEvent: Creates/);
    expect(text).toMatch(/\n\n### untagged \(10\)\n- browser_navigate: Navigate to a URL\n/);
  });
});

describe('every answer is bounded, and says what it leaves out', () => {
  const long = (i: number): object => ({
    name: `thing_${i}`,
    description: 'ü'.repeat(5_000),
    inputSchema: { properties: { a: { description: 'ü'.repeat(900) } } },
    _meta: { tags: [`t${i}${'ü'.repeat(80)}`, 'all'] },
  });
  const many = of(...Array.from({ length: 2_000 }, (_, i) => long(i)));

  test.each<[Discovery, object]>([
    ['list_tools', {}],
    ['list_tools', { detail: 'detailed' }],
    ['list_tools', { detail: 'full' }],
    ['search', { query: 'thing', detail: 'detailed' }],
    ['get_schema', { tools: Array.from({ length: 50 }, (_, i) => `thing_${i}`) }],
    ['tags', {}],
    ['tags', { detail: 'full' }],
  ])('%s %j', (tool, args) => {
    const text = ask(tool, args, many);
    expect(Buffer.byteLength(text)).toBeGreaterThan(MAX_ANSWER_BYTES * 0.9);
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_ANSWER_BYTES * 1.01);
    expect(text).toMatch(/\n\n\d+ more (?:tools|lines) left out: the answer would be too long\./);
  });

  test('and its counts are right', () => {
    const text = ask('list_tools', { detail: 'detailed' }, many);
    const shown = text.match(/^### /gm)?.length ?? 0;
    expect(text).toContain(`${shown} of 2000 tools:`);
    expect(text).toContain(`${2_000 - shown} more tools left out`);
    const [json = '', note = ''] = ask('list_tools', { detail: 'full' }, many).split('\n\n');
    const count = (JSON.parse(json) as unknown[]).length;
    expect(count).toBeGreaterThan(10);
    expect(note).toContain(`${2_000 - count} more tools left out`);
  });

  test('also where one definition alone is too long', () => {
    const text = ask('list_tools', { detail: 'full' }, of({ name: 'a', description: 'x'.repeat(1_000_000) }));
    expect(text).toMatch(/^\[\]\n\n1 more tools left out/);
  });
});

describe('wrong arguments are named, with what is allowed', () => {
  test.each<[Discovery, unknown, RegExp]>([
    ['search', {}, /^query: .*expected string.*Allowed: query \(string\), tags .*limit \(1 to 50\)\.$/],
    ['search', { query: 7 }, /^query: /],
    ['search', { query: 'x', detail: 'all' }, /^detail: .*"brief"\|"detailed"\|"full"/],
    ['search', { query: 'x', limit: 0 }, /^limit: /],
    ['search', { query: 'x', limit: 1.5 }, /^limit: /],
    ['search', { query: 'x', tags: [7] }, /^tags\.0: /],
    ['search', { query: 'x', other: 1 }, /"other"/],
    ['search', { query: ' !? ' }, /^query: no words/],
    ['search', 'x', /expected object/],
    ['search', ['x'], /expected object/],
    ['get_schema', {}, /^tools: .*Allowed: tools \(list of up to 50 names\), detail/],
    ['get_schema', { tools: [] }, /^tools: /],
    ['get_schema', { tools: {} }, /^tools: /],
    ['tags', { detail: 'detailed' }, /^detail: .*Allowed: detail \(brief or full\)\.$/],
    ['list_tools', { x: 1 }, /"x"/],
    ['list_tools', 7, /expected object/],
  ])('%s %j', (tool, args, text) => {
    expect(problem(tool, args)).toMatch(text);
  });

  test('in few words', () => {
    const args = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`argument${i}`, i]));
    expect(problem('tags', args).length).toBeLessThan(1_100);
    expect(() => finished(answerDiscovery('tags', JSON.parse('{"__proto__":{"detail":"full"}}'), index))).not.toThrow();
  });
});

describe('arguments may be so many only that looking at them holds nobody up', () => {
  const LENGTH = 500_000;
  const MOST_MS = 50;
  const deep = (): unknown => JSON.parse(`${'['.repeat(LENGTH)}${']'.repeat(LENGTH)}`);
  const many: readonly (readonly [Discovery, string, () => unknown])[] = [
    ['search', 'tags', () => ({ query: 'x', tags: Array.from({ length: LENGTH }, (_, i) => `t${i}`) })],
    ['search', 'tags that are none', () => ({ query: 'x', tags: Array.from({ length: LENGTH }, () => 1) })],
    ['search', 'tags that just fit', () => ({ query: 'x', tags: Array.from({ length: 16_000 }, () => 1) })],
    ['search', 'characters', () => ({ query: 'x'.repeat(LENGTH) })],
    ['get_schema', 'names', () => ({ tools: Array.from({ length: LENGTH }, (_, i) => `t${i}`) })],
    ['list_tools', 'others', () => Object.fromEntries(Array.from({ length: LENGTH / 10 }, (_, i) => [`a${i}`, i]))],
    ['tags', 'lists in lists', () => ({ detail: deep() })],
    ['list_tools', 'lists instead of them', deep],
  ];

  test.each(many)('%s: %s', (tool, _what, argumentsOf) => {
    const args = argumentsOf();
    const times = [1, 2, 3].map(() => {
      const before = process.cpuUsage();
      expect(problem(tool, args)).toMatch(/longer than 32 KiB|<=50 items/);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    });
    expect(Math.min(...times)).toBeLessThan(MOST_MS);
  });

  test('and tags are looked up, not compared with those of all tools', () => {
    const tags = Array.from({ length: 50 }, (_, i) => `T${i}`);
    const tools = Array.from({ length: 2_000 }, (_, i) => ({ name: `thing_${i}`, _meta: { tags } }));
    const all = of(...tools, { name: 'other_thing' });
    ask('search', { query: 'thing' }, all);
    const times = [1, 2, 3].map(() => {
      const before = performance.now();
      expect(ask('search', { query: '', tags: tags.map((tag) => `${tag.toLowerCase()}!`), limit: 1 }, all)).toContain(
        'No tool',
      );
      expect(ask('search', { query: '', tags: tags.map((tag) => tag.toLowerCase()), limit: 1 }, all)).toContain(
        'thing_0',
      );
      return performance.now() - before;
    });
    expect(Math.min(...times)).toBeLessThan(2 * MOST_MS);
  });

  test('but code may be longer', () => {
    const code = 'x'.repeat(100_000);
    expect(readCodeArguments('execute', { code })).toEqual({ ok: true, args: { code } });
    expect(readCodeArguments('execute', { code, other: code })).toMatchObject({ ok: false });
  });
});

test('a warning about all tools stands once, at the beginning', () => {
  const warnings = { ofAll: 'WARNING: changed', ofTool: new Map<string, string>() };
  const tools = ['a', 'b'].map((name) => JSON.stringify({ name, description: `WARNING: changed\nDoes ${name}.` }));
  const warned = new ToolIndex(tools, warnings);
  expect(ask('list_tools', {}, warned)).toBe('WARNING: changed\n\n- a: Does a.\n- b: Does b.');
  expect(ask('tags', {}, warned)).toBe('WARNING: changed\n\n- untagged (2)');
  expect(ask('list_tools', { detail: 'full' }, warned)).toBe(`[${tools.join(',')}]`);
});
