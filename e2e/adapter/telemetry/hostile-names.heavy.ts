import { afterAll, beforeAll, expect, test } from 'vitest';
import { Pool } from 'undici';
import { METRIC_CATALOG } from '../../../adapter/telemetry/metrics/metric-catalog.ts';
import { OtlpReceiver, type ReceivedPoint } from '../../../lib/otlp/testing/otlp-receiver.ts';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { freePort } from '../../support/ports.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from '../kit/deployment.ts';
import { type Door, drain, openSession } from '../kit/session.ts';
import { scrape } from './kit/prometheus.ts';
import { until } from './kit/until.ts';

/** Session ids, tools and paths, of each. */
const NAMES = 10_000;
/** After these there is nothing new that could be told apart. */
const FIRST = 1_000;
const BATCH = 100;
const CONNECTIONS = 20;
/** In every name that a client or an upstream invents. */
const MARK = 'hostile';
const LISTED_TOOLS = 1_000;

/** From the configuration below. */
const SERVERS = ['up', 'other'];
const SERVER_IDS = new Set([...SERVERS, 'global', 'unknown']);
const ROUTES = new Set([
  ...SERVERS.map((id) => `/mcp/${id}`),
  '/upload/{server_id}',
  '/artifacts/{server_id}/{session_id}/{artifact_id}/{filename}',
  '/.well-known/*',
  '/healthz',
  '/livez',
  '/readyz',
  '/metrics',
  'unmatched',
]);
const TOOLS_OF_A_SERVER = 200;
/** How many values an attribute can have, at most. */
const VALUES: Readonly<Record<string, number>> = {
  server_id: SERVER_IDS.size,
  'mcp_adapter.server.id': SERVER_IDS.size,
  'adapter.route_group': ROUTES.size,
  tool_name: TOOLS_OF_A_SERVER + 1,
  'gen_ai.tool.name': TOOLS_OF_A_SERVER + 1,
  'http.request.method': 10,
  'http.response.status_code': 20,
  // It follows from the code.
  'http.response.status_class': 1,
};
const OTHER_VALUES = 30;

const started = new AsyncDisposableStack();
const receiver = new OtlpReceiver();
let adapter: RunningAdapter;
let metricsUrl: string;

beforeAll(async () => {
  started.use(receiver);
  const upstream = started.use(await startScriptedUpstream());
  const definition = { inputSchema: { type: 'object' } };
  for (let i = 0; i < LISTED_TOOLS; i += 1) {
    upstream.tools.set(`listed-${i}`, { definition, call: () => ({ content: [] }) });
  }
  const port = await freePort();
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  const config = {
    core: { max_start_wait_seconds: 0, shutdown_grace_seconds: 0, upstream_ping: { enabled: false } },
    state_persistence: { type: 'memory' },
    servers: SERVERS.map((id) => mounted(id, upstream.url)),
    telemetry: {
      enabled: true,
      transport: 'http',
      endpoint: await receiver.listen(),
      export_interval_seconds: 600,
      periodic_flush_seconds: 600,
      // Nothing is to be lost, so that what is missing in the end has not been counted at all.
      max_queue_size: 100_000,
      prometheus: { enabled: true, host: '127.0.0.1', port },
    },
  };
  adapter = started.use(await startAdapter({ config }));
});
afterAll(() => started.disposeAsync());

/** Does with names that nobody has used before what clients can do, `count` times. */
async function attack(from: number, count: number, door: Door): Promise<void> {
  const pool = new Pool(adapter.url, { connections: CONNECTIONS, pipelining: 10 });
  const send = async (path: string, method: 'GET' | 'POST' | 'DELETE' | 'OPTIONS', message?: object, id = 0) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': `${MARK}-${id}`,
      'mcp-protocol-version': id % 2 === 0 ? '2025-11-25' : `${MARK}-${id}`,
      'mcp-method': `${MARK}/${id}`,
      'mcp-name': `${MARK}-${id}`,
    };
    const body = message === undefined ? null : JSON.stringify({ jsonrpc: '2.0', id, ...message });
    const response = await pool.request({ path, method, headers, body, idempotent: true });
    await response.body.dump();
  };
  const numbers = Array.from({ length: count }, (_, i) => from + i);
  const paths = [
    (i: number) => `/${MARK}/${i}`,
    (i: number) => `/upload/${MARK}-${i}`,
    (i: number) => `/upload/up/${MARK}-${i}`,
    (i: number) => `/artifacts/${MARK}-${i}/${MARK}-${i}/${i}/${MARK}.${i}`,
    (i: number) => `/mcp/${MARK}-${i}`,
    (i: number) => `/mcp/up/${MARK}-${i}?${MARK}=${i}`,
    (i: number) => `/.well-known/${MARK}-${i}`,
    (i: number) => `/%68ostile-%0a%22${i}`,
  ];
  const methods = ['GET', 'POST', 'DELETE', 'OPTIONS'] as const;
  await yieldToEventLoop(numbers, async (i) => {
    const path = paths[i % paths.length] ?? expect.fail();
    await send(path(i), methods[Math.floor(i / paths.length) % methods.length] ?? 'GET', undefined, i);
    const name = `${MARK}-${i}`;
    if (i % 3 === 0) await send('/mcp/up', 'POST', { method: `${MARK}/${i}`, params: { name } }, i);
    else await send('/mcp/up', 'POST', { method: 'tools/call', params: { name, arguments: {} } }, i);
  });
  // In a session that there is: tools that nobody has, and methods.
  for (let i = from; i < from + count; i += BATCH) {
    const batch = numbers.slice(i - from, i - from + BATCH).map((id) => {
      const method = id % 10 === 0 ? `${MARK}/${id}` : 'tools/call';
      const name = id % 2 === 0 ? `${MARK}-${id}` : `listed-${id % LISTED_TOOLS}`;
      return { jsonrpc: '2.0', id, method, params: { name, arguments: {} } };
    });
    await drain(door.send(batch));
  }
  await pool.destroy();
}

