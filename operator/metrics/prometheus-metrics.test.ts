import { afterEach, describe, expect, it } from 'vitest';
import { prometheusLabel, prometheusNames } from '../../lib/metrics/metric-definition.ts';
import { NODE_METRICS } from '../../lib/metrics/node-metrics.ts';
import type { KubernetesApi, KubernetesObject } from '../kubernetes/kubernetes.ts';
import { ApiError } from '../kubernetes/kubernetes.ts';
import { measuredApi } from './measured-api.ts';
import { type ConditionCount, countConditions, countPending, type MetricSources, noMetrics } from './metrics.ts';
import { OPERATOR_METRICS } from './metric-catalog.ts';
import { PrometheusMetrics } from './prometheus-metrics.ts';
import { PODS } from '../kubernetes/resources.ts';

let metrics: PrometheusMetrics | undefined;
afterEach(() => metrics?.close());

const NOTHING = { drift: 0, new: 0, removed: 0 };

function start(sources: Partial<MetricSources> = {}): PrometheusMetrics {
  metrics = new PrometheusMetrics({ leading: () => false, conditions: () => [], pending: () => NOTHING, ...sources });
  return metrics;
}

const lines = async (all: PrometheusMetrics): Promise<string[]> => (await all.text()).split('\n');

describe('what Prometheus reads', () => {
  it('counts reconciles by outcome, and how long they took', async () => {
    const all = start();
    all.reconciled('adapters', 'done', 0.02);
    all.reconciled('adapters', 'done', 0.3);
    all.reconciled('adapters', 'failed', 1);
    const text = await lines(all);
    expect(text).toContain('mcp_operator_reconciles_total{controller="adapters",outcome="done"} 2');
    expect(text).toContain('mcp_operator_reconciles_total{controller="adapters",outcome="failed"} 1');
    expect(text).toContain('mcp_operator_reconcile_duration_seconds_count{controller="adapters"} 3');
    expect(text).toContain('mcp_operator_reconcile_duration_seconds_bucket{controller="adapters",le="0.025"} 1');
    expect(text).toContain('# TYPE mcp_operator_reconcile_duration_seconds histogram');
  });

  it('shows queues, watches, memory, and whether this process leads', async () => {
    let leading = false;
    const all = start({ leading: () => leading });
    all.queueDepth('adapters', 7);
    all.queueDepth('adapters', 3);
    all.watchRestarted('pods');
    leading = true;
    const text = await lines(all);
    expect(text).toContain('mcp_operator_queue_depth{controller="adapters"} 3');
    expect(text).toContain('mcp_operator_watch_restarts_total{resource="pods"} 1');
    expect(text).toContain('mcp_operator_leader 1');
    expect(text.find((line) => line.startsWith('process_resident_memory_bytes '))).toMatch(/ \d{7,}/);
    leading = false;
    expect(await lines(all)).toContain('mcp_operator_leader 0');
  });

  it('counts resources by condition, and no longer those that have recovered', async () => {
    let counts: ConditionCount[] = [{ kind: 'McpAdapter', condition: 'Ready', status: 'False', count: 2 }];
    const all = start({ conditions: () => counts });
    const series = 'mcp_operator_resources{kind="McpAdapter",condition="Ready",status="False"}';
    expect(await lines(all)).toContain(`${series} 2`);
    counts = [];
    expect(await lines(all)).toContain(`${series} 0`);
  });

  it('adds up what differs from locks', async () => {
    const lock = (status: object) => ({ status }) as unknown as KubernetesObject;
    const locks = [lock({ drifted: 2, added: 1 }), lock({ drifted: 3, removed: 4 }), {} as KubernetesObject];
    const text = await lines(start({ pending: () => countPending(locks) }));
    expect(text).toContain('mcp_operator_tool_lock_pending{state="drift"} 5');
    expect(text).toContain('mcp_operator_tool_lock_pending{state="new"} 1');
    expect(text).toContain('mcp_operator_tool_lock_pending{state="removed"} 4');
  });

  it('has every metric of the catalog and of the process, with no other labels', async () => {
    const all = start({ conditions: () => [{ kind: 'McpAdapter', condition: 'Ready', status: 'True', count: 1 }] });
    all.reconciled('adapters', 'done', 1);
    all.queueDepth('adapters', 1);
    all.apiRequest('get', '200', 1);
    all.watchRestarted('pods');
    const text = await lines(all);
    for (const metric of [...Object.values(OPERATOR_METRICS), ...NODE_METRICS]) {
      const [name = ''] = prometheusNames(metric);
      expect(text).toContain(`# TYPE ${name} ${metric.instrument === 'upDownCounter' ? 'gauge' : metric.instrument}`);
      const series = text.find((line) => new RegExp(`^${name}(_count)?[{ ]`).test(line)) ?? '';
      const labels = [...series.matchAll(/(\w+)="/g)].map(([, label]) => label);
      expect([name, labels]).toEqual([name, metric.attributes.map(prometheusLabel)]);
    }
    const known = [...Object.values(OPERATOR_METRICS), ...NODE_METRICS].flatMap(prometheusNames);
    const shown = text.flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
    expect(shown.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('goes on when one source fails', async () => {
    const all = start({
      conditions: () => {
        throw new Error('broken');
      },
    });
    expect(await lines(all)).toContain('mcp_operator_leader 0');
  });
});

describe('countConditions', () => {
  it('counts each status of each condition', () => {
    const object = (...conditions: object[]): KubernetesObject => ({
      apiVersion: 'v1',
      kind: 'X',
      metadata: { name: 'x' },
      status: { conditions },
    });
    const ready = { type: 'Ready', status: 'True' };
    const { status: _, ...bare } = object();
    expect(
      countConditions('X', [object(ready), object(ready, { type: 'Paused', status: 'True' }), object(), bare]),
    ).toEqual([
      { kind: 'X', condition: 'Ready', status: 'True', count: 2 },
      { kind: 'X', condition: 'Paused', status: 'True', count: 1 },
    ]);
  });
});

describe('measuredApi', () => {
  it('counts requests by verb and code, and passes answers and errors on', async () => {
    const reported: string[] = [];
    let time = 0;
    const answers: Partial<KubernetesApi> = {
      get: () => {
        time += 250;
        return Promise.resolve(undefined);
      },
      apply: () => Promise.reject(new ApiError(409, 'Conflict', 'changed')),
      list: () => Promise.reject(new Error('ECONNRESET')),
    };
    const apiRequest = (...all: unknown[]): void => void reported.push(all.join(' '));
    const api = measuredApi(answers as KubernetesApi, { ...noMetrics, apiRequest }, () => time);
    await expect(api.get(PODS, { name: 'x' })).resolves.toBeUndefined();
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } };
    await expect(api.apply(pod, PODS, { fieldManager: 'm' })).rejects.toThrow('changed');
    await expect(api.list(PODS, {})).rejects.toThrow('ECONNRESET');
    expect(reported).toEqual(['get 200 0.25', 'apply 409 0', 'list error 0']);
  });
});
