import { z } from 'zod';
import { headerMap, httpPath, ipAddress, otlpEndpoint } from '../values/network-values.ts';
import {
  flag,
  fraction,
  integer,
  maybeEmpty,
  oneOf,
  orNull,
  seconds,
  trimmed,
  trimmedOrNull,
} from '../values/values.ts';

const Prometheus = z.strictObject({
  enabled: flag()
    .describe('(new) Serve the metrics in Prometheus’ text format on a port of its own. Works without `enabled` too.')
    .prefault(false),
  host: ipAddress().describe('(new) IP address to listen on. Null: `core.host`.').nullable().prefault(null),
  port: integer({ min: 1, max: 65_535 }).describe('(new) TCP port to listen on.').prefault(9464),
  path: httpPath().describe('(new) Path of the metrics, not `/`.').prefault('/metrics'),
});

const Traces = z.strictObject({
  enabled: flag()
    .describe('(new) Export traces, and pass their context on to upstreams. Needs `telemetry.enabled`.')
    .prefault(false),
  endpoint: otlpEndpoint()
    .describe('(new) Where traces go. Null: `telemetry.endpoint` for grpc, `http://localhost:4318/v1/traces` for http.')
    .nullable()
    .prefault(null),
  sample_ratio: fraction()
    .describe('(new) Share of the traces that begin here and are kept. For others, whoever began them has decided.')
    .prefault(1),
});

const AuditLog = z.strictObject({
  enabled: flag()
    .describe('(new) Write one JSON line for each tool call, without arguments. Works without `telemetry.enabled` too.')
    .prefault(false),
  path: trimmed()
    .describe('(new) File that the lines are appended to; opened again on SIGHUP. Null: standard output.')
    .nullable()
    .prefault(null),
});

/** Section `telemetry` of the adapter's file: what it tells of itself. Source: adapter specification, section 2.2. */
export const Telemetry = z.strictObject({
  enabled: flag().describe('Master switch. When false, nothing is exported.').prefault(false),
  transport: oneOf(['grpc', 'http']).describe('OTLP protocol.').prefault('grpc'),
  endpoint: otlpEndpoint()
    .describe('Where metrics go. Null: `http://localhost:4317` for grpc, `http://localhost:4318/v1/metrics` for http.')
    .nullable()
    .prefault(null),
  logs_endpoint: otlpEndpoint()
    .describe('Where logs go with http. Null: `http://localhost:4318/v1/logs`. With grpc, `endpoint` is used.')
    .nullable()
    .prefault(null),
  insecure: flag()
    .describe('With grpc: true is plaintext, false is TLS. With http, the scheme of the URL decides.')
    .prefault(true),
  headers: maybeEmpty(headerMap().prefault({})).describe('Extra headers of every export request.'),
  export_interval_seconds: seconds().describe('Time between two exports of metrics, in seconds.').prefault(15),
  export_timeout_seconds: seconds().describe('Time limit of one export, in seconds.').prefault(10),
  max_queue_size: integer({ min: 1 }).describe('Events that the internal queue holds.').prefault(5000),
  queue_batch_size: integer({ min: 1 })
    .describe('Events that the worker takes from the queue at a time. Not the batch size of the exporter.')
    .prefault(256),
  periodic_flush_seconds: seconds()
    .describe('Period of the forced flush, and longest sleep of an idle worker, in seconds.')
    .prefault(5),
  shutdown_drain_timeout_seconds: seconds().describe('Time for queued events at shutdown, in seconds.').prefault(10),
  drop_on_queue_full: flag()
    .describe('Drop events when the queue is full, instead of making requests wait.')
    .prefault(true),
  flush_on_shutdown: flag().describe('Flush at a normal shutdown.').prefault(true),
  flush_on_terminate: flag().describe('Try to drain and flush when the process is terminated.').prefault(true),
  emit_logs: flag().describe('Export the program’s logs as OTel log records too.').prefault(false),
  log_batch_max_queue_size: orNull(
    integer({ min: 1 }).describe('Queue size of the log batch processor. Null: the SDK decides.'),
  ).prefault(null),
  log_batch_max_export_batch_size: orNull(
    integer({ min: 1 }).describe('Most records in a batch of logs. Null: the SDK decides.'),
  ).prefault(null),
  log_batch_schedule_delay_millis: orNull(
    integer({ min: 1 }).describe('Time between two exports of logs, in milliseconds. Null: the SDK decides.'),
  ).prefault(null),
  log_batch_export_timeout_millis: orNull(
    integer({ min: 1 }).describe('Time limit of one export of logs, in milliseconds. Null: the SDK decides.'),
  ).prefault(null),
  service_name: trimmed().describe('OTel resource attribute `service.name`.').prefault('remote-mcp-adapter'),
  service_namespace: trimmedOrNull()
    .describe('OTel resource attribute `service.namespace`. Null or blank: none.')
    .prefault(null),
  prometheus: maybeEmpty(Prometheus.prefault({})).describe('(new) Metrics for Prometheus.'),
  traces: maybeEmpty(Traces.prefault({})).describe('(new) Traces of exchanges.'),
  audit_log: maybeEmpty(AuditLog.prefault({})).describe('(new) Who called which tool.'),
});
export type Telemetry = z.output<typeof Telemetry>;