/** Many at a time. */
async function yieldToEventLoop(numbers: readonly number[], work: (i: number) => Promise<void>): Promise<void> {
  const next = numbers.values();
  await Promise.all(
    Array.from({ length: 10 * CONNECTIONS }, async () => {
      for (const i of next) await work(i);
    }),
  );
}

/** Of a metric: how many series it may have, whatever clients do. */
const limitOf = (attributes: readonly string[]): number =>
  attributes.reduce((product, name) => product * (VALUES[name] ?? OTHER_VALUES), 1);

const seriesOf = (text: string): Set<string> =>
  new Set(text.split('\n').flatMap((line) => (/^[^#]/.test(line) ? [line.slice(0, line.lastIndexOf(' '))] : [])));

test('ten thousand sessions, tools and paths of a hostile client leave as many series as a thousand', async () => {
  const session = await openSession(adapter, { protocolVersion: '2025-03-26' });
  const door = session.at(adapter);
  await door.call('tools/list');
  await attack(0, FIRST, door);
  // They are read from the state store, and come when it has answered.
  await until('all gauges', async () => (await scrape(metricsUrl)).text.includes('adapter_stored_bytes{'));
  const first = seriesOf((await scrape(metricsUrl)).text);
  await attack(FIRST, NAMES - FIRST, door);
  const { text } = await scrape(metricsUrl);

  expect([...seriesOf(text)].filter((series) => !first.has(series)).slice(0, 10)).toEqual([]);
  expect(text).not.toContain(MARK);
  expect(text).not.toContain('otel_metric_overflow');

  expect(await adapter.stop()).toEqual({ code: 0, signal: null });
  const points = receiver.accepted.at(-1)?.points ?? expect.fail('nothing was exported');
  expect(JSON.stringify(points)).not.toContain(MARK);
  for (const { name, attributes } of METRIC_CATALOG) {
    const own = points.filter((point) => point.name === name);
    expect(own.length, name).toBeLessThanOrEqual(limitOf(attributes));
  }
  const valuesOf = (attribute: string): unknown[] => [...new Set(points.flatMap((point) => valueOf(point, attribute)))];
  expect(valuesOf('server_id').filter((id) => !SERVER_IDS.has(String(id)))).toEqual([]);
  expect(valuesOf('adapter.route_group').filter((route) => !ROUTES.has(String(route)))).toEqual([]);
  for (const attribute of ['tool_name', 'gen_ai.tool.name']) {
    const tools = valuesOf(attribute);
    expect(tools).toContain('_other');
    expect(tools.length).toBeLessThanOrEqual(TOOLS_OF_A_SERVER + 1);
  }
  // The upstream has listed more than that, and the first of them count.
  expect(valuesOf('tool_name')).toHaveLength(TOOLS_OF_A_SERVER + 1);
  // They have been counted all the same, each of them.
  const calls = points.filter(({ name }) => name === 'adapter_upstream_tool_calls_total');
  expect(calls.reduce((sum, { value }) => sum + Number(value), 0)).toBeGreaterThanOrEqual(0.9 * NAMES);
  const requests = points.filter(({ name }) => name === 'adapter_http_requests_total');
  expect(requests.reduce((sum, { value }) => sum + Number(value), 0)).toBeGreaterThanOrEqual(2 * NAMES);
});

const valueOf = ({ attributes }: ReceivedPoint, attribute: string): unknown[] =>
  attribute in attributes ? [attributes[attribute]] : [];
