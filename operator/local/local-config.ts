import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';

/**
 * The resource as one process of this machine can run it: one replica, and state in a file where the cluster has Redis.
 * Nobody comes by the names of the cluster. The rest is built as there.
 */
export function localAdapter(adapter: McpAdapter): { adapter: McpAdapter; notes: string[] } {
  const { config, autoscaling: _autoscaling, ingress: _ingress, httpRoute: _route, ...spec } = adapter.spec;
  const notes: string[] = [];
  const state = config.state_persistence;
  const embedded = state?.type === 'redis';
  const { prometheus, ...telemetry } = config.telemetry ?? {};
  if (embedded) notes.push('keeps its state in SQLite here, not in Redis');
  // Every adapter of this machine would want the same port.
  if ((prometheus?.enabled ?? false) !== false) notes.push('serves no metrics to Prometheus here');
  if ((spec.replicas ?? 1) > 1) notes.push(`runs once here, not ${spec.replicas} times`);
  return {
    notes,
    adapter: {
      ...adapter,
      spec: {
        ...spec,
        replicas: 1,
        config: {
          ...config,
          ...(prometheus === undefined ? {} : { telemetry }),
          ...(embedded
            ? {
                state_persistence: { ...state, type: 'disk', redis: undefined },
                storage: { ...config.storage, lock_mode: 'auto' },
              }
            : {}),
        },
      },
    },
  };
}
