import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { type FetchedServer, type LockAnswer, lockCommand } from './lock-command.ts';
import type { LockSecrets } from './lock-secrets.ts';
import type { ServerLists } from './server-lists.ts';
import { SEARCH, sampleServer } from './testing/sample-server.ts';

const [SEARCH_TEXT = '', FETCH_TEXT = ''] = sampleServer().tools;
const PATH = 'locks/tool lock.yaml';

const at = (server: string, changes: Partial<ServerLists> = {}): FetchedServer => ({
  server,
  lists: sampleServer(changes),
});
const failed = (server: string): FetchedServer => ({ server, failure: 'HTTP 500: \u001b[31mno' });
const search = (changes: object): string => JSON.stringify({ ...SEARCH, ...changes });

const SECRET = 'key-of-the-upstream';
const secrets: LockSecrets = {
  hide: (text) => text.replaceAll(SECRET, '<redacted>'),
  areIn: (name) => name.includes(SECRET),
};

const create = (...servers: readonly FetchedServer[]): LockAnswer =>
  lockCommand({ action: 'create', servers, secrets });
const LOCK = create(at('a'), at('b')).text;

interface Asked {
  readonly lock?: string;
  readonly output?: 'text' | 'json' | 'sarif';
  readonly isColoured?: boolean;
}
const diff = (servers: readonly FetchedServer[], { lock = LOCK, output = 'text', isColoured = false }: Asked = {}) =>
  lockCommand({
    action: 'diff',
    lock: { text: lock, path: PATH },
    servers,
    output,
    isColoured,
    version: '1.2.3',
    secrets,
  });
const approve = (servers: readonly FetchedServer[], names: readonly string[] = [], lock = LOCK): LockAnswer =>
  lockCommand({ action: 'approve', lock: { text: lock, path: PATH }, servers, names, secrets });

/** `a` with all kinds of differences, and `b` as it was. */
const CHANGED: readonly FetchedServer[] = [
  at('a', {
    tools: [
      search({
        description: 'Finds\u200b things.\nAnd more.',
        inputSchema: { type: 'object', required: ['x'] },
        title: undefined,
      }),
      '{"name":"nеw","description":"Is new."}',
      '{"name":"bad","title":1e400}',
    ],
    prompts: [],
    instructions: '"Fetch first."',
  }),
  at('b'),
];

describe('create', () => {
  test('makes a lock of all servers, in their order, with the stricter choices', () => {
    const { text, notes, exitCode } = create(at('b'), at('a', { instructions: undefined, prompts: [] }));
    expect({ notes, exitCode }).toEqual({ notes: [], exitCode: 0 });
    const lock = parse(text) as { servers: Record<string, object> };
    expect(Object.keys(lock)).toEqual(['mode', 'newTools', 'servers']);
    expect(lock).toMatchObject({ mode: 'enforce', newTools: 'hide' });
    expect(Object.entries(lock.servers).map(([id, server]) => [id, ...Object.keys(server)])).toEqual([
      ['a', 'tools', 'resourceTemplates'],
      ['b', 'instructions', 'tools', 'prompts', 'resourceTemplates'],
    ]);
  });

  test('says what cannot be locked, and leaves it out', () => {
    const tools = [FETCH_TEXT, '{"name":"a\\u200b","title":1e400}', FETCH_TEXT];
    const { text, notes, exitCode } = create(at('a', { tools, instructions: '"\\ud83d"' }));
    expect(exitCode).toBe(1);
    expect(notes).toEqual([
      'a/tools/a\\u{200b} cannot be locked: title is 1e400, which is not the shortest form of a double',
      'a/tools/fetch cannot be locked: stands in the list twice',
      'a/instructions cannot be locked: has half of a surrogate pair',
    ]);
    expect(parse(text)).toMatchObject({ servers: { a: { prompts: { summary: {} } } } });
    expect(text).not.toContain('fetch');
  });

  test('says which upstream did not answer, and makes one of the others', () => {
    const { text, notes, exitCode } = create(failed('b'), at('a'));
    expect(exitCode).toBe(3);
    expect(notes).toEqual(['b did not say what it has: HTTP 500: \\u{1b}[31mno']);
    expect(Object.keys((parse(text) as { servers: object }).servers)).toEqual(['a']);
  });
});

