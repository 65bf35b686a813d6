import { hash } from 'node:crypto';
import { expect, test } from 'vitest';

import { LockDocument, MAX_LOCKED } from '../../crds/config/lock-file/lock-document.ts';
import { makeLock } from './make-lock.ts';
import { sampleServer } from './testing/sample-server.ts';

const NOTHING = { tools: [], prompts: [], resourceTemplates: [], instructions: undefined };
const sha256 = (text: string): string => `sha256:${hash('sha256', text, 'hex')}`;

test('an entry has a digest of the whole and of each member, by RFC 8785', () => {
  const tool = '{"x-b": 1.0, "title": "T", "name": "a", "inputSchema": {"b": 1, "a": 2}, "x-a": [], "other": null}';
  const { lock, unlockable } = makeLock({ ...NOTHING, tools: [tool] });
  expect(unlockable).toEqual([]);
  expect(lock).toEqual({
    tools: {
      a: {
        digest: sha256('{"inputSchema":{"a":2,"b":1},"name":"a","other":null,"title":"T","x-a":[],"x-b":1}'),
        fields: {
          title: sha256('"T"'),
          inputSchema: sha256('{"a":2,"b":1}'),
          other: sha256('{"other":null,"x-a":[],"x-b":1}'),
        },
      },
    },
    prompts: {},
    resourceTemplates: {},
  });
});

test('all kinds of a server and its instructions are a part of a document', () => {
  const { lock } = makeLock(sampleServer());
  expect(lock.instructions).toBe(sha256('"Search first, then fetch."'));
  expect(Object.keys(lock.tools['search']?.fields ?? {})).toEqual([
    'title',
    'description',
    'inputSchema',
    'outputSchema',
    'annotations',
    'icons',
    '_meta',
    'other',
  ]);
  expect(Object.keys(lock.prompts['summary']?.fields ?? {})).toEqual(['title', 'description', 'arguments']);
  expect(Object.keys(lock.resourceTemplates['file:///{path}']?.fields ?? {})).toEqual([
    'name',
    'description',
    'mimeType',
  ]);
  expect(LockDocument.parse({ servers: { a: lock } })).toEqual({
    mode: 'enforce',
    newTools: 'hide',
    servers: { a: lock },
  });
});

test('the order of a list makes no difference to the order of a lock', () => {
  const tools = ['b', 'a', 'c', 'B', 'é', '10', '9'].map((name) => JSON.stringify({ name }));
  const orders = [tools, tools.toReversed()].map((list) => JSON.stringify(makeLock({ ...NOTHING, tools: list }).lock));
  expect(orders[0]).toBe(orders[1]);
});

test.each([
  ['a tool twice', ['{"name":"a"}', '{"name":"a"}'], 'a', 'stands in the list twice'],
  ['three times', ['{"name":"a"}', '{"name":"a","title":""}', '{"name":"a"}'], 'a', 'stands in the list 3 times'],
  ['a member twice', ['{"name":"a","title":"","title":""}'], 'a', 'title stands in the definition twice'],
  ['an unknown member twice', ['{"name":"a","x":1,"x":1}'], 'a', 'other "x" stands in the definition twice'],
  [
    'a number that is no double',
    ['{"name":"a","inputSchema":{"maximum":18446744073709551615}}'],
    'a',
    'inputSchema maximum is 18446744073709551615, which is not the shortest form of a double',
  ],
  [
    'several at once',
    ['{"name":"a","title":"\\ud83d","x":{"y":[1e400]}}'],
    'a',
    'title has half of a surrogate pair; other "x": y[0] is 1e400, which is not the shortest form of a double',
  ],
  ['half of a pair in a key', ['{"name":"a","\\ud83d":1}'], 'a', 'other has half of a surrogate pair in a key'],
  ['no name', ['{"title":"x"}'], '', 'name is missing, or no string'],
  ['an empty name', ['{"name":""}'], '', 'has a name that a lock cannot hold'],
  ['no object', ['[]'], '', 'name is missing, or no string'],
  ['the name __proto__', ['{"name":"__proto__"}'], '__proto__', 'has a name that a lock cannot hold'],
  ['the name <<', ['{"name":"<<"}'], '<<', 'has a name that a lock cannot hold'],
])('cannot be locked: %s', (_what, tools, name, why) => {
  const { lock, unlockable } = makeLock({ ...NOTHING, tools: [...tools, '{"name":"good"}'] });
  expect(unlockable).toEqual([{ kind: 'tools', name, why }]);
  expect(Object.keys(lock.tools)).toEqual(['good']);
});

test('instructions that have no canonical text cannot be locked', () => {
  const { lock, unlockable } = makeLock({ ...NOTHING, instructions: '"\\ud83d"' });
  expect(unlockable).toEqual([{ kind: 'instructions', name: '', why: 'has half of a surrogate pair' }]);
  expect(lock).not.toHaveProperty('instructions');
});

test('there is a limit to names and to their number', () => {
  const tools = Array.from({ length: MAX_LOCKED + 1 }, (_, i) => `{"name":"tool-${String(i).padStart(4, '0')}"}`);
  const many = makeLock({ ...NOTHING, tools });
  expect(Object.keys(many.lock.tools)).toHaveLength(MAX_LOCKED);
  expect(many.unlockable).toEqual([{ kind: 'tools', name: 'tool-1000', why: 'is one too many: a lock has 1000' }]);
  const [long, longer] = ['x'.repeat(1024), 'y'.repeat(1025)];
  const { lock, unlockable } = makeLock({
    ...NOTHING,
    prompts: [long, longer].map((name) => JSON.stringify({ name })),
  });
  expect(Object.keys(lock.prompts)).toEqual([long]);
  expect(unlockable).toEqual([{ kind: 'prompts', name: longer, why: 'has a name of more than 1024 characters' }]);
  expect(LockDocument.safeParse({ servers: { a: many.lock, b: lock } }).success).toBe(true);
});
