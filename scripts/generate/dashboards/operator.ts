import { NODE_METRICS } from '../../../lib/metrics/node-metrics.ts';
import { OPERATOR_METRICS } from '../../../operator/metrics/metric-catalog.ts';
import type { Dashboard, Row } from './layout.ts';
import { graph, number } from './panels.ts';
import { processRow } from './process.ts';
import { PromQl } from './promql.ts';

const TARGETS = ['namespace=~"$namespace"', 'job=~"$job"'];
const RECONCILES = 'mcp_operator_reconciles_total';
const REQUESTS = 'mcp_operator_api_requests_total';
const RESOURCES = 'mcp_operator_resources';
const LEADER = 'mcp_operator_leader';

/** Of the operator: the resources that it looks after, and how fast it does so. */
export function operatorDashboard(): Dashboard {
  const of = new PromQl([...Object.values(OPERATOR_METRICS), ...NODE_METRICS], TARGETS);
  return {
    uid: 'mcp-operator',
    title: 'MCP operator',
    description: 'Resources by their conditions, reconciles, and requests to the API server.',
    variables: [
      { name: 'namespace', title: 'Namespace', series: LEADER, label: 'namespace', optional: true },
      { name: 'job', title: 'Operator', series: `${LEADER}{namespace=~"$namespace"}`, label: 'job' },
    ],
    rows: [overview(of), resources(of), reconciles(of), api(of), processRow(of)],
  };
}

/** Every replica of the operator sees all resources, so they are not added up. */
const counted = (of: PromQl, by: readonly string[], matchers: readonly string[]): string =>
  `max by (${by.join(', ')}) (${of.series(RESOURCES, matchers)})`;

const overview = (of: PromQl): Row => ({
  title: 'Overview',
  panels: [
    number('Leaders', 'short', `sum(${of.series(LEADER)})`, 'One is right. None: nothing is reconciled.'),
    number(
      'Ready',
      'short',
      `sum(${counted(of, ['kind'], ['condition="Ready"', 'status="True"'])}) or vector(0)`,
      'Resources that serve.',
    ),
    number(
      'Not ready',
      'short',
      `sum(${counted(of, ['kind'], ['condition="Ready"', 'status="False"'])}) or vector(0)`,
      'Resources that do not serve as they should.',
      { warning: 1, critical: 5 },
    ),
    number(
      'Not accepted',
      'short',
      `sum(${counted(of, ['kind'], ['condition="Accepted"', 'status="False"'])}) or vector(0)`,
      'Resources whose specification cannot be used.',
      { warning: 1, critical: 5 },
    ),
    number(
      'Failed reconciles',
      'percentunit',
      of.share(RECONCILES, ['outcome=~"failed|terminal"']),
      'Share of reconciles that failed.',
      { warning: 0.05, critical: 0.5 },
    ),
    number('Waiting', 'short', `sum(${of.series('mcp_operator_queue_depth')})`, 'Keys that are due and wait.'),
  ],
});

const resources = (of: PromQl): Row => ({
  title: 'Resources',
  panels: [
    graph(
      'Ready',
      'short',
      [
        {
          expr: counted(of, ['kind', 'status'], ['condition="Ready"']),
          legend: '{{kind}} Ready={{status}}',
        },
      ],
      'Resources by whether they serve.',
    ),
    graph(
      'Conditions that do not hold',
      'short',
      [
        {
          expr: `${counted(of, ['kind', 'condition'], ['condition!~"Ready|Paused|Progressing|Reconciling|Stalled"', 'status="False"'])} > 0`,
          legend: '{{kind}} {{condition}}',
        },
      ],
      'What is wrong with resources, by condition. kubectl describe tells which ones, and why.',
    ),
    graph(
      'Definitions that differ from their locks',
      'short',
      [
        {
          expr: `max by (state) (${of.series('mcp_operator_tool_lock_pending')})`,
          legend: '{{state}}',
        },
      ],
      'What waits for approval. kubectl get mcptl tells where.',
    ),
  ],
});

const reconciles = (of: PromQl): Row => ({
  title: 'Reconciles',
  panels: [
    graph(
      'Reconciles by outcome',
      'ops',
      [{ expr: of.rate(RECONCILES, ['controller', 'outcome']), legend: '{{controller}}: {{outcome}}' }],
      'Failed ones are tried again; terminal ones only after a change.',
    ),
    graph(
      'Duration, p95',
      's',
      [
        {
          expr: of.quantile(0.95, 'mcp_operator_reconcile_duration_seconds', ['controller']),
          legend: '{{controller}}',
        },
      ],
      'How long reconciles took.',
    ),
    graph(
      'Waiting',
      'short',
      [
        {
          expr: `sum by (controller) (${of.series('mcp_operator_queue_depth')})`,
          legend: '{{controller}}',
        },
      ],
      'Keys that are due and wait. It should fall to nought again and again.',
    ),
    graph(
      'Watches opened again',
      'ops',
      [{ expr: of.rate('mcp_operator_watch_restarts_total', ['resource']), legend: '{{resource}}' }],
      'A few each minute are usual: the API server ends watches from time to time.',
    ),
  ],
});

const api = (of: PromQl): Row => ({
  title: 'API server',
  panels: [
    graph(
      'Requests by verb',
      'reqps',
      [{ expr: of.rate(REQUESTS, ['verb']), legend: '{{verb}}' }],
      'Where nothing changes there are few.',
    ),
    graph(
      'Requests that failed',
      'reqps',
      [{ expr: of.rate(REQUESTS, ['verb', 'code'], ['code!~"2.."']), legend: '{{verb}}: {{code}}' }],
      '403: a right is missing. 409 and 410 are usual. error: no answer.',
    ),
    graph(
      'Duration of requests, p95',
      's',
      [
        {
          expr: of.quantile(0.95, 'mcp_operator_api_request_duration_seconds', ['verb']),
          legend: '{{verb}}',
        },
      ],
      'How long the API server took to answer, watches left out.',
    ),
  ],
});
