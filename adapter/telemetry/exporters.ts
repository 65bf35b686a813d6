import type { LogRecordExporter } from '@opentelemetry/sdk-logs';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

import type { Telemetry as TelemetrySettings } from '../../crds/config/telemetry.ts';
import { timerMs } from '../../crds/config/timer-ms.ts';
import { logsMessage, metricsMessage } from '../../crds/runtime/otlp/otlp-protobuf.ts';
import { spansMessage } from '../../crds/runtime/otlp/otlp-spans.ts';
import { withSerializer } from '../../crds/runtime/otlp/own-serializer.ts';

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

/*
 * OpenTelemetry's exporters. What the settings have no field for (certificates, compression) they take from the variables
 * OTEL_EXPORTER_OTLP_*. Each is loaded only where it is wanted: they cost memory and time at the start.
 */

export async function createMetricExporter(settings: TelemetrySettings): Promise<PushMetricExporter> {
  if (settings.transport === 'http') {
    const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-proto');
    return withSerializer(new OTLPMetricExporter(overHttp(settings, 'metrics')), metricsMessage);
  }
  const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-grpc');
  return withSerializer(new OTLPMetricExporter(await overGrpc(settings, 'metrics')), metricsMessage);
}

export async function createLogExporter(settings: TelemetrySettings): Promise<LogRecordExporter> {
  if (settings.transport === 'http') {
    const { OTLPLogExporter } = await import('@opentelemetry/exporter-logs-otlp-proto');
    return withSerializer(new OTLPLogExporter(overHttp(settings, 'logs')), logsMessage);
  }
  const { OTLPLogExporter } = await import('@opentelemetry/exporter-logs-otlp-grpc');
  return withSerializer(new OTLPLogExporter(await overGrpc(settings, 'logs')), logsMessage);
}

export async function createTraceExporter(settings: TelemetrySettings): Promise<SpanExporter> {
  if (settings.transport === 'http') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
    return withSerializer(new OTLPTraceExporter(overHttp(settings, 'traces')), spansMessage);
  }
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc');
  return withSerializer(new OTLPTraceExporter(await overGrpc(settings, 'traces')), spansMessage);
}

const shared = (settings: TelemetrySettings, signal: Signal) => ({
  url: endpointOf(settings, signal),
  timeoutMillis: timerMs(settings.export_timeout_seconds),
  concurrencyLimit: CONCURRENT,
});

const overHttp = (settings: TelemetrySettings, signal: Signal) => ({
  ...shared(settings, signal),
  headers: settings.headers,
});

async function overGrpc(settings: TelemetrySettings, signal: Signal) {
  const { Metadata } = await import('@grpc/grpc-js');
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(settings.headers)) metadata.set(name, value);
  return { ...shared(settings, signal), metadata };
}
