import { expect, test } from 'vitest';
import { PrometheusMetrics } from '../../operator/metrics/prometheus-metrics.ts';
import { needsPromtool } from '../support/promtool/needs-promtool.ts';
import { promtool } from '../support/promtool/promtool.ts';

needsPromtool();

test('what the operator says of itself is what Prometheus reads, and as it asks for names and units', async () => {
  const metrics = new PrometheusMetrics({
    leading: () => true,
    conditions: () => [{ kind: 'McpAdapter', condition: 'Ready', status: 'True', count: 1 }],
    pending: () => ({ drift: 0, new: 0, removed: 0 }),
  });
  metrics.reconciled('mcp-adapter', 'done', 0.1);
  metrics.queueDepth('mcp-adapter', 1);
  metrics.apiRequest('get', '200', 0.1);
  metrics.watchRestarted('pods');
  const text = await metrics.text();
  await metrics.close();
  expect(text).toContain('mcp_operator_leader 1');
  expect(await promtool(['check', 'metrics'], text)).toBe('');
});
