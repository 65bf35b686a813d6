import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { emptyResource } from '@opentelemetry/resources';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Aggregation } from './aggregation.ts';
import { MetricExport } from './metric-export.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

type Done = (result: { code: number; error?: Error }) => void;

function setUp() {
  const aggregation = new Aggregation({
    resource: emptyResource(),
    scope: { name: 'test', version: '1' },
    seriesPerMetric: 100_000,
  });
  const counter = aggregation.counter({
    name: 'n',
    instrument: 'counter',
    unit: '1',
    description: '',
    attributes: ['series'],
  });
  counter.add(1, {});
  const requests: { readonly points: number; readonly done: Done }[] = [];
  const failures: unknown[] = [];
  const shutdown = vi.fn(() => Promise.resolve());
  const exporter = {
    export: ({ scopeMetrics }: ResourceMetrics, done: Done) =>
      void requests.push({ points: scopeMetrics[0]?.metrics[0]?.dataPoints.length ?? 0, done }),
    shutdown,
  };
  const metrics = new MetricExport({
    exporter,
    collect: () => aggregation.collect().resourceMetrics,
    intervalMs: 1000,
    timeoutMs: 100,
    onFailure: (error) => failures.push(error),
  });
  return { metrics, counter, requests, failures, shutdown };
}

describe('the export of metrics', () => {
  it('comes every so often, one at a time', async () => {
    const { metrics, requests } = setUp();
    metrics.start();
    await vi.advanceTimersByTimeAsync(1000);
    expect(requests).toHaveLength(1);
    const first = metrics.export();
    expect(requests).toHaveLength(1);
    requests[0]?.done({ code: 0 });
    await first;
    await vi.advanceTimersByTimeAsync(1000);
    expect(requests).toHaveLength(2);
  });

  it('gives up an export that gets no answer, and goes on', async () => {
    const { metrics, requests, failures } = setUp();
    const hanging = metrics.export();
    await vi.advanceTimersByTimeAsync(100);
    await hanging;
    expect(failures).toMatchObject([{ message: 'no answer within 100 ms' }]);
    void metrics.export();
    expect(requests).toHaveLength(2);
  });

  it.each([
    ['a refusal', (done: Done) => done({ code: 1, error: new Error('refused') }), 'refused'],
    ['a failure without a reason', (done: Done) => done({ code: 1 }), 'the export failed'],
  ])('tells of %s', async (_what, answer, message) => {
    const { metrics, requests, failures } = setUp();
    const failing = metrics.export();
    answer(requests[0]?.done ?? expect.fail('nothing was exported'));
    await failing;
    expect(failures).toMatchObject([{ message }]);
  });

  it('sends many points in several requests', async () => {
    const { metrics, counter, requests } = setUp();
    for (let series = 1; series < 5_001; series++) counter.add(1, { series });
    const all = metrics.export();
    expect(requests.map(({ points }) => points)).toEqual([5_000]);
    requests[0]?.done({ code: 0 });
    await vi.waitFor(() => expect(requests.map(({ points }) => points)).toEqual([5_000, 1]));
    requests[1]?.done({ code: 0 });
    await all;
  });

  it('ends with the numbers as they are then, after the export that was under way', async () => {
    const { metrics, requests, shutdown } = setUp();
    void metrics.export();
    const stopped = metrics.stop(true);
    expect(requests).toHaveLength(1);
    requests[0]?.done({ code: 0 });
    await vi.waitFor(() => expect(requests).toHaveLength(2));
    expect(shutdown).not.toHaveBeenCalled();
    requests[1]?.done({ code: 0 });
    await stopped;
    expect(shutdown).toHaveBeenCalledOnce();
  });

  it('ends without them where nobody wants them', async () => {
    const { metrics, requests, shutdown } = setUp();
    await metrics.stop(false);
    expect(requests).toHaveLength(0);
    expect(shutdown).toHaveBeenCalledOnce();
  });
});
