import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { answer, type ReceivedRequest } from '../../lib/otlp/testing/otlp-receiver.ts';
import { inTurn, json } from '../requests/testing/test-server.ts';
import { MemoryBudget } from '../limits/memory-budget.ts';
import { type RunObserver, unobserved } from '../run/run-observer.ts';
import { FENCE, PERIOD_MS, SourceKit } from '../testing/source-kit.ts';

const START = new Date('2026-01-01T00:00:00Z');
const minutes = (count: number): Date => new Date(START.getTime() + count * 60_000);
const WINDOWS_OF_A_MINUTE = { parallelWindow: { unit: 'minutes', value: 1 } };
const ALL = { offset: 0, limit: 1000 };

/** As if it had been scraped until then. */
const plannedUntil = (kit: SourceKit, until: Date): Promise<boolean> =>
  kit.ledger.plan('events', undefined, [], until, FENCE);

describe('what is asked for', () => {
  test('the first run only remembers the time, the next one asks for what has passed since', async () => {
    await using kit = await SourceKit.start();
    expect(await kit.source.run('first')).toBe('done');
    expect(kit.api.requests).toEqual([]);
    expect(kit.source.runs.last).toMatchObject({ status: 'gated', trigger: 'first', windows: 0 });
    kit.pass(PERIOD_MS);
    expect(await kit.source.run('schedule')).toBe('done');
    expect(kit.windowsSince(START)).toEqual([[0, 60]]);
    expect(kit.delivered).toEqual([1]);
    expect(kit.source.runs.last).toMatchObject({ status: 'success', windows: 1, records: 1, errors: [] });
    expect(kit.source.state).toMatchObject({ watermark: minutes(1), openWindows: 0, lastSuccess: minutes(1) });
    expect(kit.wakes).toEqual([]);
  });

  test('runFirstScrape: the time from firstScrapeStart on, in windows', async () => {
    const rangeKeys = { startKey: 'from', endKey: 'to', firstScrapeStart: '2025-12-31T23:55:00Z' };
    await using kit = await SourceKit.start({
      fields: { runFirstScrape: true },
      scrape: { ...WINDOWS_OF_A_MINUTE, rangeKeys, lag: '2m' },
    });
    await kit.source.run('first');
    expect(kit.windowsSince(minutes(-5)).sort((a, b) => a[0] - b[0])).toEqual([
      [0, 60],
      [60, 120],
      [120, 180],
    ]);
    expect(kit.source.state?.watermark).toEqual(minutes(-2));
  });

  test('runFirstScrape without a start: one period, as far as lag lets it', async () => {
    await using kit = await SourceKit.start({ fields: { runFirstScrape: true }, scrape: { lag: '10m' } });
    await kit.source.run('first');
    expect(kit.windowsSince(minutes(-10))).toEqual([[-60, 0]]);
  });

  test('after an outage, everything since, so many windows at a time', async () => {
    await using kit = await SourceKit.start({ scrape: { ...WINDOWS_OF_A_MINUTE, maxConcurrentWindows: 3 } });
    let [now, most] = [0, 0];
    kit.api.answer = async (request, response) => {
      now += 1;
      most = Math.max(most, now);
      await delay(5);
      now -= 1;
      await json([])(request, response);
    };
    await plannedUntil(kit, minutes(-20));
    await kit.source.run('schedule');
    expect(kit.windowsSince(minutes(-20)).sort((a, b) => a[0] - b[0])).toEqual(
      Array.from({ length: 20 }, (_, minute) => [minute * 60, minute * 60 + 60]),
    );
    expect(most).toBe(3);
    expect(kit.source.state?.watermark).toEqual(START);
  });

  test('no more windows are fetched at a time than maxConcurrency, however many are begun', async () => {
    await using kit = await SourceKit.start({
      scrape: { ...WINDOWS_OF_A_MINUTE, maxConcurrency: 2, maxConcurrentWindows: 8 },
    });
    let [now, most] = [0, 0];
    kit.api.answer = async (request, response) => {
      now += 1;
      most = Math.max(most, now);
      await delay(5);
      now -= 1;
      await json([])(request, response);
    };
    await plannedUntil(kit, minutes(-10));
    await kit.source.run('schedule');
    expect(most).toBe(2);
  });

  test('what lies further back than maxCatchUp is left out, and said', async () => {
    const skipped: number[] = [];
    const observer: RunObserver = { ...unobserved, notCaughtUp: (_source, ms) => skipped.push(ms) };
    await using kit = await SourceKit.start({ scrape: { maxCatchUp: '5m' }, observer });
    await plannedUntil(kit, minutes(-60));
    await kit.source.run('schedule');
    expect(kit.windowsSince(START)).toEqual([[-300, 0]]);
    expect(skipped).toEqual([55 * 60_000]);
    expect(kit.lines).toContainEqual(
      expect.objectContaining({ level: 'warning', msg: expect.stringContaining('skipped: time range older than') }),
    );
  });

  test.each([
    [{ unit: 'minutes' }, 6 * 60, 0],
    [{ unit: 'minutes', value: 5 }, 5, 5 * 3600 + 55 * 60],
  ])('after an outage a request with %j reaches back so far, and what it does not reach is said', async (...row) => {
    const [rangeKeys, value, missed] = row;
    const skipped: number[] = [];
    const observer: RunObserver = { ...unobserved, notCaughtUp: (_source, ms) => skipped.push(ms) };
    await using kit = await SourceKit.start({ scrape: { rangeKeys }, observer });
    await plannedUntil(kit, minutes(-6 * 60));
    await kit.source.run('schedule');
    expect(kit.api.targets).toEqual([`/events?unit=minutes&value=${value}`]);
    expect(skipped).toEqual(missed === 0 ? [] : [missed * 1000]);
    expect(kit.lines.filter(({ msg }) => String(msg).includes('skipped: time range older than'))).toHaveLength(
      skipped.length,
    );
    kit.pass(PERIOD_MS);
    await kit.source.run('schedule');
    expect(skipped).toHaveLength(missed === 0 ? 0 : 1);
  });

  test('when the clock was ahead, it says what counts as scraped until it is there again', async () => {
    await using kit = await SourceKit.start();
    await plannedUntil(kit, START);
    kit.pass(24 * 60 * 60_000);
    await kit.source.run('schedule');
    const said = () => kit.lines.filter(({ msg }) => String(msg).includes('the clock was ahead'));
    expect([said(), kit.source.lastError]).toEqual([[], undefined]);
    kit.pass(-24 * 60 * 60_000 + PERIOD_MS);
    await kit.source.run('schedule');
    kit.pass(PERIOD_MS);
    await kit.source.run('schedule');
    expect(said()).toHaveLength(1);
    expect(kit.source.lastError).toContain('everything until 2026-01-02T00:00:00.000Z counts as scraped');
    kit.pass(24 * 60 * 60_000);
    await kit.source.run('schedule');
    expect(kit.source.lastError).toBeUndefined();
  });

  test('a long time is planned in parts, and caught up in one run', async () => {
    await using kit = await SourceKit.start({ scrape: { ...WINDOWS_OF_A_MINUTE, maxConcurrency: 8 } });
    kit.api.answer = json([]);
    await plannedUntil(kit, minutes(-1010));
    await kit.source.run('schedule');
    expect(kit.api.requests).toHaveLength(1010);
    expect(kit.source.state).toMatchObject({ watermark: START, openWindows: 0 });
  });

  test('windows that wait for another attempt are not added to without end', async () => {
    await using kit = await SourceKit.start({ scrape: { ...WINDOWS_OF_A_MINUTE, maxConcurrency: 16 } });
    kit.api.answer = json({}, 500);
    await plannedUntil(kit, minutes(-3000));
    for (let run = 0; run < 4; run += 1) await kit.source.run('schedule');
    expect(kit.source.state?.openWindows).toBe(1000);
    expect(kit.source.state?.watermark).toEqual(minutes(-3000));
  });
});

