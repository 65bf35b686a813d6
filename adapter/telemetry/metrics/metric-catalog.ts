import type { MetricDefinition } from '../../../lib/metrics/metric-definition.ts';
import { NODE_METRICS } from '../../../lib/metrics/node-metrics.ts';
import { FURTHER_METRICS } from './further-metrics.ts';
import { ORIGINAL_METRICS } from './original-metrics.ts';

/** As OpenTelemetry's conventions for MCP ask for it. */
const MCP_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const OPERATION = [
  'mcp.method.name',
  'gen_ai.operation.name',
  'gen_ai.tool.name',
  'error.type',
  'rpc.response.status_code',
  'mcp.protocol.version',
  'network.transport',
  'mcp_adapter.server.id',
] as const;

/** Of OpenTelemetry's conventions for MCP. */
const CONVENTION_METRICS = {
  serverOperation: {
    name: 'mcp.server.operation.duration',
    instrument: 'histogram',
    unit: 's',
    description: 'How long requests and notifications of clients took.',
    attributes: OPERATION,
    bounds: MCP_SECONDS,
  },
  clientOperation: {
    name: 'mcp.client.operation.duration',
    instrument: 'histogram',
    unit: 's',
    description: 'How long requests and notifications to upstreams took.',
    attributes: OPERATION,
    bounds: MCP_SECONDS,
  },
  serverSession: {
    name: 'mcp.server.session.duration',
    instrument: 'histogram',
    unit: 's',
    description: 'How long sessions lasted.',
    attributes: ['mcp.protocol.version', 'network.transport', 'mcp_adapter.server.id'],
    bounds: MCP_SECONDS,
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

/** The adapter's own, those that dashboards know first. */
export const ADAPTER_METRICS = { ...ORIGINAL_METRICS, ...CONVENTION_METRICS, ...FURTHER_METRICS };

/** Every metric of the adapter. */
export const METRIC_CATALOG: readonly MetricDefinition[] = [...Object.values(ADAPTER_METRICS), ...NODE_METRICS];
