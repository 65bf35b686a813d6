/** Pure: what the pods say of their upstreams, put together. */
import type { McpAdapterStatus } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { shortened } from '../../health/pod-problems.ts';
import type { DesiredCondition } from '../../status/conditions.ts';
import type { PodHealth } from '../health/pod-health.ts';

export type UpstreamStatus = NonNullable<McpAdapterStatus['upstreams']>[number];

/**
 * The upstreams in the order of the configuration. An upstream that was unhealthy on as many pods before keeps its
 * message: error texts may differ from one attempt to the next, and a status must not change for that.
 */
export function upstreamsOf(health: readonly PodHealth[], before: readonly UpstreamStatus[]): UpstreamStatus[] {
  const ids = [...new Set(health.flatMap(({ servers }) => servers.map(({ id }) => id)))];
  return ids.map((id) => {
    const seen = health.flatMap(({ servers }) => servers.filter((server) => server.id === id));
    const failing = seen.filter(({ healthy }) => !healthy);
    if (failing.length === 0) return { id, healthy: true };
    const summary = `does not answer ${failing.length} of ${seen.length} pod${seen.length === 1 ? '' : 's'}`;
    const known = before.find((one) => one.id === id)?.message;
    if (known?.startsWith(summary)) return { id, healthy: false, message: known };
    const detail = failing.find((server) => server.detail !== undefined)?.detail;
    return { id, healthy: false, message: detail === undefined ? summary : `${summary}: ${shortened(detail)}` };
  });
}

export function upstreamsCondition(upstreams: readonly UpstreamStatus[]): DesiredCondition {
  const type = 'UpstreamsHealthy';
  const failing = upstreams.filter(({ healthy }) => !healthy);
  if (failing.length === 0) {
    const message = upstreams.length === 1 ? 'The upstream answers' : `All ${upstreams.length} upstreams answer`;
    return { type, status: 'True', reason: 'Healthy', message };
  }
  const message = failing.map(({ id, message }) => `${id} ${message}`).join('; ');
  return { type, status: 'False', reason: 'UpstreamUnhealthy', message };
}
