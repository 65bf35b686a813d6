import { OTLPMetricExporterBase } from '@opentelemetry/exporter-metrics-otlp-http';
import { type IOtlpExportDelegate, OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import type { OTLPExporterNodeConfigBase } from '@opentelemetry/otlp-exporter-base/node-http';
import type { OTLPGRPCExporterConfigNode } from '@opentelemetry/otlp-grpc-exporter-base';
import * as theirs from '@opentelemetry/otlp-transformer';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';

import { logsMessage, metricsMessage } from './otlp-protobuf.ts';
import { spansMessage } from './otlp-spans.ts';

/*
 * OpenTelemetry's exporters with requests that are written here. What their options leave open (certificates, compression,
 * headers) they take from the variables OTEL_EXPORTER_OTLP_*. A transport is loaded only where it is wanted: both cost
 * memory and time at the start.
 */

/** What an exporter is made of: how its requests are written and answers read, and its names. */
interface Parts<Items, Response> {
  readonly serializer: theirs.ISerializer<Items, Response>;
  readonly helper: theirs.IExporterMetricsHelper<Items>;
  readonly component: string;
  /** In variables, and in the names of the protocol's services. */
  readonly variable: 'METRICS' | 'LOGS' | 'TRACES';
  readonly service: 'Metrics' | 'Logs' | 'Trace';
}

const FIRST_BYTES = 32 * 1024;

/** `write` gives the bytes of a request; its `size` is about how many there will be. */
function writing<Items, Response>(
  serializer: theirs.ISerializer<Items, Response>,
  write: (items: Items, size: number) => Uint8Array,
): theirs.ISerializer<Items, Response> {
  let size = FIRST_BYTES;
  return {
    serializeRequest(items) {
      const bytes = write(items, size);
      // The next one is about as large.
      size = Math.ceil(bytes.length * 1.1);
      return bytes;
    },
    deserializeResponse: (bytes) => serializer.deserializeResponse(bytes),
  };
}

const METRICS = {
  serializer: writing(theirs.ProtobufMetricsSerializer, metricsMessage),
  helper: theirs.MetricsExporterMetricsHelper,
  component: 'metric',
  variable: 'METRICS',
  service: 'Metrics',
} as const;
const LOGS = {
  serializer: writing(theirs.ProtobufLogsSerializer, logsMessage),
  helper: theirs.LogsExporterMetricsHelper,
  component: 'log',
  variable: 'LOGS',
  service: 'Logs',
} as const;
const TRACES = {
  serializer: writing(theirs.ProtobufTraceSerializer, spansMessage),
  helper: theirs.TraceExporterMetricsHelper,
  component: 'span',
  variable: 'TRACES',
  service: 'Trace',
} as const;

/** Makes the end of an exporter that sends. */
type Transport = <Items, Response>(parts: Parts<Items, Response>) => IOtlpExportDelegate<Items>;

/** Exporters of all signals over one transport. */
export interface Exporters {
  metrics(): OTLPMetricExporterBase;
  logs(): OTLPExporterBase<ReadableLogRecord[]>;
  traces(): OTLPExporterBase<ReadableSpan[]>;
}

const over = (transport: Transport): Exporters => ({
  metrics: () => new OTLPMetricExporterBase(transport(METRICS)),
  logs: () => new OTLPExporterBase(transport(LOGS)),
  traces: () => new OTLPExporterBase(transport(TRACES)),
});

/** OTLP/HTTP with protobuf. */
export async function overHttp(options: OTLPExporterNodeConfigBase): Promise<Exporters> {
  const { convertLegacyHttpOptions, createOtlpHttpExportDelegate } =
    await import('@opentelemetry/otlp-exporter-base/node-http');
  return over(({ serializer, helper, component, variable }) => {
    const headers = { 'Content-Type': 'application/x-protobuf' };
    const complete = convertLegacyHttpOptions(options, variable, `v1/${variable.toLowerCase()}`, headers);
    return createOtlpHttpExportDelegate(complete, serializer, `otlp_http_${component}_exporter`, helper, undefined);
  });
}

/** OTLP/gRPC. */
export async function overGrpc(options: OTLPGRPCExporterConfigNode): Promise<Exporters> {
  const { convertLegacyOtlpGrpcOptions, createOtlpGrpcExportDelegate } =
    await import('@opentelemetry/otlp-grpc-exporter-base');
  return over(({ serializer, helper, component, variable, service }) => {
    const complete = convertLegacyOtlpGrpcOptions(options, variable);
    const path = `/opentelemetry.proto.collector.${service.toLowerCase()}.v1.${service}Service/Export`;
    const name = `${service}ExportService`;
    return createOtlpGrpcExportDelegate(
      complete,
      serializer,
      `otlp_grpc_${component}_exporter`,
      helper,
      undefined,
      name,
      path,
    );
  });
}
