import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

import { emptyResource } from '@opentelemetry/resources';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { holdConnections } from '../../../lib/net/testing/hold-connections.ts';
import { Aggregation } from './aggregation.ts';
import { ADAPTER_METRICS } from './metric-catalog.ts';
import { PrometheusEndpoint } from './prometheus-endpoint.ts';

let url: string;
let endpoint: PrometheusEndpoint;
let failing = false;
const HOSTS = { isOwn: (host: string | undefined) => host !== 'evil.example' };

beforeEach(async () => {
  failing = false;
  const scope = { name: 'test', version: '1' };
  const aggregation = new Aggregation({ resource: emptyResource(), scope, seriesPerMetric: 10 });
  aggregation.counter(ADAPTER_METRICS.uploadFiles).add(3, { server_id: 'a"\\\n' });
  aggregation.histogram(ADAPTER_METRICS.pingLatency).record(0.02, { server_id: 'b' });
  endpoint = new PrometheusEndpoint(
    '/metrics',
    () => {
      if (failing) throw new Error('secret');
      return aggregation.collect().resourceMetrics;
    },
    HOSTS,
  );
  url = `http://127.0.0.1:${await endpoint.listen(0, '127.0.0.1')}`;
});
afterEach(() => endpoint.close());

it.each(['/metrics', '/metrics/', '/metrics?a=b'])('serves the metrics at %s', async (path) => {
  const response = await fetch(url + path);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const lines = (await response.text()).split('\n');
  expect(lines).toContain('# TYPE adapter_upload_files_total counter');
  expect(lines).toContain(String.raw`adapter_upload_files_total{server_id="a\"\\\n"} 3`);
  expect(lines).toContain('adapter_upstream_ping_latency_seconds_bucket{server_id="b",le="0.025"} 1');
  expect(lines).toContain('adapter_upstream_ping_latency_seconds_count{server_id="b"} 1');
});

it('has nothing elsewhere, and takes nothing', async () => {
  expect((await fetch(`${url}/`)).status).toBe(404);
  expect((await fetch(`${url}/metrics/x`)).status).toBe(404);
  const posted = await fetch(`${url}/metrics`, { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  const head = await fetch(`${url}/metrics`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

it('T13: refuses a name that is not its own, with the field that allows it', async () => {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
  request(`${url}/metrics`, { headers: { host: 'evil.example' } }, resolve).end();
  const answer = await promise;
  expect([answer.statusCode, await text(answer)]).toEqual([403, expect.stringContaining('core.allowed_hosts')]);
});

it('says no more of a failure than that there is one', async () => {
  failing = true;
  const response = await fetch(`${url}/metrics`);
  expect([response.status, await response.text()]).toEqual([500, 'the metrics cannot be read\n']);
});

it('says that its port is taken', async () => {
  const other = new PrometheusEndpoint('/metrics', () => expect.fail('nobody asks'), HOSTS);
  await expect(other.listen(Number(new URL(url).port), '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

it('M3 T17: answers while a thousand connections are held that ask for nothing', async () => {
  using _held = await holdConnections(url);
  expect((await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(5000) })).status).toBe(200);
});
