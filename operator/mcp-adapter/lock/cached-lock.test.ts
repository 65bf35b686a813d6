import { createHash } from 'node:crypto';
import { expect, it, test } from 'vitest';
import { lockDocument, toolLock } from '../testing/locks.ts';
import { cachedLock, MAX_LOCK_BYTES } from './cached-lock.ts';
import { lockPlan, locksOfAdapter } from './locks-of-adapter.ts';

it('keeps the document as one text, with its digest, and nothing that is of no use', () => {
  const given = toolLock('one', { document: { mode: 'audit', ...lockDocument(1) }, status: { drifted: 1 } });
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', team: 'a' };
  const managedFields = [{ manager: 'kubectl', operation: 'Apply' as const }];
  const { content, ...lock } = cachedLock({ ...given, metadata: { ...given.metadata, annotations, managedFields } });
  expect(content.refusal).toBeUndefined();
  expect(JSON.parse(content.text)).toEqual({ mode: 'audit', ...lockDocument(1) });
  expect(content.digest).toBe(createHash('sha256').update(content.text).digest('hex').slice(0, 32));
  expect(lock).toEqual({
    ...given,
    metadata: { ...given.metadata, annotations: { team: 'a' } },
    spec: { adapterRef: { name: 'demo' } },
  });
});

it('takes 1,000 tools with all fields, well below what a ConfigMap holds', () => {
  const { content } = cachedLock(toolLock('large', { document: lockDocument(1000) }));
  expect(content.refusal).toBeUndefined();
  expect(content.text.length).toBeGreaterThan(750_000);
  expect(content.text.length).toBeLessThan(MAX_LOCK_BYTES * 0.8);
});

it('refuses what does not fit into a ConfigMap, with both numbers', () => {
  const { servers } = lockDocument(1000) as { servers: { files: object } };
  const { content } = cachedLock(toolLock('large', { document: { servers: { ...servers, more: servers.files } } }));
  expect(content).toMatchObject({ text: '', refusal: { reason: 'TooLarge' } });
  expect(content.refusal?.message).toMatch(/^The lock is 1\d{6} bytes long, and the ConfigMap .* can hold 1048576\. /);
});

test.each([
  [
    'a digest of another form',
    { servers: { files: { tools: { a: { digest: 'md5:1', fields: {} } } } } },
    'spec.servers.files.tools.a.digest ',
  ],
  ['a name that is too long', { servers: { ['x'.repeat(1025)]: {} } }, 'spec.servers'],
  ['more tools than there may be', lockDocument(1001), 'spec.servers.files.tools '],
  ['a field that nobody knows', { mod: 'audit' }, 'spec.mod '],
  ['a member that parsers lose', { servers: JSON.parse('{"__proto__":{}}') as object }, 'spec.servers.__proto__ '],
])('refuses %s', (_what, document, path) => {
  const { content } = cachedLock(toolLock('bad', { document }));
  expect(content).toMatchObject({ text: '', digest: '', refusal: { reason: 'InvalidSpec' } });
  expect(content.refusal?.message).toContain(path);
});

test.each([undefined, null, 'text', [], { adapterRef: 'demo' }])('takes a spec of any shape: %j', (spec) => {
  const { content, spec: kept } = cachedLock({ ...toolLock('odd'), spec });
  expect(content.refusal?.reason).toBe('InvalidSpec');
  expect(kept).toEqual({});
});

const at = (name: string, created: string, more: object = {}) => cachedLock(toolLock(name, { created, ...more }));
const namesOf = (...locks: ReturnType<typeof cachedLock>[]) => {
  const { chosen, others } = locksOfAdapter('demo', locks);
  return [chosen?.metadata.name, ...others.map(({ metadata }) => metadata.name)];
};

it('chooses the oldest, and of one second the first by name; not what is being deleted, or of another adapter', () => {
  const [old, young, younger] = [
    at('b', '2026-01-01T00:00:00Z'),
    at('a', '2026-01-02T00:00:00Z'),
    at('c', '2026-01-02T00:00:00Z'),
  ];
  expect(namesOf(younger, young, old)).toEqual(['b', 'a', 'c']);
  expect(namesOf(at('b', '2026-01-01T00:00:00Z', { deleted: '2026-01-03T00:00:00Z' }), younger)).toEqual(['c']);
  expect(namesOf(at('b', '2026-01-01T00:00:00Z', { adapter: 'other' }))).toEqual([undefined]);
});

it('keeps what is in the pods while the oldest cannot be used; no other takes its place', () => {
  const broken = at('a', '2026-01-01T00:00:00Z', { document: { mode: 'of' } });
  const good = at('b', '2026-01-02T00:00:00Z');
  const live = toolLock('any');
  expect(lockPlan(locksOfAdapter('demo', [broken, good]), live)).toBe('keep');
  expect(lockPlan(locksOfAdapter('demo', [broken, good]), undefined)).toBe('none');
  expect(lockPlan(locksOfAdapter('demo', [good]), live)).toBe('apply');
  expect(lockPlan(locksOfAdapter('demo', []), live)).toBe('none');
});
