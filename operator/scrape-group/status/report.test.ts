import { describe, expect, test } from 'vitest';
import type { ApiScrapeSourceStatus } from '../../../crds/v1alpha1/api-scrape-source.ts';
import { conditionEvents } from './condition-events.ts';
import { groupsOf } from '../controller.ts';
import { parseHealth, sourcesOf } from './health.ts';
import { type StatusInputs, report } from './report.ts';
import { source } from '../testing/sources.ts';

const complete = { state: 'complete', message: '', wanted: 1, updated: 1, available: 1, old: 0 } as const;
const health = {
  name: 'a',
  lastScrape: '2026-01-01T00:10:00Z',
  lastSuccess: undefined,
  watermark: undefined,
  records: 3,
  lastError: undefined,
  deadWindows: 0,
};

const inputs = (changes: Partial<StatusInputs> = {}, status?: ApiScrapeSourceStatus): StatusInputs => ({
  source: { ...source('a'), status },
  group: 'default',
  refusal: undefined,
  failure: undefined,
  pausedBy: [],
  frozenBy: [],
  rollout: complete,
  overdue: false,
  problem: undefined,
  upToDate: true,
  isHealthKnown: true,
  health,
  losesState: false,
  unknownHosts: [],
  widePorts: [],
  intervalMs: 60_000,
  ...changes,
});
const reported = (...args: Parameters<typeof inputs>): string[] =>
  report(inputs(...args)).conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`);
const condition = (type: string, status: 'True' | 'False', observedGeneration = 1) => ({
  type,
  status,
  observedGeneration,
  reason: 'Before',
  message: 'before',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const refusal = { reason: 'InvalidSpec', message: 'spec.source.x is wrong', held: false } as const;
const missing = { ...complete, state: 'missing', wanted: 0, available: 0 } as const;
const starting = { ...complete, state: 'rolling', available: 0 } as const;

describe('the status of a source', () => {
  test.each<[string, Partial<StatusInputs>, ApiScrapeSourceStatus | undefined, string[]]>([
    [
      'runs',
      {},
      undefined,
      [
        'Accepted=True/Accepted',
        'Ready=True/Ready',
        'Progressing=False/Complete',
        'SourcesHealthy=True/Scraped',
        'NetworkPolicyEnforced=True/Restricted',
      ],
    ],
    [
      'has just come',
      { rollout: missing, health: undefined, upToDate: undefined },
      undefined,
      ['Ready=Unknown/Progressing', 'SourcesHealthy=Unknown/NotScraped', 'Reconciling=True/Progressing'],
    ],
    [
      'is refused',
      { refusal, health: undefined },
      undefined,
      [
        'Accepted=False/InvalidSpec',
        'Ready=False/InvalidSpec',
        'Stalled=True/InvalidSpec',
        'SourcesHealthy=Unknown/NotScraped',
      ],
    ],
    [
      'goes on as before after a wrong edit',
      { refusal: { ...refusal, held: true } },
      undefined,
      ['Accepted=False/InvalidSpec', 'Ready=True/Ready', 'Stalled=True/InvalidSpec', 'SourcesHealthy=True/Scraped'],
    ],
    [
      'cannot be applied',
      { failure: { reason: 'NameConflict', message: 'x', final: true }, rollout: missing },
      undefined,
      ['Accepted=False/NameConflict', 'Ready=False/NameConflict', 'Stalled=True/NameConflict'],
    ],
    [
      'fails',
      { health: { ...health, lastError: 'HTTP 500' } },
      undefined,
      ['Ready=True/Ready', 'SourcesHealthy=False/ScrapeFailed'],
    ],
    [
      'is not read yet',
      { upToDate: false },
      undefined,
      ['Ready=Unknown/Progressing', 'Progressing=True/ReadingSources', 'Reconciling=True/Progressing'],
    ],
    [
      'stays ready while others change',
      { upToDate: false },
      { conditions: [condition('Ready', 'True')] },
      ['Ready=True/Ready', 'Progressing=False/Complete'],
    ],
    [
      'was changed and is not read yet',
      { upToDate: false },
      { conditions: [condition('Ready', 'True', 0)] },
      ['Ready=Unknown/Progressing'],
    ],
    [
      'has no pods that run',
      { rollout: starting },
      { conditions: [condition('Ready', 'True')] },
      ['Ready=Unknown/Progressing', 'Progressing=True/RollingOut'],
    ],
    [
      'O3: has pods that find no node for too long',
      {
        rollout: starting,
        overdue: true,
        problem: { reason: 'Unschedulable', message: 'A pod cannot be placed', failing: false },
      },
      undefined,
      ['Ready=False/Unschedulable', 'Progressing=False/PodsUnavailable', 'Stalled=True/Unschedulable'],
    ],
    [
      'O3: has pods that do not come back',
      { rollout: starting, overdue: true },
      { conditions: [condition('Ready', 'True')] },
      ['Ready=False/PodsUnavailable', 'Stalled=True/PodsUnavailable'],
    ],
    [
      'O10: has pods that nobody has asked yet',
      { isHealthKnown: false, upToDate: undefined, health: undefined },
      { conditions: [condition('Ready', 'False')] },
      ['Ready=False/Before'],
    ],
    [
      'has pods that fail',
      { rollout: starting, problem: { reason: 'ImagePullBackOff', message: 'x', failing: true } },
      undefined,
      ['Ready=False/ImagePullBackOff', 'Reconciling=True/ImagePullBackOff'],
    ],
    [
      'has pods that a quota forbids',
      { rollout: { ...starting, state: 'refused', refusal: 'Pods cannot be made: exceeded quota' } },
      undefined,
      ['Ready=False/PodsRefused', 'Progressing=True/PodsRefused', 'Reconciling=True/PodsRefused'],
    ],
    [
      'has pods that a quota has forbidden for long',
      { rollout: { ...starting, state: 'stuck', refusal: 'Pods cannot be made: exceeded quota' } },
      undefined,
      [
        'Ready=False/PodsRefused',
        'Progressing=False/ProgressDeadlineExceeded',
        'Stalled=True/ProgressDeadlineExceeded',
      ],
    ],
    [
      'wants no pods',
      { rollout: { ...complete, wanted: 0, available: 0 } },
      undefined,
      ['Ready=False/ScaledToZero', 'SourcesHealthy=Unknown/NotScraped'],
    ],
    [
      'is paused',
      { pausedBy: ['b'], upToDate: undefined, unknownHosts: undefined },
      { conditions: [condition('Ready', 'True')] },
      ['Paused=True/Paused', 'Ready=True/Ready'],
    ],
    ['is frozen by another', { frozenBy: ['b'] }, undefined, ['Stalled=True/GroupFrozen', 'Accepted=True/Accepted']],
    [
      'has a host that nobody knows',
      { unknownHosts: ['a: spec.source.baseUrl'] },
      undefined,
      ['NetworkPolicyEnforced=False/UnknownUpstream'],
    ],
    ['reaches hosts outside', { widePorts: ['443'] }, undefined, ['NetworkPolicyEnforced=True/PortsOnly']],
  ])('says when it %s', (_, changes, status, expected) => {
    expect(reported(changes, status)).toEqual(expect.arrayContaining(expected));
    expect(reported(changes, status).filter((one) => /^(Reconciling|Stalled)=/.test(one)).length).toBeLessThanOrEqual(
      1,
    );
  });

  test('tells of the pods for the generation that they were made from', () => {
    const ready = report(
      inputs({ refusal: { ...refusal, held: true } }, { conditions: [condition('Ready', 'True', 7)] }),
    ).conditions[1];
    expect(ready).toMatchObject({ type: 'Ready', status: 'True', observedGeneration: 7 });
  });

  test.each<[string, ApiScrapeSourceStatus, Partial<typeof health>, string | undefined, string | undefined]>([
    [
      'soon after the last time',
      { lastScrapeTime: '2026-01-01T00:09:01Z', records: 1 },
      {},
      '2026-01-01T00:09:01Z',
      undefined,
    ],
    [
      'O19: long after the last time, while all goes as it did',
      { lastScrapeTime: '2025-12-31T00:00:00Z', lastSuccessTime: '2025-12-31T00:00:01Z', records: 1 },
      {},
      '2025-12-31T00:00:00Z',
      undefined,
    ],
    [
      'a minute later, when another error comes',
      { lastScrapeTime: '2026-01-01T00:09:00Z', lastError: 'HTTP 500', records: 1 },
      { lastError: 'ECONNREFUSED' } as object,
      '2026-01-01T00:10:00Z',
      'ECONNREFUSED',
    ],
    [
      'O19: long after the last time, while it fails as it did',
      { lastScrapeTime: '2026-01-01T00:00:00Z', lastError: 'request 4711 failed at 12:00', records: 1 },
      { lastError: 'request 4712 failed at 12:10' } as object,
      '2026-01-01T00:00:00Z',
      'request 4711 failed at 12:00',
    ],
    [
      'when there is a watermark for the first time',
      { lastScrapeTime: '2026-01-01T00:09:59Z', records: 1 },
      { watermark: '2026-01-01T00:00:00Z' } as object,
      '2026-01-01T00:10:00Z',
      undefined,
    ],
    [
      'when an error comes',
      { lastScrapeTime: '2026-01-01T00:09:59Z' },
      { lastError: 'x' } as object,
      '2026-01-01T00:10:00Z',
      'x',
    ],
    [
      'when an error goes',
      { lastScrapeTime: '2026-01-01T00:09:59Z', lastError: 'x' },
      {},
      '2026-01-01T00:10:00Z',
      undefined,
    ],
    [
      'soon, when another error comes',
      { lastScrapeTime: '2026-01-01T00:09:59Z', lastError: 'x', records: 1 },
      { lastError: 'y' } as object,
      '2026-01-01T00:09:59Z',
      'x',
    ],
    [
      'of a new pod that has scraped nothing',
      { lastScrapeTime: '2026-01-01T00:01:00Z' },
      { lastScrape: undefined },
      '2026-01-01T00:01:00Z',
      undefined,
    ],
    [
      'of a new pod that cannot scrape',
      { lastScrapeTime: '2026-01-01T00:01:00Z' },
      { lastScrape: undefined, lastError: 'x' } as object,
      '2026-01-01T00:01:00Z',
      'x',
    ],
  ])('has times %s', (_, status, changes, time, error) => {
    const { lastScrapeTime, lastError } = report(inputs({ health: { ...health, ...changes } }, status));
    expect([lastScrapeTime, lastError]).toEqual([time, error]);
  });
});

test('a source whose state goes with its pod is ready, and says what is lost', () => {
  const ready = (losesState: boolean) => report(inputs({ losesState })).conditions[1];
  expect(ready(true)).toMatchObject({ status: 'True', message: expect.stringContaining('is not scraped') });
  expect(ready(false)?.message).toBe('The pods scrape it');
});

test('a source that cannot be scraped is not healthy, and says why', () => {
  const never = { ...health, lastScrape: undefined, lastError: 'filters.drop[0] is no regular expression' } as object;
  const { conditions } = report(inputs({ health: never as typeof health }));
  expect(conditions.find(({ type }) => type === 'SourcesHealthy')).toMatchObject({
    status: 'False',
    message: 'It cannot be scraped: filters.drop[0] is no regular expression',
  });
});

test('a source with windows that were set aside is not healthy until they are scraped; moments are ordinary', () => {
  const ranged = { ...health, watermark: '2026-01-01T00:00:00Z', deadWindows: 7 } as object;
  const status = { lastScrapeTime: '2026-01-01T00:09:59Z', records: 1 };
  const { deadWindows, conditions } = report(inputs({ health: ranged as typeof health }, status));
  expect(deadWindows).toBe(7);
  expect(conditions.find(({ type }) => type === 'SourcesHealthy')).toMatchObject({
    status: 'False',
    reason: 'WindowsSetAside',
    message: expect.stringContaining('7 windows'),
  });
  const mended = { ...ranged, deadWindows: 0 } as typeof health;
  expect(report(inputs({ health: mended }, { ...status, deadWindows: 7 })).deadWindows).toBeUndefined();
  const instant = report(inputs({ health: { ...health, deadWindows: 7 } }));
  expect(instant.deadWindows).toBeUndefined();
  expect(reported({ health: { ...health, deadWindows: 7 } })).toContain('SourcesHealthy=True/Scraped');
});

describe('what pods say', () => {
  test('is read with care', () => {
    expect(parseHealth('p', { status: 'ok' })).toBeUndefined();
    expect(parseHealth('p', 'no')).toBeUndefined();
    const parsed = parseHealth('p', {
      sources: [{ name: 'a', last_scrape: 'never', records: '1', last_error: null }, {}, 7],
    });
    expect(parsed).toMatchObject({ configHash: undefined, referencesChanged: false });
    expect(parsed?.sources).toEqual([
      {
        name: 'a',
        lastScrape: undefined,
        lastSuccess: undefined,
        watermark: undefined,
        records: undefined,
        lastError: undefined,
        deadWindows: undefined,
      },
    ]);
    const { sources } = parseHealth('p', { sources: [{ name: 'a', dead_windows: 7 }] })!;
    expect(sources[0]).toMatchObject({ deadWindows: 7 });
  });

  test('counts from the pod that scraped a source last', () => {
    const pod = (name: string, last_scrape: string | null, records: number) =>
      parseHealth(name, { sources: [{ name: 'a', last_scrape, records }] })!;
    const pods = [pod('p', null, 1), pod('q', '2026-01-01T00:00:02Z', 2), pod('r', '2026-01-01T00:00:01Z', 3)];
    expect(sourcesOf(pods).get('a')?.records).toBe(2);
  });
});

test('a source concerns its group and the one that its status names', () => {
  const moved = { ...source('a', { group: 'new' }), status: { group: 'old' } };
  expect(groupsOf(moved as never).map(({ name }) => name)).toEqual(['new', 'old']);
  expect(groupsOf(source('a') as never)).toEqual([{ namespace: 'team', name: 'default' }]);
});

test('bad news is told, and its end, but not that all is well', () => {
  const [good, bad] = [condition('Accepted', 'True'), condition('Accepted', 'False')];
  expect(conditionEvents([], [good])).toEqual([]);
  expect(conditionEvents([], [bad]).map(({ type }) => type)).toEqual(['Warning']);
  expect(conditionEvents([bad], [good]).map(({ type }) => type)).toEqual(['Normal']);
});
