import { METRIC_CATALOG } from '../../../adapter/telemetry/metrics/metric-catalog.ts';
import { sessions, files, maintenance } from './adapter-keeping.ts';
import { WITHOUT_PROBES, requests, tools, upstreams } from './adapter-traffic.ts';
import { number } from './panels.ts';
import type { Dashboard, Row } from './layout.ts';
import { processRow } from './process.ts';
import { PromQl } from './promql.ts';

const TARGETS = ['namespace=~"$namespace"', 'job=~"$job"'];

const CALLS = 'adapter_upstream_tool_calls_total';
const CALL_SECONDS = 'adapter_upstream_tool_call_duration_seconds';
const REQUESTS = 'adapter_http_requests_total';
const STATUS_CLASS = 'http_response_status_class';
const OPEN = 'adapter_upstream_circuit_breaker_state';

/** Of the adapter: what clients ask for, what upstreams make of it, and how the replicas are. */
export function adapterDashboard(): Dashboard {
  const of = new PromQl(METRIC_CATALOG, [...TARGETS, 'server_id=~"$server"']);
  const mcp = new PromQl(METRIC_CATALOG, [...TARGETS, 'mcp_adapter_server_id=~"$server"']);
  const whole = new PromQl(METRIC_CATALOG, TARGETS);
  return {
    uid: 'mcp-adapter',
    title: 'MCP adapter',
    description: 'Requests, tools, upstreams, sessions and files of adapters.',
    variables: [
      { name: 'namespace', title: 'Namespace', series: REQUESTS, label: 'namespace', optional: true },
      { name: 'job', title: 'Adapter', series: `${REQUESTS}{namespace=~"$namespace"}`, label: 'job' },
      {
        name: 'server',
        title: 'Server',
        series: `${REQUESTS}{${TARGETS.join(',')}}`,
        label: 'server_id',
        optional: true,
      },
    ],
    rows: [
      overview(of, whole),
      requests(of, mcp),
      tools(of),
      upstreams(of, mcp),
      sessions(of, whole),
      files(of, whole),
      maintenance(whole),
      processRow(whole),
    ],
  };
}

const overview = (of: PromQl, whole: PromQl): Row => ({
  title: 'Overview',
  panels: [
    number('Requests', 'reqps', of.rate(REQUESTS, [], [WITHOUT_PROBES]), 'HTTP requests per second, probes left out.'),
    number(
      'Failed requests',
      'percentunit',
      of.share(REQUESTS, [`${STATUS_CLASS}="5xx"`], [WITHOUT_PROBES]),
      'Share of requests that were answered with a status of 500 or more, probes left out.',
      { warning: 0.01, critical: 0.05 },
    ),
    number('Tool calls', 'cps', of.rate(CALLS), 'Calls of tools, per second.'),
    number(
      'Failed tool calls',
      'percentunit',
      of.share(CALLS, ['result!="success"']),
      'Share of calls that gave an error or took too long.',
      { warning: 0.05, critical: 0.2 },
    ),
    number('Tool calls, p95', 's', of.quantile(0.95, CALL_SECONDS), 'Nineteen of twenty calls took no longer.'),
    number(
      'Open breakers',
      'short',
      `count(max by (job, server_id) (${of.series(OPEN)}) == 2) or vector(0)`,
      'Upstreams whose pings failed so often that they get no requests.',
      { warning: 1, critical: 1 },
    ),
    number(
      'Sessions',
      'short',
      `sum(max by (job) (${whole.series('adapter_sessions_active')}))`,
      'Sessions that are open.',
    ),
    number(
      'Requests in flight',
      'short',
      `sum(${whole.series('adapter_requests_in_flight')})`,
      'Requests that have come and are not answered.',
    ),
  ],
});
