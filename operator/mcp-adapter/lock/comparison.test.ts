import { describe, expect, it, test } from 'vitest';
import { healthWith } from '../testing/observed.ts';
import { ADAPTER_HEALTH, parseHealth, type PodHealth } from '../health/pod-health.ts';
import { parseToolLock } from '../health/tool-lock-health.ts';
import { comparisonOf } from './comparison.ts';
import { driftEvents } from './drift-events.ts';

const AT = Date.parse('2026-01-02T03:04:05.678Z');
const NONE = { drift: [], new: [], removed: [] };
const tool = (name: string) => ({ kind: 'tools', name });
const drift = (name: string, ...fields: string[]) => ({ kind: 'tools', name, fields });

/** What a pod says of its servers. */
function saying(servers: Record<string, object>, more: object = {}): PodHealth {
  const toolLock = parseToolLock({ problem: null, mode: 'enforce', servers, ...more });
  return healthWith(['files'], toolLock === undefined ? {} : { toolLock });
}
const of = (server: object) => saying({ files: { ...NONE, compared_at: AT, ...server } });
const pendingOf = (health: readonly PodHealth[], before = {}) =>
  comparisonOf(health, ['files'], before).pending.map(({ state, name, fields = [] }) =>
    [state, name, ...fields].join(' '),
  );

it('puts together what pods find, each definition once with all its fields, drift first', () => {
  const health = [
    of({ new: [tool('later')], drift: [drift('search', 'description')] }),
    of({ drift: [drift('search', 'inputSchema'), drift('fetch', 'icons')], removed: [tool('gone')] }),
  ];
  expect(pendingOf(health)).toEqual([
    'drift fetch icons',
    'drift search description inputSchema',
    'new later',
    'removed gone',
  ]);
  expect(comparisonOf(health, ['files']).counts).toEqual({ drift: 2, new: 1, removed: 1 });
});

it('counts what pods do not list', () => {
  const health = [of({ drift: [drift('a', 'title')], more: { drift: 30, new: 2 } })];
  expect(comparisonOf(health, ['files']).counts).toEqual({ drift: 31, new: 2, removed: 0 });
});

it('keeps what is known of a server that no pod has compared yet, and drops what is no longer configured', () => {
  const before = { pending: [{ server: 'files', kind: 'tools', name: 'search', state: 'drift' as const }] };
  expect(pendingOf([saying({})], before)).toEqual(['drift search']);
  expect(pendingOf([saying({ files: { ...NONE, compared_at: null } })], before)).toEqual(['drift search']);
  expect(pendingOf([of({ drift: [] })], before)).toEqual([]);
  expect(comparisonOf([saying({})], ['other'], before).pending).toEqual([]);
  expect(comparisonOf([saying({})], ['files'], before).isKnown).toBe(false);
});

it('takes the names that pods do not tell from the lock, and counts what is not there', () => {
  const nameOf = (server: string, kind: string, digest: string) =>
    [server, kind, digest].join() === 'files,tools,sha256:1' ? 'search' : undefined;
  const unnamed = (locked: string) => ({ kind: 'tools', locked, fields: ['title'] });
  const instructions = { kind: 'instructions', fields: ['instructions'] };
  const health = [of({ drift: [unnamed('sha256:1'), unnamed('sha256:2'), instructions] })];
  const { pending, counts } = comparisonOf(health, ['files'], {}, nameOf);
  expect(pending).toEqual([
    { server: 'files', kind: 'instructions', name: '', state: 'drift', fields: ['instructions'] },
    { server: 'files', kind: 'tools', name: 'search', state: 'drift', fields: ['title'] },
  ]);
  expect(counts.drift).toBe(3);
});

it('takes a server of which pods tell only the time for not compared', () => {
  expect(comparisonOf([saying({ files: { compared_at: AT } })], ['files']).isKnown).toBe(false);
});

it('says nothing of servers that the configuration does not have', () => {
  const { pending, counts, comparedAt } = comparisonOf(
    [saying({ other: { ...NONE, compared_at: AT, new: [tool('a')], more: { new: 5 } } })],
    ['files'],
  );
  expect({ pending, counts, comparedAt }).toEqual({
    pending: [],
    counts: { drift: 0, new: 0, removed: 0 },
    comparedAt: undefined,
  });
});

