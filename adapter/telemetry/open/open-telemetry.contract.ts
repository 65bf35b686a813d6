import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadAdapterConfig } from '../../../crds/config/load/load.ts';
import { redactionOf } from '../../../crds/config/adapter-file/redact-config.ts';
import { GrpcReceiver } from '../../../lib/otlp/testing/grpc-receiver.ts';
import { answer, hang, OtlpReceiver, type ReceivedRequest } from '../../../lib/otlp/testing/otlp-receiver.ts';
import { LogOutput } from '../logs/log-output.ts';
import { createLogger } from '../logs/logger.ts';
import { openTelemetry } from './open-telemetry.ts';
import { noTelemetry, type RequestObservation } from '../telemetry.ts';
import { ToolNames } from '../tool-names.ts';

const HOUR = 3600;

async function setUp(telemetry: object, env: Record<string, string> = {}) {
  const file = { servers: [{ id: 'files', mount_path: '/mcp/files', upstream: { url: 'http://x/mcp' } }], telemetry };
  const config = loadAdapterConfig(JSON.stringify(file), {});
  const lines: Record<string, unknown>[] = [];
  const logOutput = new LogOutput({ write: (line) => void lines.push(JSON.parse(line)) });
  const redaction = redactionOf(config, {});
  const logger = createLogger('info', redaction, logOutput);
  const tools = new ToolNames(['files']);
  const opened = await openTelemetry({ config, env, version: '1.2.3', logger, logOutput, redaction, tools });
  onTestFinished(() => opened.stop());
  const { telemetry: told, tracing } = opened;
  const stop = (): Promise<void> => opened.stop();
  const terminate = (): Promise<void> => opened.terminate();
  return { telemetry: told, tracing, stop, terminate, logger, lines };
}

const request: RequestObservation = {
  method: 'POST',
  route: '/mcp/files',
  status: 200,
  seconds: 0.1,
  attributes: { requestId: 'r1', serverId: 'files', rpcMethod: 'tools/call', tool: 'read', outcome: 'ok' },
  principal: '',
  bytesIn: 1,
  bytesOut: 2,
  isEventStream: false,
};

/** Values of a metric by export, in order. */
const values = (requests: readonly ReceivedRequest[], metric: string): unknown[] =>
  requests.flatMap(({ points }) => points.filter(({ name }) => name === metric).map(({ value }) => value));
const paths = ({ requests }: { readonly requests: readonly ReceivedRequest[] }): string[] => [
  ...new Set(requests.map(({ path }) => path)),
];

async function receiver(): Promise<OtlpReceiver & { readonly settings: object }> {
  const made = new OtlpReceiver();
  onTestFinished(() => made[Symbol.asyncDispose]());
  const url = await made.listen();
  const settings = {
    enabled: true,
    transport: 'http',
    endpoint: `${url}/own/metrics`,
    logs_endpoint: `${url}/own/logs`,
    periodic_flush_seconds: HOUR,
    export_interval_seconds: HOUR,
  };
  return Object.assign(made, { settings });
}

