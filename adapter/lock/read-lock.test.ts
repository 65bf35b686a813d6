import { describe, expect, test } from 'vitest';

import { ConfigError } from '../../crds/config/load/problem.ts';
import { LockDocument } from '../../crds/config/lock-file/lock-document.ts';
import { lockText } from './lock-text.ts';
import { makeLock } from './make-lock.ts';
import { readLock } from './read-lock.ts';
import { sampleServer } from './testing/sample-server.ts';

const { lock } = makeLock(sampleServer());
const document = LockDocument.parse({
  mode: 'audit',
  newTools: 'allow',
  servers: { b: lock, a: { tools: lock.tools } },
});
const DIGEST = `sha256:${'0'.repeat(64)}`;

describe('a lock that is written and read again is the same', () => {
  test('as a document, servers and names in their order', () => {
    const text = lockText(document);
    expect(readLock(text).document).toEqual(document);
    expect(text.indexOf('\n  a:')).toBeLessThan(text.indexOf('\n  b:'));
    expect(text.indexOf('fetch:')).toBeLessThan(text.indexOf('search:'));
    expect(text).not.toContain('{}');
    const { servers } = document;
    expect(lockText({ ...document, servers: { a: servers['a'] ?? lock, b: lock } })).toBe(text);
  });

  test('as JSON', () => {
    expect(readLock(JSON.stringify(document)).document).toEqual(document);
  });

  test('in an object of Kubernetes, whose other members stay', () => {
    const manifest = {
      apiVersion: 'mcp.example/v1',
      kind: 'McpToolLock',
      metadata: { name: 'tools', labels: { team: 'x' } },
      spec: { adapterRef: { name: 'one' }, mode: 'enforce' },
    };
    const read = readLock(JSON.stringify(manifest));
    expect(read.document).toEqual({ mode: 'enforce', newTools: 'hide', servers: {} });
    const again = readLock(lockText(document, read.manifest));
    expect(again.document).toEqual(document);
    expect(again.manifest).toMatchObject({ metadata: manifest.metadata, spec: { adapterRef: { name: 'one' } } });
  });

  const WORDS = 'null|~|yes|off|1|1e3|0x10|2026-01-01|*a|&a|!a|#a|a: b|- a|? a|{a}|%a|\\|---|...|😀|größe|constructor';
  test.each([...WORDS.split('|'), '"', "'", 'a"b', ' a ', 'a\nb', '\u200b', '\u0085\u2028', 'x'.repeat(1024)])(
    'with a tool named %j',
    (name) => {
      const made = makeLock(sampleServer({ tools: [JSON.stringify({ name })] }));
      expect(made.unlockable).toEqual([]);
      const text = lockText({ ...document, servers: { a: made.lock } });
      expect(readLock(text).document.servers['a']?.tools).toEqual(made.lock.tools);
    },
  );
});

test('where something stands', () => {
  const { lineOf } = readLock(lockText(document));
  const lines = lockText(document).split('\n');
  const line = lineOf(['servers', 'b', 'tools', 'search']) ?? 0;
  expect(lines[line - 1]).toBe('      search:');
  expect(line).toBeGreaterThan(lines.indexOf('  b:') + 1);
  expect(lines[(lineOf(['servers', 'b', 'tools', 'missing']) ?? 0) - 1]).toBe('    tools:');
});

const problemsOf = (text: string): string[] => {
  try {
    readLock(text);
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map(({ line, path, message }) => `${line}: ${path} ${message}`);
    throw error;
  }
  return expect.fail('it can be read');
};

test.each([
  ['no mapping', '[]', /^1: {2}must be/],
  ['a mode that is none', 'mode: block', /^1: mode must be one of audit, enforce, not "?block/],
  ['newTools that is none', 'newTools: deny', /^1: newTools must be one of hide, allow/],
  ['an unknown member', 'mode: audit\nmodes: 1', /^2: modes is not a known key/],
  ['a server that is no mapping', 'servers:\n  a: []', /^2: servers.a must be/],
  ['an unknown member of a server', 'servers:\n  a:\n    resources: {}', /^3: servers.a.resources is not a known key/],
  [
    'an unknown field',
    `servers:\n  a:\n    tools:\n      x:\n        digest: ${DIGEST}\n        fields: {name: '${DIGEST}'}`,
    /^6: servers.a.tools.x.fields.name is not a known key/,
  ],
  [
    'a digest that is none',
    'servers:\n  a:\n    tools:\n      x:\n        digest: sha256:ABC\n        fields: {}',
    /^5: servers.a.tools.x.digest must be sha256: and 64 hexadecimal digits in lower case/,
  ],
  ['no digest', 'servers:\n  a:\n    tools:\n      x:\n        fields: {}', /^4: servers.a.tools.x.digest is required/],
  ['instructions in words', 'servers:\n  a:\n    instructions: Hello', /^3: servers.a.instructions must be sha256/],
  ['a name twice', `servers:\n  a:\n    tools: {}\n  a:\n    tools: {}`, /^4: servers.a is set twice/],
  ['a name twice in JSON', '{"servers":{"a":{},\n"a":{}}}', /^2: servers.a is set twice/],
  [
    'a tool named __proto__',
    `servers:\n  a:\n    tools:\n      __proto__:\n        digest: ${DIGEST}\n        fields: {}`,
    /^4: servers.a.tools.__proto__ is no name that a lock can hold/,
  ],
  ['a server named __proto__', 'servers:\n  __proto__: {}', /^2: servers.__proto__ is no name that a lock can hold/],
  ['a manifest of that', 'kind: McpToolLock\nspec:\n  adapterRef: {}\n  mode: x', /^4: mode must be one of/],
  ['no YAML', 'a: [', /^1: {2}YAML syntax error/],
])('cannot be used: %s', (_what, text, problem) => {
  const [first, ...more] = problemsOf(text);
  expect(first).toMatch(problem);
  expect(more).toEqual([]);
});

test('more than 1,000 tools of a server are too many', () => {
  const entry = { digest: DIGEST, fields: {} };
  const tools = (count: number): string =>
    JSON.stringify({
      servers: { a: { tools: Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, entry])) } },
    });
  expect(Object.keys(readLock(tools(1000)).document.servers['a']?.tools ?? {})).toHaveLength(1000);
  expect(problemsOf(tools(1001)).join()).toContain('servers.a.tools must be a mapping of at most 1000 entries');
});