describe('failures', () => {
  const failing = (status: number, headers: Record<string, string> = {}) =>
    inTurn(json({}, status, headers), json([{ id: 1 }]));

  test('a window that fails stays open, is said, and is tried again', async () => {
    await using kit = await SourceKit.start({ scrape: { retry: { initialDelay: '8s' } } });
    kit.api.answer = failing(500);
    await plannedUntil(kit, minutes(-1));
    expect(await kit.source.run('schedule')).toBe('failed');
    expect(kit.delivered).toEqual([]);
    expect(kit.source.state).toMatchObject({ watermark: minutes(-1), openWindows: 1 });
    expect(kit.source.lastError).toMatch(/^status: GET http:.* answered 500/);
    expect(kit.wakes).toEqual([new Date(START.getTime() + 8000)]);
    expect(kit.failures()).toEqual([
      expect.objectContaining({
        level: 'warning',
        source: 'events',
        kind: 'status',
        status: 500,
        attempt: 1,
        next_attempt: '2026-01-01T00:00:08.000Z',
        window: expect.objectContaining({ start: minutes(-1).toISOString(), end: START.toISOString() }),
      }),
    ]);
    await kit.source.run('retry');
    expect(kit.api.requests, 'not before its time').toHaveLength(1);
    expect(kit.source.runs.all(), 'which is no run').toHaveLength(1);
    expect(kit.source.lastError).toMatch(/answered 500/);
    kit.pass(8000);
    expect(await kit.source.run('retry')).toBe('done');
    expect(kit.delivered).toEqual([1]);
    expect(kit.windowsSince(minutes(-1))).toEqual([
      [0, 60],
      [0, 60],
    ]);
    expect(kit.source).toMatchObject({ lastError: undefined, state: { watermark: START, openWindows: 0 } });
  });

  test('the API says when to come again', async () => {
    await using kit = await SourceKit.start();
    kit.api.answer = failing(429, { 'retry-after': '90' });
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    expect(kit.wakes).toEqual([new Date(START.getTime() + 90_000)]);
  });

  test('one window that fails holds up no other, and the watermark waits for it', async () => {
    await using kit = await SourceKit.start({ scrape: WINDOWS_OF_A_MINUTE });
    const second = String(minutes(-4).getTime() / 1000);
    kit.api.answer = (request, response) =>
      json([{ id: request.target }], request.target.includes(`from=${second}`) ? 503 : 200)(request, response);
    await plannedUntil(kit, minutes(-5));
    expect(await kit.source.run('schedule')).toBe('failed');
    expect(kit.delivered).toHaveLength(4);
    expect(kit.source.state).toMatchObject({ watermark: minutes(-4), openWindows: 1 });
    expect(kit.source.runs.last).toMatchObject({ status: 'error', windows: 4, failed: 1, records: 4 });
  });

  test('after so many attempts a window is set aside, until somebody wants it again', async () => {
    await using kit = await SourceKit.start({ scrape: { retry: { maxAttempts: 3 } } });
    kit.api.answer = json({ secret: 'x' }, 404);
    await plannedUntil(kit, minutes(-1));
    for (const trigger of ['schedule', 'retry', 'retry', 'retry'] as const) {
      await kit.source.run(trigger);
      kit.pass(10_000);
    }
    expect(kit.api.requests).toHaveLength(3);
    expect(kit.source.state).toMatchObject({ deadWindows: 1, openWindows: 0, watermark: minutes(-1) });
    expect(kit.failures().at(-1)).toMatchObject({ level: 'error', attempt: 3, next_attempt: 'dead' });
    kit.api.answer = json([{ id: 1 }]);
    expect(await kit.ledger.retryDead('events', kit.now)).toBe(1);
    await kit.source.run('retry');
    expect(kit.delivered).toEqual([1]);
    expect(kit.source.state).toMatchObject({ deadWindows: 0, watermark: START });
  });

  test.each([
    ['not_json', { answer: 'nonsense' }],
    ['shape', { answer: '{"a": 1}' }],
  ])('%s: the window fails and says so', async (kind, { answer: body }) => {
    await using kit = await SourceKit.start();
    kit.api.answer = (_request, response) => void response.end(body);
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    expect(kit.failures()).toEqual([expect.objectContaining({ kind })]);
  });

  test('H6 T17: pages without number do not fill the memory', async () => {
    const scrape = { pagination: { type: 'page' }, maxResponseBytes: 1000, maxWindowBytes: 8 * 911 };
    await using kit = await SourceKit.start({ scrape });
    kit.api.answer = json([{ id: 'x'.repeat(900) }]);
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    expect(kit.failures()).toEqual([
      expect.objectContaining({
        kind: 'too_large',
        error: expect.stringContaining('more than 7288 bytes (maxWindowBytes)'),
      }),
    ]);
    expect(kit.api.requests).toHaveLength(9);
  });

  test('H6: a single page may have more bytes than all pages of a window together', async () => {
    await using kit = await SourceKit.start({ scrape: { maxWindowBytes: 10 } });
    kit.api.answer = json([{ id: 'x'.repeat(900) }]);
    await plannedUntil(kit, minutes(-1));
    expect(await kit.source.run('schedule')).toBe('done');
  });

  test('a collector that is away gets all the time it needs, and nothing is fetched again meanwhile', async () => {
    const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '300' };
    await using kit = await SourceKit.start({ scrape: { retry: { maxAttempts: 2 } }, env });
    kit.collector.always = answer(503);
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    for (let attempt = 0; attempt < 3; attempt += 1) {
      kit.pass(60_000);
      await kit.source.run('retry');
    }
    expect(kit.failures()).toHaveLength(4);
    expect(kit.failures().at(-1)).toMatchObject({ kind: 'export', attempt: 4, level: 'warning' });
    expect(kit.source.state).toMatchObject({ deadWindows: 0, openWindows: 1, watermark: minutes(-1) });
    kit.collector.always = answer(200);
    kit.pass(60_000);
    await kit.source.run('retry');
    expect(kit.delivered).toEqual([1]);
    expect(kit.api.requests).toHaveLength(1);
  });

  test('attempts that failed because of the collector do not count against the window', async () => {
    const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '300' };
    await using kit = await SourceKit.start({ scrape: { retry: { maxAttempts: 2 } }, env });
    kit.collector.always = answer(503);
    await plannedUntil(kit, minutes(-1));
    for (const trigger of ['schedule', 'retry', 'retry'] as const) {
      await kit.source.run(trigger);
      kit.pass(60_000);
    }
    // What was fetched is of the old configuration: it is fetched again.
    kit.source.replace(kit.source.source);
    kit.api.answer = json({}, 500);
    await kit.source.run('retry');
    expect(kit.source.state).toMatchObject({ deadWindows: 0, openWindows: 1 });
    kit.pass(60_000);
    await kit.source.run('retry');
    expect(kit.source.state).toMatchObject({ deadWindows: 1, openWindows: 0 });
  });

  test('what a collector refuses for good is set aside in the end', async () => {
    await using kit = await SourceKit.start({ scrape: { retry: { maxAttempts: 2 } } });
    kit.collector.always = answer(400);
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    kit.pass(10_000);
    await kit.source.run('retry');
    expect(kit.failures().map(({ kind }) => kind)).toEqual(['export_refused', 'export_refused']);
    expect(kit.source.state).toMatchObject({ deadWindows: 1 });
  });
});