describe('with everything off', () => {
  it('nobody listens', async () => {
    const { telemetry, tracing } = await setUp({});
    expect(telemetry).toBe(noTelemetry);
    expect(tracing).toBeUndefined();
  });

  it('nothing of OpenTelemetry is loaded with the adapter', async () => {
    const script = `
      import { registerHooks } from 'node:module';
      const urls = [];
      registerHooks({
        resolve(specifier, context, next) {
          const found = next(specifier, context);
          urls.push(found.url);
          return found;
        },
      });
      await import(${JSON.stringify(new URL('../../app.ts', import.meta.url).href)});
      console.log(JSON.stringify(urls));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
      timeout: 20_000,
      maxBuffer: 16 * 1024 * 1024,
    });
    const urls = JSON.parse(stdout) as string[];
    expect(urls.filter((url) => url.includes('open-telemetry.ts'))).not.toEqual([]);
    expect(urls.filter((url) => url.includes('@opentelemetry'))).toEqual([]);
  });
});

describe('over http', () => {
  it('goes to the URLs as they are written, with headers and resource', async () => {
    const collector = await receiver();
    const { telemetry, logger, stop } = await setUp(
      { ...collector.settings, emit_logs: true, headers: { 'x-key': 'k' }, service_namespace: 'team' },
      { OTEL_RESOURCE_ATTRIBUTES: 'zone=a,service.version=other' },
    );
    telemetry.request(request);
    logger.info({ server_id: 'files' }, 'hello');
    await stop();
    expect(paths(collector).sort()).toEqual(['/own/logs', '/own/metrics']);
    for (const { headers, resource } of collector.requests) {
      expect(headers).toMatchObject({ 'x-key': 'k' });
      expect(resource).toEqual({
        'service.name': 'remote-mcp-adapter',
        'service.namespace': 'team',
        'service.version': '1.2.3',
        'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
        zone: 'a',
      });
    }
    expect(values(collector.requests, 'adapter_upstream_tool_calls_total')).toEqual([1]);
    const logs = collector.requests.flatMap((one) => one.logs);
    expect(logs).toMatchObject([{ body: 'hello', severityText: 'info', attributes: { server_id: 'files' } }]);
  });

  it('exports metrics every interval, as sums since the start', async () => {
    const collector = await receiver();
    const { telemetry } = await setUp({ ...collector.settings, export_interval_seconds: 0.05 });
    telemetry.request(request);
    await vi.waitFor(() => expect(collector.requests.length).toBeGreaterThan(2));
    telemetry.request(request);
    await vi.waitFor(() => expect(values(collector.requests, 'adapter_http_requests_total').at(-1)).toBe(2));
    const [first] = collector.requests[0]?.points ?? [];
    expect(first?.temporality ?? 2).toBe(2);
  });

  it('exports all that there is every flush', async () => {
    const collector = await receiver();
    const { logger } = await setUp({
      ...collector.settings,
      periodic_flush_seconds: 0.05,
      emit_logs: true,
      log_batch_schedule_delay_millis: HOUR * 1000,
    });
    logger.warn('early');
    await vi.waitFor(() => expect(paths(collector).sort()).toEqual(['/own/logs', '/own/metrics']), 5_000);
  });
});

it('over grpc, everything goes to one endpoint', async () => {
  const collector = new GrpcReceiver();
  onTestFinished(() => collector[Symbol.asyncDispose]());
  const { telemetry, logger, stop } = await setUp({
    enabled: true,
    endpoint: await collector.listen(),
    logs_endpoint: 'http://127.0.0.1:1/elsewhere',
    headers: { 'x-key': 'k' },
    emit_logs: true,
  });
  telemetry.request(request);
  logger.info('hello');
  await stop();
  expect(paths(collector)).toHaveLength(2);
  expect(collector.requests.every(({ headers }) => headers['x-key'] === 'k')).toBe(true);
  expect(values(collector.requests, 'adapter_http_requests_total')).toEqual([1]);
  expect(collector.requests.flatMap(({ logs }) => logs)).toMatchObject([{ body: 'hello' }]);
});

describe('at the end', () => {
  it('nothing goes out when no flush is wanted', async () => {
    const collector = await receiver();
    const { telemetry, logger, stop } = await setUp({
      ...collector.settings,
      emit_logs: true,
      flush_on_shutdown: false,
    });
    telemetry.request(request);
    logger.info('hello');
    await stop();
    expect(collector.requests).toEqual([]);
  });

  it.each([true, false])('by force, flush_on_terminate %s decides', async (flush_on_terminate) => {
    const collector = await receiver();
    const { telemetry, terminate } = await setUp({ ...collector.settings, flush_on_terminate });
    telemetry.request(request);
    await terminate();
    expect(values(collector.requests, 'adapter_http_requests_total')).toEqual(flush_on_terminate ? [1] : []);
  });

  it('a collector that hangs is not waited for longer than configured, and the loss is said here only', async () => {
    const collector = await receiver();
    collector.always = hang;
    const { telemetry, logger, lines, stop } = await setUp({
      ...collector.settings,
      emit_logs: true,
      shutdown_drain_timeout_seconds: 0.2,
    });
    telemetry.request(request);
    logger.info('hello');
    const begun = performance.now();
    await stop();
    const took = performance.now() - begun;
    expect(took).toBeGreaterThan(190);
    expect(took).toBeLessThan(1500);
    expect(lines.map(({ msg }) => msg)).toContain('the time for telemetry at shutdown is over; some of it is lost');
  });
});

it('a collector that refuses is spoken of once, and not to the collector', async () => {
  const collector = await receiver();
  collector.always = answer(400);
  const { lines } = await setUp({
    ...collector.settings,
    emit_logs: true,
    log_batch_schedule_delay_millis: 1,
    export_interval_seconds: 0.02,
  });
  await vi.waitFor(() => expect(collector.requests.length).toBeGreaterThan(9), 5_000);
  await vi.waitFor(() => expect(lines).toMatchObject([{ level: 'warning', signal: 'metrics' }]));
  expect(collector.requests.flatMap(({ logs }) => logs)).toEqual([]);
});

it('the audit log works alone', async () => {
  const { telemetry, lines, stop } = await setUp({ audit_log: { enabled: true } });
  expect(telemetry.isOn).toBe(true);
  telemetry.request(request);
  telemetry.nestedCall({ ...request, parentRequestId: 'r0' });
  await stop();
  expect(lines).toMatchObject([
    { tool: 'read', request_id: 'r1' },
    { tool: 'read', parent_request_id: 'r0' },
  ]);
});