it('writes names with escapes, cut where they are long', () => {
  const [first, second] = pendingOf([of({ new: [tool('a\u200bb\n'), tool('x'.repeat(5000))] })]);
  expect(first).toBe('new a\\u{200b}b\\u{a}');
  expect(second).toBe(`new ${'x'.repeat(128)}…`);
});

it('knows which pods say nothing, what pods cannot read, and that one of them enforces', () => {
  const health = [healthWith(['files'], { pod: 'old' }), saying({}, { problem: 'line 1: is no mapping' })];
  expect(comparisonOf(health, ['files'])).toMatchObject({
    silent: ['old'],
    problems: ['demo-1: line 1: is no mapping'],
  });
  expect(comparisonOf([saying({}, { mode: 'audit' })], ['files']).mode).toBe('audit');
  expect(comparisonOf([saying({}, { mode: 'audit' }), saying({})], ['files']).mode).toBe('enforce');
});

describe('what a pod says', () => {
  test.each([[null], ['text'], [[]]])('is nothing: %j', (document) => {
    expect(parseToolLock(document)).toBeUndefined();
    expect(parseHealth('a', { servers: [], tool_lock: document })?.toolLock).toBeUndefined();
  });

  it('may have any shape, and is bounded', () => {
    const many = Array.from({ length: 50 }, (_, i) => `t${i}`);
    const hostile = {
      compared_at: 1e300,
      drift: [null, 7, { name: 4, fields: [5, 'x'.repeat(999), ...many] }, ...many.map((name) => ({ name }))],
      new: 'all',
      removed: [...many.map(tool), 'a name', { kind: 'k'.repeat(99), name: 'n'.repeat(9999) }],
      more: { drift: -4, new: 1.5, removed: 'many' },
    };
    const parsed = parseToolLock({ servers: { files: hostile, none: null } });
    const [files] = parsed?.servers ?? [];
    expect(files?.comparedAt).toBeUndefined();
    expect(files?.found.drift.listed).toHaveLength(20);
    expect(files?.found.drift.more).toBe(31);
    expect(files?.found.drift.listed[0]?.fields).toHaveLength(20);
    expect(files?.found.drift.listed[0]?.fields[0]).toHaveLength(64);
    expect(files?.found.new).toEqual({ listed: [], more: 0 });
    expect(files?.found.removed.more).toBe(31);
    const servers = Object.fromEntries(Array.from({ length: 999 }, (_, i) => [`s${i}`, {}]));
    expect(parseToolLock({ servers })?.servers).toHaveLength(256);
  });

  it('is news when something differs, not when it was compared again', () => {
    const at = (compared_at: number | null, ...fields: string[]) =>
      JSON.stringify(
        ADAPTER_HEALTH.news(
          saying({ files: { ...NONE, compared_at, drift: fields.map((field) => drift('a', field)) } }),
        ),
      );
    expect(at(AT + 1000)).toBe(at(AT));
    expect(at(AT, 'title')).not.toBe(at(AT));
    expect(at(null)).not.toBe(at(AT));
  });
});

describe('Events', () => {
  const told = (before: readonly PodHealth[], now: readonly PodHealth[]) =>
    driftEvents(comparisonOf(before, ['files']).pending, comparisonOf(now, ['files'])).map(({ message }) => message);

  it('are one for each drift, with server, tool and fields, until it is another', () => {
    const one = [of({ drift: [drift('search', 'title')], new: [tool('b')] })];
    expect(told([], one)).toEqual([
      'Server files: the tool search differs in title from what was approved; it is hidden, and calls are refused until the lock has it as it is now',
    ]);
    expect(told(one, one)).toEqual([]);
    expect(told(one, [of({ drift: [drift('search', 'title', 'icons')] })])).toHaveLength(1);
    expect(told(one, [of({ drift: [drift('search', 'title'), drift('fetch')] })])).toEqual([
      expect.stringContaining('the tool fetch differs from'),
    ]);
    expect(told([], [saying({ files: { ...NONE, compared_at: AT, drift: [drift('a')] } }, { mode: 'audit' })])).toEqual(
      [expect.stringContaining('it is served and marked')],
    );
  });
});