describe('metrics that have arrived, and log records that have not', () => {
  const COUNTED = { counterReadings: [{ name: 'c' }], dataKey: 'data' };
  const LARGE = { data: [{ id: 1 }], padding: 'x'.repeat(33 * 1024 * 1024) };
  const withoutLogs = (status: number) => (response: ServerResponse, request: ReceivedRequest) =>
    answer(request.logs.length > 0 ? status : 200)(response, request);
  const sums = ({ collector }: SourceKit): unknown[] =>
    collector.accepted.flatMap(({ points }) => points.map(({ value }) => value));
  const repeats = (): { readonly observer: RunObserver; readonly repeated: number[] } => {
    const repeated: number[] = [];
    return { repeated, observer: { ...unobserved, repeated: (_source, records) => repeated.push(records) } };
  };

  test.each([
    ['is too large to be kept', LARGE, () => undefined],
    ['has been configured anew', { data: [{ id: 1 }] }, (kit: SourceKit) => kit.source.replace(kit.source.source)],
  ])('a window that %s is fetched again, and not counted again', async (_what, body, meanwhile) => {
    const { observer, repeated } = repeats();
    await using kit = await SourceKit.start({ fields: COUNTED, observer });
    kit.api.answer = json(body);
    kit.collector.always = withoutLogs(400);
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    meanwhile(kit);
    kit.pass(600_000);
    await kit.source.run('retry');
    kit.collector.always = answer(200);
    kit.pass(600_000);
    await kit.source.run('retry');
    expect([sums(kit), kit.delivered]).toEqual([[1], [1]]);
    expect(repeated).toEqual([1]);
    kit.api.answer = json({ data: [{ id: 1 }] });
    await kit.source.run('schedule');
    expect(sums(kit)).toEqual([1, 2]);
  });

  test('a window that is set aside like that may come again, is not counted again, and is told', async () => {
    const { observer, repeated } = repeats();
    await using kit = await SourceKit.start({ fields: COUNTED, scrape: { retry: { maxAttempts: 1 } }, observer });
    kit.api.answer = json({ data: [{ id: 1 }] });
    kit.collector.always = withoutLogs(400);
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    expect(await kit.ledger.windows('events', ALL)).toMatchObject([{ state: 'dead', mayRepeat: true }]);
    await kit.ledger.retryDead('events', kit.now);
    kit.collector.always = answer(200);
    await kit.source.run('retry');
    expect([sums(kit), repeated]).toEqual([[1], [1]]);
  });

  test('what is sent on from where it stopped is no repetition', async () => {
    const { observer, repeated } = repeats();
    await using kit = await SourceKit.start({ fields: COUNTED, observer });
    kit.api.answer = json({ data: [{ id: 1 }] });
    kit.collector.always = withoutLogs(400);
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    expect(await kit.ledger.windows('events', ALL)).toMatchObject([{ state: 'open', mayRepeat: true }]);
    kit.collector.always = answer(200);
    kit.pass(600_000);
    await kit.source.run('retry');
    expect([sums(kit), kit.delivered, repeated]).toEqual([[1], [1], []]);
  });
});

