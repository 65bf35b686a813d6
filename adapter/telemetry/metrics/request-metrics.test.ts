import { emptyResource } from '@opentelemetry/resources';
import { describe, expect, it } from 'vitest';
import type { RequestAttributes } from '../../exchange/request-attributes.ts';
import { Aggregation } from './aggregation.ts';
import { METRIC_CATALOG } from './metric-catalog.ts';
import { RequestMetrics } from './request-metrics.ts';
import type { RequestObservation } from '../telemetry.ts';
import { pointsOf, type ReadPoint } from '../testing/points.ts';
import { ToolNames } from '../tool-names.ts';

function setUp() {
  const scope = { name: 'test', version: '1' };
  const aggregation = new Aggregation({ resource: emptyResource(), scope, seriesPerMetric: 500 });
  const tools = new ToolNames(['files']);
  tools.listed('files', ['read', 'write']);
  const metrics = new RequestMetrics(aggregation, new Set(['files']), tools);
  return {
    metrics,
    points: () => pointsOf(aggregation),
    of: (name: string): Omit<ReadPoint, 'name'>[] =>
      pointsOf(aggregation)
        .filter((point) => point.name === name)
        .map(({ attributes, value }) => ({ attributes, value })),
  };
}

const request = (
  facts: Partial<RequestAttributes> = {},
  more: Partial<RequestObservation> = {},
): RequestObservation => ({
  method: 'POST',
  route: '/mcp/files',
  status: 200,
  seconds: 0.1,
  attributes: { requestId: 'r', serverId: 'files', ...facts },
  principal: '',
  bytesIn: 10,
  bytesOut: 20,
  isEventStream: false,
  ...more,
});
const call = (facts: Partial<RequestAttributes> = {}): RequestObservation =>
  request({ rpcMethod: 'tools/call', tool: 'read', outcome: 'ok', protocolVersion: '2025-11-25', ...facts });

const HTTP = {
  server_id: 'files',
  'http.request.method': 'POST',
  'adapter.route_group': '/mcp/files',
  'http.response.status_code': 200,
  'http.response.status_class': '2xx',
};

describe('a request at its end', () => {
  it('is counted by server, method, route and status', () => {
    const { metrics, of } = setUp();
    metrics.request(request());
    metrics.request(request());
    metrics.request(request({}, { status: 404 }));
    const { 'http.response.status_code': _, 'http.response.status_class': __, ...same } = HTTP;
    const expected = [
      { attributes: HTTP, value: 2 },
      {
        attributes: { ...same, 'http.response.status_code': 404, 'http.response.status_class': '4xx' },
        value: 1,
      },
    ];
    expect(of('adapter_http_requests_total')).toEqual(expected);
    expect(of('adapter_http_request_duration_seconds')).toEqual(expected);
  });

  it('has no duration when it is an event stream', () => {
    const { metrics, of } = setUp();
    metrics.request(request({}, { method: 'GET', isEventStream: true }));
    expect(of('adapter_http_requests_total')).toMatchObject([{ value: 1 }]);
    expect(of('adapter_http_request_duration_seconds')).toEqual([]);
  });

  it('belongs to all servers, to none that is known, or to its own', () => {
    const { metrics, of } = setUp();
    metrics.request(request({ serverId: undefined }));
    metrics.request(request({ serverId: undefined }, { serverId: 'other' }));
    metrics.request(request());
    const ids = of('adapter_http_requests_total').map(({ attributes }) => attributes['server_id']);
    expect(ids).toEqual(['global', 'unknown', 'files']);
  });

  it.each([
    [{ outcome: 'unauthorized' }, '/mcp/files', 'invalid_adapter_auth_token'],
    [{ outcome: 'upload_url_invalid' }, '/upload/{server_id}', 'missing_or_invalid_signed_upload_credential'],
  ])('that is refused for %j at %s is counted as %s', (facts, route, reason) => {
    const { metrics, of } = setUp();
    metrics.request(request(facts, { route, status: 401 }));
    expect(of('adapter_auth_rejections_total')).toEqual([
      { attributes: { server_id: 'files', reason, 'adapter.route_group': route }, value: 1 },
    ]);
    expect(of('adapter_request_rejections_total')).toEqual([]);
  });

  it('that is rejected is counted with its status', () => {
    const { metrics, of } = setUp();
    metrics.request(call({ outcome: 'in_flight_limit' }));
    expect(of('adapter_request_rejections_total')).toMatchObject([
      { attributes: { server_id: 'files', reason: 'in_flight_limit_exceeded', 'http.response.status_code': 200 } },
    ]);
  });
});

