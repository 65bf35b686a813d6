import { expect, it, test } from 'vitest';
import type { Condition } from '../../../crds/v1alpha1/conditions.ts';
import type { McpToolLockStatus } from '../../../crds/v1alpha1/mcp-tool-lock.ts';
import { rolloutOf } from '../../health/rollout.ts';
import { deploymentWith } from '../testing/observed.ts';
import { toolLock } from '../testing/locks.ts';
import { cachedLock } from './cached-lock.ts';
import type { Comparison } from './comparison.ts';
import { type AdapterOfLock, type LockReportInputs, lockReport } from './lock-report.ts';

const NOTHING: Comparison = {
  isKnown: true,
  pending: [],
  counts: { drift: 0, new: 0, removed: 0 },
  comparedAt: Date.parse('2026-01-02T03:04:05.678Z'),
  mode: 'enforce',
  problems: [],
  silent: [],
};
const DRIFTED: Comparison = {
  ...NOTHING,
  pending: [{ server: 'files', kind: 'tools', name: 'search', state: 'drift', fields: ['title'] }],
  counts: { drift: 1, new: 0, removed: 0 },
};
const lock = cachedLock(toolLock('approved'));
const adapter: AdapterOfLock = {
  isAccepted: true,
  paused: false,
  liveDigest: lock.content.digest,
  rollout: rolloutOf(deploymentWith()),
  unannotated: 0,
  isHealthKnown: true,
  comparison: NOTHING,
};
const reported = (more: Partial<LockReportInputs> = {}) =>
  lockReport({ lock, name: 'demo', rival: undefined, adapter, ...more });
const withStatus = (status: McpToolLockStatus) => cachedLock(toolLock('approved', { status }));
const words = (more: Partial<LockReportInputs>) =>
  reported(more).conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`);
const wasReady: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'InForce',
  message: 'before',
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

it('is in force when all pods have it and say so', () => {
  expect(reported()).toMatchObject({
    observedGeneration: 1,
    adapters: ['demo'],
    digest: lock.content.digest,
    lastCompared: '2026-01-02T03:04:05Z',
    drifted: 0,
    pending: [],
  });
  expect(words({})).toEqual(['Accepted=True/Accepted', 'Ready=True/InForce']);
});

test.each<[string, Partial<AdapterOfLock>, string]>([
  ['it is not in its ConfigMap', { liveDigest: 'other' }, 'Unknown/Progressing'],
  ['the adapter is not accepted', { liveDigest: 'other', isAccepted: false }, 'Unknown/AdapterNotAccepted'],
  ['the adapter is paused', { liveDigest: undefined, paused: true }, 'Unknown/AdapterPaused'],
  ['pods are being replaced', { rollout: rolloutOf(deploymentWith({ updated: 0 })) }, 'Unknown/Progressing'],
  ['pods have not been told', { unannotated: 1 }, 'Unknown/Progressing'],
  ['pods have not been asked', { isHealthKnown: false }, 'Unknown/Progressing'],
  ['pods say nothing', { comparison: { ...NOTHING, silent: ['demo-1'] } }, 'Unknown/Progressing'],
  ['pods cannot read it', { comparison: { ...NOTHING, problems: ['demo-1: no'] } }, 'False/LockNotRead'],
])('is not while %s', (_what, more, expected) => {
  expect(words({ adapter: { ...adapter, ...more } })).toEqual([
    'Accepted=True/Accepted',
    `Ready=${expected}`,
    `Reconciling=True/${expected.split('/')[1]}`,
  ]);
});

it('stays in force while pods come and go, not beyond a change of it', () => {
  const other = { ...adapter, unannotated: 1 };
  const conditions = [wasReady];
  expect(words({ adapter: other, lock: withStatus({ conditions }) })).toContain('Ready=True/InForce');
  const changed = withStatus({ conditions: [{ ...wasReady, observedGeneration: 0 }] });
  expect(words({ adapter: other, lock: changed })).toContain('Ready=Unknown/Progressing');
});

it('waits for its adapter', () => {
  expect(words({ adapter: undefined })).toContain('Ready=Unknown/AdapterNotFound');
  expect(reported({ adapter: undefined }).adapters).toEqual([]);
});

it('says which older lock the adapter has instead, and nothing of what differs', () => {
  const status = reported({ rival: 'first', adapter: { ...adapter, comparison: DRIFTED } });
  expect(status.conditions[0]).toMatchObject({
    status: 'False',
    reason: 'AdapterLocked',
    message: expect.stringContaining('The McpAdapter demo has the lock first, which is older') as string,
  });
  expect(status).toMatchObject({ adapters: [] });
  expect(status).not.toHaveProperty('pending');
  expect(words({ rival: 'first' })).toContain('Stalled=True/AdapterLocked');
});

it('says why it cannot be used, and still what differs from the one before', () => {
  const broken = cachedLock(toolLock('approved', { document: { mode: 'of' } }));
  const status = reported({ lock: broken, adapter: { ...adapter, comparison: DRIFTED } });
  expect(status.conditions.map(({ status: is, reason }) => `${is}/${reason}`)).toEqual([
    'False/InvalidSpec',
    'Unknown/InvalidSpec',
    'True/InvalidSpec',
  ]);
  expect(status).not.toHaveProperty('digest');
  expect(status.drifted).toBe(1);
});

it('the time is that of another outcome: to compare again writes nothing', () => {
  const { conditions: _conditions, ...first } = reported({ adapter: { ...adapter, comparison: DRIFTED } });
  // As the API server gives it back.
  const stored = JSON.parse(
    JSON.stringify({
      ...first,
      pending: [{ fields: ['title'], kind: 'tools', name: 'search', server: 'files', state: 'drift' }],
    }),
  ) as McpToolLockStatus;
  const later = { ...DRIFTED, comparedAt: Date.parse('2026-01-03T00:00:00Z') };
  const again = reported({ lock: withStatus(stored), adapter: { ...adapter, comparison: later } });
  expect(again.lastCompared).toBe('2026-01-02T03:04:05Z');
  const well = reported({
    lock: withStatus(stored),
    adapter: { ...adapter, comparison: { ...NOTHING, comparedAt: later.comparedAt } },
  });
  expect(well).toMatchObject({ lastCompared: '2026-01-03T00:00:00Z', drifted: 0, pending: [] });
});

it('what was known stays while nothing has been compared', () => {
  const status = { drifted: 7, lastCompared: '2026-01-01T00:00:00Z' };
  const none = { ...NOTHING, isKnown: false, comparedAt: undefined };
  expect(reported({ lock: withStatus(status), adapter: { ...adapter, comparison: none } })).toMatchObject(status);
});