describe('records', () => {
  const DELTA = { deltaDetection: { enabled: true } };

  test('with delta detection a record comes once', async () => {
    await using kit = await SourceKit.start({ fields: DELTA });
    kit.api.answer = inTurn(json([{ id: 1 }, { id: 1 }]), json([{ id: 1 }, { id: 2 }]));
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    kit.pass(PERIOD_MS);
    await kit.source.run('schedule');
    expect(kit.delivered).toEqual([1, 2]);
    expect(kit.source.runs.all().map(({ records, unchanged }) => [records, unchanged])).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  test('windows at the same time do not both emit a record', async () => {
    await using kit = await SourceKit.start({ fields: DELTA, scrape: WINDOWS_OF_A_MINUTE });
    await plannedUntil(kit, minutes(-4));
    await kit.source.run('schedule');
    expect(kit.api.requests).toHaveLength(4);
    expect(kit.delivered).toEqual([1]);
  });

  test('what was not delivered is not remembered', async () => {
    await using kit = await SourceKit.start({ fields: DELTA });
    kit.collector.next = [answer(400)];
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    expect(kit.delivered).toEqual([]);
    kit.pass(5000);
    await kit.source.run('retry');
    expect(kit.delivered).toEqual([1]);
  });

  test('maxRecordsPerScrape counts what is new, over all windows; the rest comes next time', async () => {
    const cut: number[] = [];
    await using kit = await SourceKit.start({
      observer: { ...unobserved, leftOut: (_source, records) => cut.push(records) },
      fields: { ...DELTA, filters: { limits: { maxRecordsPerScrape: 3 } } },
      scrape: { ...WINDOWS_OF_A_MINUTE, maxConcurrency: 1 },
    });
    kit.api.answer = json([1, 2, 3, 4, 5, 6, 7].map((id) => ({ id })));
    await plannedUntil(kit, minutes(-2));
    await kit.source.run('schedule');
    expect(kit.delivered).toEqual([1, 2, 3]);
    kit.pass(PERIOD_MS);
    await kit.source.run('schedule');
    expect(kit.delivered).toEqual([1, 2, 3, 4, 5, 6]);
    expect(cut).toEqual([4, 1]);
  });

  test('the window at maxRecordsPerScrape is cut, which is told, and those after it wait for the next run', async () => {
    const cut: number[] = [];
    await using kit = await SourceKit.start({
      fields: { filters: { limits: { maxRecordsPerScrape: 5 } } },
      scrape: WINDOWS_OF_A_MINUTE,
      observer: { ...unobserved, leftOut: (_source, records) => cut.push(records) },
    });
    const sizes = [3, 3, 2, 9, 1];
    kit.api.answer = (request, response) => {
      const window =
        (Number(new URL(request.target, kit.api.url).searchParams.get('from')) * 1000 - minutes(-5).getTime()) / 60_000;
      return json(Array.from({ length: sizes[window] ?? 0 }, (_, place) => ({ id: `${window}.${place}` })))(
        request,
        response,
      );
    };
    await plannedUntil(kit, minutes(-5));
    const runs: number[] = [];
    for (const trigger of ['schedule', 'retry', 'retry', 'retry'] as const) {
      const before = kit.delivered.length;
      expect(await kit.source.run(trigger)).toBe('done');
      runs.push(kit.delivered.length - before);
    }
    expect(runs).toEqual([5, 5, 1, 0]);
    expect(cut).toEqual([1, 6]);
    expect(kit.wakes, 'the next tick is soon enough').toEqual([]);
    expect(kit.source.state).toMatchObject({ openWindows: 0, watermark: START });
  });

  test('a window that fails after it has taken some of maxRecordsPerScrape gives it back', async () => {
    await using kit = await SourceKit.start({
      fields: { filters: { limits: { maxRecordsPerScrape: 1 } } },
      scrape: { ...WINDOWS_OF_A_MINUTE, maxConcurrency: 1, pagination: { type: 'page' } },
    });
    kit.api.answer = inTurn(json([{ id: 1 }]), json({}, 500), json([{ id: 2 }]), json([]));
    await plannedUntil(kit, minutes(-2));
    await kit.source.run('schedule');
    expect(kit.delivered).toEqual([2]);
  });

  test('after ttlSeconds a record that has not changed comes again', async () => {
    await using kit = await SourceKit.start({ fields: { deltaDetection: { enabled: true, ttlSeconds: 90 } } });
    await plannedUntil(kit, minutes(-1));
    const counts: number[] = [];
    for (let run = 0; run < 4; run += 1) {
      await kit.source.run('schedule');
      counts.push(kit.delivered.length);
      kit.pass(PERIOD_MS);
    }
    expect(counts).toEqual([1, 1, 2, 2]);
  });

  test('a page of many records leaves time for others', async () => {
    const gaugeReadings = Array.from({ length: 12 }, (_, place) => ({ name: `g${place}`, dataKey: 'a.b.c' }));
    const attributes = [{ name: 'kind', dataKey: 'a.kind' }];
    await using kit = await SourceKit.start({ fields: { emitLogs: false, gaugeReadings, attributes } });
    kit.api.answer = json(Array.from({ length: 40_000 }, (_, id) => ({ a: { b: { c: `${id}` }, kind: id % 7 } })));
    await plannedUntil(kit, minutes(-1));
    let [last, longest, isOver] = [Number.NaN, 0, false];
    const turn = (): void => {
      const now = performance.now();
      longest = Math.max(longest, Number.isNaN(last) ? 0 : now - last);
      last = now;
      if (!isOver) setImmediate(turn);
    };
    const began = performance.now();
    turn();
    await kit.source.run('schedule');
    isOver = true;
    expect(kit.collector.accepted.flatMap(({ points }) => points)).toHaveLength(12 * 7);
    expect(longest / (performance.now() - began), 'of the whole time in one go').toBeLessThan(0.6);
  });
});

describe('sources that have only a present', () => {
  const INSTANT = { scrape: { type: 'instant' } };

  test('a moment that has failed is set aside when a later one comes', async () => {
    await using kit = await SourceKit.start({ fields: { ...INSTANT, runFirstScrape: true } });
    kit.api.answer = inTurn(json({}, 500), json([{ id: 2 }]));
    await kit.source.run('first');
    expect(kit.source.state).toMatchObject({ openWindows: 1 });
    kit.pass(PERIOD_MS);
    await kit.source.run('schedule');
    expect(kit.delivered).toEqual([2]);
    expect(kit.api.requests).toHaveLength(2);
    expect(kit.source.state).toMatchObject({ openWindows: 0, deadWindows: 1 });
    const windows = await kit.ledger.windows('events', ALL);
    expect(windows.find(({ state }) => state === 'dead')?.error).toMatch(/later moment.*answered 500/);
  });

  test('the latest moment is tried again', async () => {
    await using kit = await SourceKit.start({ fields: { ...INSTANT, runFirstScrape: true } });
    kit.api.answer = inTurn(json({}, 500), json([{ id: 2 }]));
    await kit.source.run('first');
    await kit.source.run('retry');
    expect(kit.api.requests).toHaveLength(1);
    kit.pass(1000);
    await kit.source.run('retry');
    expect(kit.delivered).toEqual([2]);
    expect(kit.source.state).toMatchObject({ openWindows: 0, deadWindows: 0 });
  });

  test('two runs in the same millisecond are two moments', async () => {
    await using kit = await SourceKit.start({ fields: { ...INSTANT, runFirstScrape: true } });
    await kit.source.run('first');
    await kit.source.run('admin');
    expect(kit.delivered).toEqual([1, 1]);
  });
});

describe('runs', () => {
  /** An API that answers when it is told to. */
  function held(kit: SourceKit): { release: () => void; waiting: () => number } {
    const { promise, resolve } = Promise.withResolvers<void>();
    let waiting = 0;
    kit.api.answer = async (request, response) => {
      waiting += 1;
      await promise;
      await json([{ id: 1 }])(request, response);
    };
    return { release: resolve, waiting: () => waiting };
  }
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await delay(2);
  };

  test('a source does not overlap itself, and says what is left out', async () => {
    let skipped = 0;
    await using kit = await SourceKit.start({ observer: { ...unobserved, skipped: () => (skipped += 1) } });
    const api = held(kit);
    await plannedUntil(kit, minutes(-1));
    const first = kit.source.run('schedule');
    await until(() => api.waiting() === 1);
    kit.pass(PERIOD_MS);
    expect(await kit.source.run('schedule')).toBe('running');
    expect(await kit.source.run('admin')).toBe('running');
    expect(skipped).toBe(1);
    expect(kit.source.isRunning).toBe(true);
    api.release();
    expect(await first).toBe('done');
    expect(kit.api.requests).toHaveLength(1);
  });

  test('allowOverlapScans: it does', async () => {
    await using kit = await SourceKit.start({ fields: { allowOverlapScans: true } });
    const api = held(kit);
    await plannedUntil(kit, minutes(-1));
    const first = kit.source.run('schedule');
    await until(() => api.waiting() === 1);
    kit.pass(PERIOD_MS);
    const second = kit.source.run('schedule');
    await until(() => api.waiting() === 2);
    api.release();
    expect(await Promise.all([first, second])).toEqual(['done', 'done']);
    expect(kit.windowsSince(minutes(-1))).toEqual([
      [0, 60],
      [60, 120],
    ]);
    expect(kit.source.state?.watermark).toEqual(minutes(1));
  });

  test('what has just passed does not wait for a long backfill', async () => {
    await using kit = await SourceKit.start({ scrape: { maxConcurrency: 1 } });
    kit.api.answer = async (request, response) => {
      await delay(10);
      await json([])(request, response);
    };
    await plannedUntil(kit, START);
    const past = Array.from({ length: 20 }, (_, hour) => ({
      start: minutes(-6000 + hour),
      end: minutes(-5999 + hour),
    }));
    await kit.ledger.backfill('events', past, kit.now);
    const backfill = kit.source.run('retry');
    await until(() => kit.api.requests.length === 3);
    kit.pass(PERIOD_MS);
    expect(await kit.source.run('schedule')).toBe('running');
    await backfill;
    expect(kit.api.requests).toHaveLength(21);
    const place = kit.windowsSince(START).findIndex(([from]) => from === 0);
    expect(place).toBeGreaterThan(0);
    expect(place).toBeLessThan(8);
  });

  test('a source that is paused asks for nothing, and stops in the middle', async () => {
    await using kit = await SourceKit.start();
    await plannedUntil(kit, minutes(-1));
    await kit.ledger.pause('events');
    expect(await kit.source.run('schedule')).toBe('paused');
    expect(kit.api.requests).toEqual([]);
    expect(kit.source.runs.all()).toEqual([]);
    await kit.ledger.resume('events');
    expect(await kit.source.run('admin')).toBe('done');
    expect(kit.delivered).toEqual([1]);
  });

  test('what was wished for during the last steps of a run is not forgotten', async () => {
    await using kit = await SourceKit.start();
    const api = held(kit);
    await plannedUntil(kit, minutes(-1));
    const run = kit.source.run('schedule');
    await until(() => api.waiting() === 1);
    expect(await kit.source.run('retry')).toBe('running');
    api.release();
    await run;
    expect(kit.wakes).toEqual([kit.now]);
  });

  test('closing lets windows finish, and begins no others', async () => {
    await using kit = await SourceKit.start({ scrape: { ...WINDOWS_OF_A_MINUTE, maxConcurrency: 2 } });
    const api = held(kit);
    await plannedUntil(kit, minutes(-10));
    const run = kit.source.run('schedule');
    await until(() => api.waiting() === 2);
    const closed = kit.source.close(10_000);
    api.release();
    await Promise.all([run, closed]);
    expect(kit.api.requests).toHaveLength(2);
    expect(kit.delivered).toEqual([1, 1]);
    expect(await kit.ledger.source('events')).toMatchObject({ openWindows: 8, watermark: minutes(-8) });
    expect(await kit.source.run('schedule')).toBe('elsewhere');
  });

  test('what does not finish in time is left as it is', async () => {
    await using kit = await SourceKit.start();
    const api = held(kit);
    await plannedUntil(kit, minutes(-1));
    const run = kit.source.run('schedule');
    await until(() => api.waiting() === 1);
    await kit.source.close(20);
    await run;
    expect(kit.failures()).toEqual([]);
    expect(await kit.ledger.windows('events', ALL)).toEqual([
      expect.objectContaining({ state: 'open', attempts: 0, mayRepeat: false }),
    ]);
    api.release();
  });
});

describe('the owner of a source', () => {
  test('who has lost it neither sends nor commits', async () => {
    await using kit = await SourceKit.start();
    kit.api.answer = async (request, response) => {
      kit.fence = undefined;
      await json([{ id: 1 }])(request, response);
    };
    await plannedUntil(kit, minutes(-1));
    kit.fence = { token: 0n };
    const old = kit.source.run('schedule');
    expect(await old).toBe('done');
    expect(await kit.source.run('schedule')).toBe('elsewhere');
  });

  test('an old proof is noticed before anything is sent', async () => {
    await using kit = await SourceKit.start();
    await plannedUntil(kit, minutes(-1));
    await kit.ledger.backfill('events', [{ start: minutes(-9), end: minutes(-8) }], kit.now);
    kit.fence = { token: 7n };
    expect(await kit.source.run('retry')).toBe('elsewhere');
    expect(kit.api.requests).toHaveLength(1);
    expect(kit.delivered).toEqual([]);
    expect((await kit.ledger.windows('events', ALL))[0]).toMatchObject({ state: 'open', attempts: 0 });
  });

  test('a tick without proof is made up for', async () => {
    await using kit = await SourceKit.start();
    await plannedUntil(kit, minutes(-1));
    kit.fence = undefined;
    expect(await kit.source.run('schedule')).toBe('elsewhere');
    expect(kit.wakes).toHaveLength(1);
    kit.fence = FENCE;
    expect(await kit.source.run('retry')).toBe('done');
    expect(kit.delivered).toEqual([1]);
  });

  test('a window that a crash left behind comes again, and is counted', async () => {
    const repeated: number[] = [];
    await using kit = await SourceKit.start({
      observer: { ...unobserved, repeated: (_source, records) => repeated.push(records) },
    });
    await kit.ledger.plan('events', undefined, [{ start: minutes(-1), end: START }], START, FENCE);
    const [window] = await kit.ledger.due('events', kit.now, 1);
    await kit.ledger.exporting('events', window?.id ?? '', FENCE);
    await kit.source.run('first');
    expect(kit.delivered).toEqual([1]);
    expect(repeated).toEqual([1]);
    expect(kit.source.state?.watermark).toEqual(START);
  });
});

test('T17: a window that is done or has failed gives its memory back', async () => {
  const memory = new MemoryBudget(2 ** 20);
  await using kit = await SourceKit.start({ memory, scrape: { pagination: { type: 'page' } } });
  kit.api.answer = inTurn(json([{ id: 1 }]), json({}, 404), json([{ id: 1 }]), json([]));
  await plannedUntil(kit, minutes(-1));
  for (const result of ['failed', 'done'] as const) {
    expect(await kit.source.run('schedule')).toBe(result);
    using all = memory.share();
    await all.take(2 ** 20, AbortSignal.timeout(1000));
    kit.pass(PERIOD_MS);
  }
});

const counting = { counterReadings: [{ name: 'c' }] };

describe('H6 T17: what is kept of windows until they are delivered', () => {
  const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '300' };
  const large = Array.from({ length: 100 }, (_, id) => ({ id, text: 'x'.repeat(900) }));
  const all = 2 ** 22;

  test('counts, until somebody else needs the memory; then it is fetched again', async () => {
    const memory = new MemoryBudget(all);
    await using kit = await SourceKit.start({ memory, env });
    kit.api.answer = json(large);
    kit.collector.always = answer(503);
    await plannedUntil(kit, minutes(-1));
    await kit.source.run('schedule');
    using other = memory.share();
    // There it is, and lets itself be let go.
    expect(other.takeNow(all - 100_000)).toBe(false);
    await other.take(all, AbortSignal.timeout(1000));
    other.keep(0);
    kit.collector.always = answer(200);
    kit.pass(60_000);
    expect(await kit.source.run('retry')).toBe('done');
    expect(kit.api.requests).toHaveLength(2);
  });

  test.each([
    ['log records', { emitLogs: true }],
    ['sets of attributes', { emitLogs: false, attributes: [{ name: 'id', dataKey: 'id' }], ...counting }],
    ['fingerprints', { emitLogs: false, deltaDetection: { enabled: true } }],
  ])('counts over all its pages: %s', async (_, fields) => {
    const memory = new MemoryBudget(all);
    await using kit = await SourceKit.start({ memory, fields, scrape: { pagination: { type: 'page' } } });
    const held: number[] = [];
    kit.api.answer = ({ target }, response) => {
      const page = Number(new URL(target, kit.api.url).searchParams.get('page'));
      const probe = memory.share();
      let free = all;
      while (free > 0 && !probe.takeNow(free)) free -= 2048;
      probe[Symbol.dispose]();
      held.push(all - free);
      const records = page > 5 ? [] : large.map(({ text }, id) => ({ id: `${page} ${id}`, text }));
      return json(records)({} as never, response);
    };
    await plannedUntil(kit, minutes(-1));
    expect(await kit.source.run('schedule')).toBe('done');
    expect(held[0]).toBe(0);
    for (let page = 1; page <= 5; page += 1) expect(held[page]).toBeGreaterThan((held[page - 1] ?? 0) + 10_000);
  });
});