describe('a tool call', () => {
  it.each([
    [{}, 'success'],
    [{ failure: 'tool_error' as const }, 'error'],
    [{ failure: -32602 }, 'error'],
    [{ outcome: 'upstream_failed' }, 'error'],
    [{ outcome: 'timeout' }, 'timeout'],
    [{ outcome: 'upstream_timeout' }, 'timeout'],
  ])('with %j is a %s', (facts, result) => {
    const { metrics, of } = setUp();
    metrics.request(call(facts));
    const expected = [{ attributes: { server_id: 'files', tool_name: 'read', result }, value: 1 }];
    expect(of('adapter_upstream_tool_calls_total')).toEqual(expected);
    expect(of('adapter_upstream_tool_call_duration_seconds')).toEqual(expected);
  });

  it('of a batch is one of several, each with its own result', () => {
    const { metrics, of } = setUp();
    const calls = [
      { tool: 'read', idText: '1' },
      { tool: 'write', idText: '2', failure: 'tool_error' as const },
    ];
    metrics.request(request({ rpcMethod: 'batch', outcome: 'ok', calls }));
    expect(of('adapter_upstream_tool_calls_total').map(({ attributes }) => attributes)).toEqual([
      { server_id: 'files', tool_name: 'read', result: 'success' },
      { server_id: 'files', tool_name: 'write', result: 'error' },
    ]);
  });

  it('by code counts like one of a client, but is no HTTP request', () => {
    const { metrics, points } = setUp();
    metrics.nestedCall({ ...call({ upstreamMs: 3 }) });
    expect(points().map(({ name }) => name)).toEqual([
      'adapter_upstream_tool_calls_total',
      'adapter_upstream_tool_call_duration_seconds',
      'mcp.client.operation.duration',
    ]);
  });
});

describe('an operation of MCP', () => {
  const OPERATION = {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'read',
    'mcp.protocol.version': '2025-11-25',
    'network.transport': 'tcp',
    'mcp_adapter.server.id': 'files',
  };

  it('is described as the conventions want it, on both sides', () => {
    const { metrics, of } = setUp();
    metrics.request(call({ upstreamMs: 20 }));
    expect(of('mcp.server.operation.duration')).toEqual([{ attributes: OPERATION, value: 1 }]);
    expect(of('mcp.client.operation.duration')).toEqual([{ attributes: OPERATION, value: 1 }]);
  });

  it.each([
    [{ failure: 'tool_error' as const }, { 'error.type': 'tool_error' }],
    [{ failure: -32602 }, { 'error.type': '-32602', 'rpc.response.status_code': '-32602' }],
    [{ outcome: 'upstream_unavailable' }, { 'error.type': 'upstream_unavailable', 'rpc.response.status_code': '503' }],
    [{ outcome: 'timeout' }, { 'error.type': 'timeout' }],
  ])('with %j says what went wrong', (facts, expected) => {
    const { metrics, of } = setUp();
    metrics.request(call(facts));
    expect(of('mcp.server.operation.duration')).toEqual([{ attributes: { ...OPERATION, ...expected }, value: 1 }]);
  });

  it('of the adapter’s own is on the side of the client only', () => {
    const { metrics, points } = setUp();
    metrics.upstreamCall({ serverId: 'files', method: 'tools/list', seconds: 1, errorType: -32603 });
    expect(points()).toEqual([
      {
        name: 'mcp.client.operation.duration',
        attributes: {
          'mcp.method.name': 'tools/list',
          'error.type': '-32603',
          'rpc.response.status_code': '-32603',
          'network.transport': 'tcp',
          'mcp_adapter.server.id': 'files',
        },
        value: 1,
      },
    ]);
  });

  it('is none where the request held no message', () => {
    const { metrics, of } = setUp();
    metrics.request(request({ outcome: 'unauthorized' }, { status: 401 }));
    expect(of('mcp.server.operation.duration')).toEqual([]);
  });
});

it.each<[string, RequestObservation]>([
  ['its server', call({ serverId: 'other' })],
  ['its HTTP method', { ...call(), method: 'GET' }],
  ['its route', { ...call(), route: '/healthz' }],
  ['its status', { ...call(), status: 500 }],
  ['its method', call({ rpcMethod: 'tools/list' })],
  ['its tool', call({ tool: 'write' })],
  ['its outcome', call({ outcome: 'upstream_unavailable' })],
  ['its failure', call({ failure: 'tool_error' })],
  ['its error', call({ failure: -32602 })],
  ['its revision', call({ protocolVersion: '2025-06-18' })],
  ['being a stream', { ...call(), isEventStream: true }],
  ['why it failed', call({ reason: 'upload_credential_validation_backend_unavailable' })],
])('is counted for itself, also after one that differs in nothing but %s', (_what, other) => {
  const counted = (...requests: readonly RequestObservation[]): Map<string, number> => {
    const { metrics, points } = setUp();
    for (const one of requests) metrics.request(one);
    return new Map(points().map(({ value, ...series }) => [JSON.stringify(series), value]));
  };
  const sum = counted(other);
  for (const [series, value] of counted(call())) sum.set(series, (sum.get(series) ?? 0) + value);
  expect(counted(call(), other)).toEqual(sum);
});

it('bounds the series of a client that makes everything up', () => {
  const { metrics, points } = setUp();
  for (let i = 0; i < 10_000; i++) {
    const facts = { rpcMethod: `m${i}`, tool: `t${i}`, protocolVersion: `v${i}`, failure: -i, serverId: `s${i}` };
    metrics.request(request({ ...facts, outcome: `o${i}` }, { method: `M${i}` }));
    metrics.upstreamCall({ serverId: `s${i}`, method: `m${i}`, tool: `t${i}`, seconds: 1, errorType: `e${i}` });
  }
  expect(points().length).toBeLessThan(20);
});

it('has no attribute that the catalog does not name', () => {
  const { metrics, points } = setUp();
  metrics.request(call({ outcome: 'upstream_unavailable', upstreamMs: 1 }));
  metrics.request(call({ failure: -32602, upstreamMs: 1 }));
  for (const { name, attributes } of points()) {
    const metric = METRIC_CATALOG.find((one) => one.name === name);
    expect(metric?.attributes).toEqual(expect.arrayContaining(Object.keys(attributes)));
  }
});
