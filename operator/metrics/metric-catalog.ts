import type { MetricDefinition } from '../../lib/metrics/metric-definition.ts';

/** Reconciles take milliseconds when nothing is to do, and seconds when they wait for pods to answer. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Every metric of the operator but those of its process, which all programs have (lib/metrics/node-metrics.ts). */
export const OPERATOR_METRICS = {
  reconciles: {
    name: 'mcp_operator_reconciles_total',
    instrument: 'counter',
    unit: '{reconcile}',
    description: 'Reconciles by controller and outcome: done, requeue, failed, terminal.',
    attributes: ['controller', 'outcome'],
  },
  reconcileDuration: {
    name: 'mcp_operator_reconcile_duration_seconds',
    instrument: 'histogram',
    unit: 's',
    description: 'How long reconciles took.',
    attributes: ['controller'],
    bounds: SECONDS,
  },
  queueDepth: {
    name: 'mcp_operator_queue_depth',
    instrument: 'gauge',
    unit: '{key}',
    description: 'Keys that are due and wait.',
    attributes: ['controller'],
  },
  apiRequests: {
    name: 'mcp_operator_api_requests_total',
    instrument: 'counter',
    unit: '{request}',
    description: 'Requests to the Kubernetes API by verb and HTTP status; error when there was no answer.',
    attributes: ['verb', 'code'],
  },
  apiRequestDuration: {
    name: 'mcp_operator_api_request_duration_seconds',
    instrument: 'histogram',
    unit: 's',
    description: 'How long requests to the Kubernetes API took, watches left out.',
    attributes: ['verb'],
    bounds: SECONDS,
  },
  watchRestarts: {
    name: 'mcp_operator_watch_restarts_total',
    instrument: 'counter',
    unit: '{restart}',
    description: 'Watches that were opened again, by resource.',
    attributes: ['resource'],
  },
  leader: {
    name: 'mcp_operator_leader',
    instrument: 'gauge',
    unit: '{leader}',
    description: '1 while this process leads.',
    attributes: [],
  },
  resources: {
    name: 'mcp_operator_resources',
    instrument: 'gauge',
    unit: '{resource}',
    description: 'Resources by kind and by the status of each of their conditions.',
    attributes: ['kind', 'condition', 'status'],
  },
  toolLockPending: {
    name: 'mcp_operator_tool_lock_pending',
    instrument: 'gauge',
    unit: '{definition}',
    description: 'Definitions that differ from their McpToolLocks, by state: drift, new, removed.',
    attributes: ['state'],
  },
  residentMemory: {
    name: 'process_resident_memory_bytes',
    instrument: 'gauge',
    unit: 'By',
    description: 'Resident memory.',
    attributes: [],
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;