describe('T17: a window that was read when the process crashed', () => {
  const large = Array.from({ length: 2000 }, (_, id) => ({ id, text: 'x'.repeat(150) }));
  /** Oldest first. */
  const of = async (kit: SourceKit) => (await kit.ledger.windows('events', ALL)).toReversed();

  /** Windows of a minute, each of which a process had begun so often before it crashed. */
  async function begun(times: readonly number[], pagination?: object, fields?: object): Promise<SourceKit> {
    const kit = await SourceKit.start({
      fields: { emitLogs: false, ...fields },
      scrape: { ...WINDOWS_OF_A_MINUTE, maxConcurrentWindows: 5, ...(pagination && { pagination }) },
    });
    const windows = times.map((_, index) => ({
      start: minutes(index - times.length),
      end: minutes(index - times.length + 1),
    }));
    await kit.ledger.plan('events', undefined, windows, START, FENCE);
    for (const [index, window] of (await of(kit)).entries())
      for (let time = 0; time < (times[index] ?? 0); time += 1) await kit.ledger.begin('events', window.id, FENCE);
    kit.api.answer = json(large);
    return kit;
  }

  test('twice is set aside at once, and the others come', async () => {
    await using kit = await begun([2, 0]);
    expect(await kit.source.run('retry')).toBe('failed');
    expect(kit.failures()).toMatchObject([{ kind: 'crash', next_attempt: 'dead' }]);
    expect((await of(kit)).map(({ state }) => state)).toEqual(['dead', 'committed']);
  });

  test('holds up no other like it: neither when it fails nor when it is done', async () => {
    await using kit = await begun([1, 1, 1], { type: 'page' });
    const seconds = inTurn(json({}, 404), json([]), json([]));
    kit.api.answer = (request, response) =>
      (request.target.includes('page=1') ? json(large) : seconds)(request, response);
    await kit.source.run('retry');
    expect((await of(kit)).map(({ state }) => state).toSorted()).toEqual(['committed', 'committed', 'open']);
  });

  test('does not count when there is no room for it', async () => {
    await using kit = await begun([0, 0], undefined, { filters: { limits: { maxRecordsPerScrape: 1 } } });
    await kit.source.run('retry');
    const [, second] = await of(kit);
    expect(second).toMatchObject({ state: 'open', attempts: 0 });
    expect(await kit.ledger.begin('events', second?.id ?? '', FENCE)).toBe(0);
  });

  test('does not count when it is given up in good order', async () => {
    await using kit = await begun([0], { type: 'page' });
    const second = Promise.withResolvers<void>();
    kit.api.answer = inTurn(json(large), () => second.resolve());
    const run = kit.source.run('retry');
    await second.promise;
    await kit.source.close(0);
    await run;
    const [window] = await of(kit);
    expect(await kit.ledger.begin('events', window?.id ?? '', FENCE)).toBe(0);
  });
});

describe('the state', () => {
  test('that fails ends a run, which is begun again soon', async () => {
    let failures = 0;
    await using kit = await SourceKit.start({ observer: { ...unobserved, stateFailed: () => (failures += 1) } });
    await plannedUntil(kit, minutes(-1));
    await kit.ledger.close();
    expect(await kit.source.run('schedule')).toBe('failed');
    expect(failures).toBe(1);
    expect(kit.wakes).toEqual([new Date(START.getTime() + 500)]);
    expect(kit.source.lastError).toContain('state file');
    await kit.source.run('retry');
    expect(kit.wakes.at(-1)).toEqual(new Date(START.getTime() + 1000));
    expect(kit.api.requests).toEqual([]);
  });
});
