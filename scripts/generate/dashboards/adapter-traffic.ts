import type { Row } from './layout.ts';
import { graph, states } from './panels.ts';
import type { PromQl } from './promql.ts';

const BREAKER = {
  0: { text: 'closed', color: 'green' },
  1: { text: 'half open', color: 'orange' },
  2: { text: 'open', color: 'red' },
} as const;

/** Health is asked for often, and answers 503 for reasons of its own. */
export const WITHOUT_PROBES = 'adapter_route_group!~"/healthz|/livez|/readyz"';

const CALLS = 'adapter_upstream_tool_calls_total';
const CALL_SECONDS = 'adapter_upstream_tool_call_duration_seconds';
const REQUESTS = 'adapter_http_requests_total';
const REQUEST_SECONDS = 'adapter_http_request_duration_seconds';
const STATUS_CLASS = 'http_response_status_class';
const ROUTE = 'adapter_route_group';
const OPEN = 'adapter_upstream_circuit_breaker_state';

export const requests = (of: PromQl, mcp: PromQl): Row => ({
  title: 'HTTP',
  panels: [
    graph(
      'Requests by status',
      'reqps',
      [{ expr: of.rate(REQUESTS, [STATUS_CLASS], [WITHOUT_PROBES]), legend: `{{${STATUS_CLASS}}}` }],
      'Answers by class of their status. 4xx are mistakes of clients, 5xx ours or of upstreams.',
    ),
    graph(
      'Duration of requests',
      's',
      of.quantiles(REQUEST_SECONDS, [WITHOUT_PROBES]),
      'From the request to the end of its answer. Event streams have none.',
    ),
    graph(
      'Requests by route',
      'reqps',
      [{ expr: of.rate(REQUESTS, [ROUTE]), legend: `{{${ROUTE}}}` }],
      'Requests by the route that they took; unmatched ones met none.',
    ),
    graph(
      'Refused before the upstream',
      'reqps',
      [{ expr: of.rate('adapter_request_rejections_total', ['reason']), legend: '{{reason}}' }],
      'Requests that the adapter refused itself, by the reason.',
    ),
    graph(
      'Refused credentials',
      'reqps',
      [{ expr: of.rate('adapter_auth_rejections_total', ['reason']), legend: '{{reason}}' }],
      'Tokens and signed URLs that were missing or wrong.',
    ),
    graph(
      'MCP requests, p95 by method',
      's',
      [
        {
          expr: mcp.quantile(0.95, 'mcp.server.operation.duration', ['mcp_method_name']),
          legend: '{{mcp_method_name}}',
        },
      ],
      'How long clients waited, by method of MCP.',
    ),
  ],
});

export const tools = (of: PromQl): Row => ({
  title: 'Tools',
  panels: [
    graph(
      'Calls by server',
      'cps',
      [{ expr: of.rate(CALLS, ['server_id']), legend: '{{server_id}}' }],
      'Calls of tools, by server.',
    ),
    graph(
      'Failures by server',
      'cps',
      [{ expr: of.rate(CALLS, ['server_id', 'result'], ['result!="success"']), legend: '{{server_id}}: {{result}}' }],
      'Calls that gave an error or took too long.',
    ),
    graph('Duration of calls', 's', of.quantiles(CALL_SECONDS), 'From the call to the end of its result.'),
    graph(
      'Duration by server, p95',
      's',
      [{ expr: of.quantile(0.95, CALL_SECONDS, ['server_id']), legend: '{{server_id}}' }],
      'Nineteen of twenty calls of a server took no longer.',
    ),
    graph(
      'Most called tools',
      'cps',
      [{ expr: `topk(10, ${of.rate(CALLS, ['server_id', 'tool_name'])})`, legend: '{{server_id}}: {{tool_name}}' }],
      'The ten tools with the most calls.',
    ),
    graph(
      'Slowest tools, p95',
      's',
      [
        {
          expr: `topk(10, ${of.quantile(0.95, CALL_SECONDS, ['server_id', 'tool_name'])})`,
          legend: '{{server_id}}: {{tool_name}}',
        },
      ],
      'The ten tools whose calls take longest.',
    ),
  ],
});

export const upstreams = (of: PromQl, mcp: PromQl): Row => ({
  title: 'Upstreams',
  panels: [
    states(
      'Circuit breakers',
      `max by (server_id) (${of.series(OPEN)})`,
      '{{server_id}}',
      BREAKER,
      'Open: pings have failed, and requests are answered with 503 at once. The worst of all replicas.',
    ),
    graph(
      'Pings that failed',
      'ops',
      [{ expr: of.rate('adapter_upstream_ping_total', ['server_id'], ['result="failure"']), legend: '{{server_id}}' }],
      'Pings that upstreams did not answer in time.',
    ),
    graph(
      'Duration of pings, p95',
      's',
      [{ expr: of.quantile(0.95, 'adapter_upstream_ping_latency_seconds', ['server_id']), legend: '{{server_id}}' }],
      'How fast upstreams answer when nothing is to do.',
    ),
    graph(
      'Requests to upstreams, p95',
      's',
      [
        {
          expr: mcp.quantile(0.95, 'mcp.client.operation.duration', ['mcp_adapter_server_id']),
          legend: '{{mcp_adapter_server_id}}',
        },
      ],
      'How fast upstreams answer requests and notifications.',
    ),
    graph(
      'Requests to upstreams that failed',
      'ops',
      [
        {
          expr: mcp.countRate(
            'mcp.client.operation.duration',
            ['mcp_adapter_server_id', 'error_type'],
            ['error_type!=""'],
          ),
          legend: '{{mcp_adapter_server_id}}: {{error_type}}',
        },
      ],
      'Errors of upstreams and of the way to them.',
    ),
    graph(
      'Tools that changed',
      'ops',
      [
        {
          expr: of.rate('adapter_tool_definition_drift_total', ['server_id', 'outcome']),
          legend: '{{server_id}}: {{outcome}}',
        },
      ],
      'Lists that differ from what the session saw first.',
    ),
    graph(
      'Messages of upstreams that were dropped',
      'ops',
      [
        {
          expr: of.rate('adapter_upstream_messages_dropped_total', ['server_id', 'reason']),
          legend: '{{server_id}}: {{reason}}',
        },
      ],
      'What clients could misread, or did not ask for.',
    ),
  ],
});
