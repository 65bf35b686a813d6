import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, test } from 'vitest';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { lockDocument, toolLock } from '../testing/locks.ts';
import { cachedLock, lockText, MAX_LOCK_BYTES } from './cached-lock.ts';
import { lockPlan, locksOfAdapter } from './locks-of-adapter.ts';

it('keeps the digest of the document as one text, and nothing that is of no use', () => {
  const given = toolLock('one', { document: { mode: 'audit', ...lockDocument(1) }, status: { drifted: 1 } });
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', team: 'a' };
  const managedFields = [{ manager: 'kubectl', operation: 'Apply' as const }];
  const { content, ...lock } = cachedLock({ ...given, metadata: { ...given.metadata, annotations, managedFields } });
  const { text, ...read } = lockText(given['spec']);
  expect(JSON.parse(text)).toEqual({ mode: 'audit', ...lockDocument(1) });
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
  expect(read).toEqual({ digest, refusal: undefined });
  expect(content).toEqual(read);
  expect(lock).toEqual({
    ...given,
    metadata: { ...given.metadata, annotations: { team: 'a' } },
    spec: { adapterRef: { name: 'demo' } },
  });
});

it('takes 1,000 tools with all fields, well below what a ConfigMap holds', () => {
  const large = toolLock('large', { document: lockDocument(1000) });
  const { text, refusal } = lockText(large['spec']);
  expect(refusal).toBeUndefined();
  expect(text.length).toBeGreaterThan(750_000);
  expect(text.length).toBeLessThan(MAX_LOCK_BYTES * 0.8);
});

it('keeps less than 10 KB of a lock of 1,000 tools in memory', () => {
  const given = JSON.stringify(toolLock('large', { document: lockDocument(1000) }));
  const before = heapUsed();
  const kept = Array.from({ length: 20 }, () => cachedLock(JSON.parse(given) as KubernetesObject));
  expect((heapUsed() - before) / kept.length).toBeLessThan(10_000);
  expect(new Set(kept.map(({ content }) => content.digest)).size).toBe(1);
});

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

it('refuses what does not fit into a ConfigMap, with both numbers', () => {
  const { servers } = lockDocument(1000) as { servers: { files: object } };
  const { content } = cachedLock(toolLock('large', { document: { servers: { ...servers, more: servers.files } } }));
  expect(content).toMatchObject({ digest: '', refusal: { reason: 'TooLarge' } });
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
  expect(content).toMatchObject({ digest: '', refusal: { reason: 'InvalidSpec' } });
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