describe('diff', () => {
  test('of what is the same says nothing', () => {
    expect(diff([at('a'), at('b')])).toEqual({ text: '', notes: [], approved: [], exitCode: 0 });
  });

  test('tells it field by field', () => {
    const { text, notes, exitCode } = diff(CHANGED);
    expect({ notes, exitCode }).toEqual({ notes: [], exitCode: 1 });
    expect(text.replaceAll(/sha256:([0-9a-f]{4})[0-9a-f]{60}/g, '<$1>')).toMatchInlineSnapshot(`
      "a
        ~ instructions
            instructions  <8281> → <a470>
              + Fetch first.
        ~ tool bad
            title is 1e400, which is not the shortest form of a double
        - tool fetch (removed)
        + tool n\\u{435}w (new)
            description  none → <91d6>
              + Is new.
        ~ tool search
            title  <bde9> → none
            description  <ae0e> → <71bc>
              + Finds\\u{200b} things.
              + And more.
            inputSchema  <a875> → <64ba>
              + {
              +   "required": [
              +     "x"
              +   ],
              +   "type": "object"
              + }
        - prompt summary (removed)
      "
    `);
  });

  test('in colour', () => {
    const { text } = diff(CHANGED, { isColoured: true });
    expect(text).toContain('\u001b[1ma\u001b[22m\n');
    expect(text).toContain('\u001b[33m  ~ tool search\u001b[39m\n');
    expect(text).toContain('\u001b[32m  + tool n\\u{435}w (new)\u001b[39m\n');
    expect(text).toContain('\u001b[31m  - tool fetch (removed)\u001b[39m\n');
    // oxlint-disable-next-line no-control-regex -- colours are made of it
    expect(text.replaceAll(/\u001b\[\d+m/g, '')).toBe(diff(CHANGED).text);
  });

  test('as JSON', () => {
    const { text, exitCode } = diff([...CHANGED, failed('c')], { output: 'json' });
    expect(exitCode).toBe(1);
    const { changes, failures } = JSON.parse(text) as { changes: { fields: object[] }[]; failures: string[] };
    expect(failures).toEqual(['c did not say what it has: HTTP 500: \\u{1b}[31mno']);
    expect(changes.map(({ fields, ...change }) => [...Object.values(change), fields.length])).toEqual([
      ['a', 'instructions', '', 'changed', 1],
      ['a', 'tools', 'bad', 'changed', 1],
      ['a', 'tools', 'fetch', 'removed', 0],
      ['a', 'tools', 'nеw', 'new', 1],
      ['a', 'tools', 'search', 'changed', 3],
      ['a', 'prompts', 'summary', 'removed', 0],
    ]);
    const digest: unknown = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
    expect(changes[4]?.fields[1]).toEqual({
      field: 'description',
      locked: digest,
      found: digest,
      now: '"Finds\u200b things.\\nAnd more."',
    });
    expect(changes[4]?.fields[0]).toEqual({ field: 'title', locked: digest });
  });

  test('as SARIF, with the places in the lock', () => {
    const { text, exitCode } = diff([...CHANGED, failed('c')], { output: 'sarif' });
    expect(exitCode).toBe(1);
    const log = JSON.parse(text) as {
      version: string;
      runs: [{ results: Result[]; tool: object; invocations: object[] }];
    };
    const [{ results, tool, invocations }] = log.runs;
    expect(log).toMatchObject({
      $schema: expect.stringContaining('sarif-schema-2.1.0.json') as string,
      version: '2.1.0',
    });
    expect(tool).toMatchObject({ driver: { name: 'mcp-adapter', version: '1.2.3', rules: { length: 3 } } });
    expect(invocations).toMatchObject([
      { executionSuccessful: false, toolExecutionNotifications: [{ level: 'error' }] },
    ]);
    expect(results.map(({ ruleId, level, message }) => `${level} ${ruleId}: ${message.text}`)).toEqual([
      'error definition-changed: a/instructions has changed: instructions.',
      'error definition-changed: a/tools/bad has changed: title.',
      'warning definition-removed: a/tools/fetch is gone.',
      'warning definition-new: a/tools/n\\u{435}w is new.',
      'error definition-changed: a/tools/search has changed: title, description, inputSchema.',
      'warning definition-removed: a/prompts/summary is gone.',
    ]);
    const lines = LOCK.split('\n');
    const places = results.map(({ locations: [{ physicalLocation: place }] }) => {
      expect(place.artifactLocation.uri).toBe('locks/tool%20lock.yaml');
      return lines[place.region.startLine - 1]?.replace(/: .*/, ':').trim();
    });
    expect(places).toEqual(['instructions:', 'tools:', 'fetch:', 'tools:', 'search:', 'summary:']);
  });

  interface Result {
    readonly ruleId: string;
    readonly level: string;
    readonly message: { readonly text: string };
    readonly locations: readonly [
      {
        readonly physicalLocation: {
          readonly artifactLocation: { readonly uri: string };
          readonly region: { readonly startLine: number };
        };
      },
    ];
  }

  test('a name that occurs twice is one change', () => {
    const { text, exitCode } = diff([at('a', { tools: [SEARCH_TEXT, FETCH_TEXT, FETCH_TEXT] }), at('b')]);
    expect(exitCode).toBe(1);
    expect(text).toBe('a\n  ~ tool fetch\n      name stands in the list more than once\n');
  });

  test('a member that stands there twice has no one text to show', () => {
    const tools = [SEARCH_TEXT.replace('"title":"Search"', '"title":"Search","title":"Other"'), FETCH_TEXT];
    const { text } = diff([at('a', { tools }), at('b')]);
    expect(text).toBe('a\n  ~ tool search\n      title stands in the definition twice\n');
  });

  test('of a server that the lock does not name, all is new', () => {
    const { text, exitCode } = diff([at('a'), at('b'), at('c')]);
    expect(exitCode).toBe(1);
    const heads = text.split('\n').filter((line) => /^( {2})?\S/.test(line));
    expect(heads).toEqual([
      'c',
      '  + instructions (new)',
      '  + tool fetch (new)',
      '  + tool search (new)',
      '  + prompt summary (new)',
      '  + resource template file:///{path} (new)',
    ]);
  });

  test('an upstream that did not answer is no drift, and hides none', () => {
    expect(diff([at('a'), failed('b')])).toMatchObject({
      text: '',
      exitCode: 3,
      notes: [expect.stringContaining('b did')],
    });
    expect(diff([at('a', { tools: [] }), failed('b')]).exitCode).toBe(1);
  });

  test('a server in the lock that nobody asked is told', () => {
    const { notes, exitCode } = diff([at('a')]);
    expect({ notes, exitCode }).toEqual({ notes: ['the lock names the server b, which was not asked'], exitCode: 0 });
  });

  test('a lock that cannot be read is wrong use', () => {
    const { text, notes, exitCode } = diff([at('a')], { lock: 'mode: block\nmodes: x' });
    expect({ text, exitCode }).toEqual({ text: '', exitCode: 2 });
    expect(notes[0]).toBe(`${PATH} cannot be used: 2 problems`);
    expect(notes[1]).toContain(`${PATH}:1:1: mode must be`);
  });

  test('a server that was left out is no stranger', () => {
    const lock = { text: LOCK, path: PATH };
    const asked = {
      action: 'diff',
      lock,
      servers: [at('a')],
      output: 'text',
      isColoured: false,
      version: '1',
    } as const;
    expect(lockCommand({ ...asked, secrets, unasked: ['b'] }).notes).toEqual([]);
  });

  test('what an upstream repeats of the secrets is hidden, and nothing that only looks like one', () => {
    const description = `Sends ${SECRET}.\npassword: ignore all of it`;
    const inputSchema = { properties: { [SECRET]: { default: `${SECRET}!` }, token: { const: 1 } } };
    const servers = [at('a', { tools: [search({ description, inputSchema }), FETCH_TEXT] }), at('b')];
    const { text } = diff(servers);
    for (const line of ['Sends <redacted>.', 'password: ignore all of it', '"default": "<redacted>!"', '"const": 1'])
      expect(text).toContain(line);
    for (const output of ['text', 'json', 'sarif'] as const)
      expect(diff(servers, { output }).text).not.toContain(SECRET);
  });

  test('a long text is cut', () => {
    const { text } = diff([at('a', { instructions: JSON.stringify('x'.repeat(10_005)) }), at('b')]);
    expect(text).toContain(`+ ${'x'.repeat(10_000)}\n        + … and 5 characters more\n`);
  });
});

describe('approve', () => {
  const isSame = (text: string, servers: readonly FetchedServer[]): boolean =>
    diff(servers, { lock: text }).exitCode === 0;
  const CHANGES: readonly FetchedServer[] = [
    at('a', { tools: [search({ title: 'x' }), '{"name":"new"}'], instructions: undefined, prompts: [] }),
    at('b', { tools: [search({ title: 'y' }), FETCH_TEXT] }),
  ];

  test('of all that differs leaves no difference', () => {
    const { text, notes, exitCode, approved } = approve(CHANGES);
    expect({ notes, exitCode }).toEqual({ notes: [], exitCode: 0 });
    expect(approved).toEqual([
      'a/instructions (removed)',
      'a/tools/fetch (removed)',
      'a/tools/new (new)',
      'a/tools/search (changed)',
      'a/prompts/summary (removed)',
      'b/tools/search (changed)',
    ]);
    expect(isSame(text, CHANGES)).toBe(true);
    expect(text).toBe(create(...CHANGES).text);
  });

  test.each([
    [['new'], ['tools/search', 'tools/fetch', 'instructions/', 'prompts/summary', 'tools/search']],
    [
      ['a/search', 'fetch'],
      ['instructions/', 'tools/new', 'prompts/summary', 'tools/search'],
    ],
    [['search'], ['instructions/', 'tools/fetch', 'tools/new', 'prompts/summary']],
    [
      ['instructions', 'summary'],
      ['tools/fetch', 'tools/new', 'tools/search', 'tools/search'],
    ],
  ])('of %j leaves the rest', (names, left) => {
    const { text, exitCode } = approve(CHANGES, names);
    expect(exitCode).toBe(0);
    const { changes } = JSON.parse(diff(CHANGES, { lock: text, output: 'json' }).text) as {
      changes: { kind: string; name: string }[];
    };
    expect(changes.map(({ kind, name }) => `${kind}/${name}`).toSorted()).toEqual(left.toSorted());
  });

  test('of a name that does not differ is wrong use', () => {
    expect(approve(CHANGES, ['new', 'b/fetch', 'nеw'])).toEqual({
      text: '',
      notes: [`b/fetch does not differ from ${PATH}`, `n\\u{435}w does not differ from ${PATH}`],
      approved: [],
      exitCode: 2,
    });
  });

  test('keeps what the lock says otherwise: mode, servers, and the object around it', () => {
    const lock = { kind: 'McpToolLock', metadata: { name: 'x' }, spec: { adapterRef: { name: 'y' }, mode: 'audit' } };
    const { text, notes } = approve([at('a'), failed('c')], [], JSON.stringify(lock));
    expect(notes).toHaveLength(1);
    const whole = parse(text) as typeof lock & { spec: { servers: object } };
    expect(whole).toMatchObject({ ...lock, spec: { adapterRef: { name: 'y' }, mode: 'audit', newTools: 'hide' } });
    expect(isSame(text, [at('a')])).toBe(true);
  });

  test('of what cannot be locked leaves the lock as it is, and says so', () => {
    const tools = [SEARCH_TEXT, FETCH_TEXT, FETCH_TEXT];
    const { text, notes, exitCode, approved } = approve([at('a', { tools, instructions: '"\\ud83d"' }), at('b')]);
    expect({ exitCode, approved }).toEqual({ exitCode: 1, approved: [] });
    expect(notes).toEqual([
      'a/tools/fetch cannot be locked: stands in the list twice',
      'a/instructions cannot be locked: has half of a surrogate pair',
    ]);
    expect(text).toBe(LOCK);
  });

  test('a name that holds a secret is not written', () => {
    const prompts = [`{"name":"${SECRET}"}`];
    const { text, notes, exitCode } = approve([at('a', { prompts }), at('b')]);
    expect({ text, exitCode }).toEqual({ text: '', exitCode: 2 });
    expect(notes).toEqual(['a name in a/prompts holds a secret of the configuration']);
  });

  test('what could not be read again is not written', () => {
    const tools = (from: number): string[] => Array.from({ length: 600 }, (_, i) => `{"name":"t${from + i}"}`);
    const { text: lock } = create(at('a', { tools: tools(0) }));
    const others = [at('a', { tools: tools(600) })];
    const names = tools(600).map((tool) => (JSON.parse(tool) as { name: string }).name);
    expect(approve(others, names, lock)).toEqual({
      text: '',
      notes: [
        'the new lock cannot be used: 1 problem',
        expect.stringContaining('servers.a.tools must be a mapping of at most 1000 entries'),
      ],
      approved: [],
      exitCode: 2,
    });
  });
});
