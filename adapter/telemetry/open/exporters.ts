import type { LogRecordExporter } from '@opentelemetry/sdk-logs';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

import type { Telemetry as TelemetrySettings } from '../../../crds/config/adapter-file/telemetry.ts';
import type { Exporters } from '../../../lib/otlp/exporters.ts';
import { timerMs } from '../../../lib/timer-ms.ts';

type Signal = 'metrics' | 'logs' | 'traces';
type Endpoints = Pick<TelemetrySettings, 'transport' | 'endpoint' | 'logs_endpoint' | 'insecure' | 'traces'>;

/** Exports of one signal that may be under way. One that hangs holds what it was to send. */
const CONCURRENT = 4;

/**
 * Where a signal goes (specification, section 2.2). With http it is the whole URL; with grpc, `insecure` decides whether
 * the channel is plaintext, whatever scheme the endpoint has.
 */
export function endpointOf(settings: Endpoints, signal: Signal): string {
  const { transport, endpoint, logs_endpoint, insecure, traces } = settings;
  if (transport === 'http') {
    const own = { metrics: endpoint, logs: logs_endpoint, traces: traces.endpoint }[signal];
    return own ?? `http://localhost:4318/v1/${signal}`;
  }
  const own = (signal === 'traces' ? traces.endpoint : null) ?? endpoint ?? 'localhost:4317';
  return `${insecure ? 'http' : 'https'}://${own.replace(/^https?:\/\//i, '')}`;
}

export const createMetricExporter = async (settings: TelemetrySettings): Promise<PushMetricExporter> =>
  (await exporters(settings, 'metrics')).metrics();

export const createLogExporter = async (settings: TelemetrySettings): Promise<LogRecordExporter> =>
  (await exporters(settings, 'logs')).logs();

export const createTraceExporter = async (settings: TelemetrySettings): Promise<SpanExporter> =>
  (await exporters(settings, 'traces')).traces();

async function exporters(settings: TelemetrySettings, signal: Signal): Promise<Exporters> {
  // Loaded only where something is exported: it costs memory and time at the start.
  const { overGrpc, overHttp } = await import('../../../lib/otlp/exporters.ts');
  const { transport, headers, export_timeout_seconds } = settings;
  const options = {
    url: endpointOf(settings, signal),
    timeoutMillis: timerMs(export_timeout_seconds),
    concurrencyLimit: CONCURRENT,
  };
  if (transport === 'http') return overHttp({ ...options, headers });
  const { Metadata } = await import('@grpc/grpc-js');
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return overGrpc({ ...options, metadata });
}
