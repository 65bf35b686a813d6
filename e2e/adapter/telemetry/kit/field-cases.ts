import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { secret } from '../../../support/secrets/secret.ts';
import type { FieldRun } from './field-run.ts';

const KEY = secret('key of the collector');

/** What each run sets. */
export const RUNS = {
  /** Next to nothing. */
  usual: () => ({ emit_logs: true }),
  /** Everything that shows while it runs. */
  own: ({ url, folder }) => ({
    endpoint: `${url}/own-metrics`,
    logs_endpoint: `${url}/own-logs`,
    headers: { 'X-Key': KEY },
    export_interval_seconds: 0.2,
    emit_logs: true,
    log_batch_max_export_batch_size: 2,
    log_batch_schedule_delay_millis: 100,
    service_name: 'a name of its own',
    service_namespace: 'a space of its own',
    prometheus: { enabled: false },
    traces: { enabled: true, endpoint: `${url}/own-traces` },
    audit_log: { enabled: true, path: `${folder}/audit.jsonl` },
  }),
  flushing: ({ url }) => ({
    periodic_flush_seconds: 0.2,
    traces: { enabled: true, endpoint: `${url}/v1/traces`, sample_ratio: 0 },
  }),
  off: () => ({
    enabled: false,
    emit_logs: true,
    log_batch_schedule_delay_millis: 100,
    export_interval_seconds: 0.2,
    prometheus: { path: '/own' },
    audit_log: { enabled: true },
  }),
  grpc: () => ({ transport: 'grpc', max_queue_size: 20, queue_batch_size: 1, drop_on_queue_full: false }),
  /** To an endpoint that hangs. */
  hasty: () => ({
    export_interval_seconds: 0.3,
    export_timeout_seconds: 0.3,
    max_queue_size: 150,
    shutdown_drain_timeout_seconds: 0.5,
    emit_logs: true,
    log_batch_schedule_delay_millis: 100,
    log_batch_max_queue_size: 5,
    log_batch_max_export_batch_size: 5,
  }),
  /** To one, too. */
  patient: () => ({
    export_interval_seconds: 0.3,
    export_timeout_seconds: 600,
    max_queue_size: 150,
    queue_batch_size: 1,
    shutdown_drain_timeout_seconds: 3,
    emit_logs: true,
    log_batch_schedule_delay_millis: 100,
    log_batch_export_timeout_millis: 300,
  }),
  /** To one, too. */
  silent: () => ({
    export_timeout_seconds: 600,
    max_queue_size: 20,
    queue_batch_size: 1,
    flush_on_shutdown: false,
    emit_logs: true,
    log_batch_schedule_delay_millis: 100,
    log_batch_export_timeout_millis: 600_000,
  }),
  ruthless: () => ({
    flush_on_terminate: false,
    emit_logs: true,
    log_batch_schedule_delay_millis: 600_000,
    prometheus: { host: '127.0.0.2' },
  }),
} satisfies Record<string, (place: { url: string; folder: string }) => JsonObject>;

export type RunName = keyof typeof RUNS;
/** Those whose endpoint takes requests and answers none. */
export const HANGING: ReadonlySet<RunName> = new Set(['hasty', 'patient', 'silent']);
/** Those that are ended by a second signal. */
export const ENDED_TWICE: ReadonlySet<RunName> = new Set(['grpc', 'ruthless']);
/** Those that get more requests at once than some queues hold. */
export const FLOODED: ReadonlySet<RunName> = new Set(['usual', 'grpc', 'hasty', 'patient', 'silent']);

/** Which run shows a field, how, and the run that shows that it is the field which does it. */
export interface FieldCase {
  readonly run: RunName;
  /** Default: usual. */
  readonly otherwise?: RunName;
  readonly shows: (run: FieldRun) => boolean | Promise<boolean>;
  /** It shows only when the adapter ends. */
  readonly atTheEnd?: boolean;
}

const CALLS = 'adapter_upstream_tool_calls_total';
const AUDIT_LINE = /"arguments_hmac":"[0-9a-f]{64}"/;
/** Of exports that time out after 300 ms. */
const SOON_MS = 2_000;

export const CASES: Readonly<Record<string, FieldCase>> = {
  enabled: { run: 'usual', otherwise: 'off', atTheEnd: true, shows: ({ exports }) => exports.length > 0 },
  transport: {
    run: 'grpc',
    atTheEnd: true,
    shows: ({ metricExports }) => metricExports[0]?.path.startsWith('/opentelemetry.proto') === true,
  },
  endpoint: {
    run: 'own',
    otherwise: 'flushing',
    shows: ({ metricExports }) => metricExports[0]?.path === '/own-metrics',
  },
  logs_endpoint: { run: 'own', otherwise: 'hasty', shows: ({ logExports }) => logExports[0]?.path === '/own-logs' },
  headers: {
    run: 'own',
    otherwise: 'hasty',
    shows: ({ metricExports, logExports }) =>
      [metricExports, logExports].every(([first]) => first?.headers['x-key'] === KEY),
  },
  export_interval_seconds: { run: 'own', shows: ({ metricExports }) => metricExports.length > 2 },
  export_timeout_seconds: {
    run: 'hasty',
    otherwise: 'patient',
    shows: ({ aborted }) => (aborted.get('/v1/metrics') ?? Infinity) < SOON_MS,
  },
  max_queue_size: { run: 'silent', shows: async (run) => ((await run.dropped('events', 'queue_full')) ?? 0) > 0 },
  queue_batch_size: {
    run: 'patient',
    otherwise: 'hasty',
    shows: async (run) => ((await run.dropped('events', 'queue_full')) ?? 0) > 0,
  },
  drop_on_queue_full: {
    run: 'grpc',
    otherwise: 'silent',
    shows: async (run) => (await run.dropped('events', 'queue_full')) === 0,
  },
  periodic_flush_seconds: { run: 'flushing', shows: ({ metricExports }) => metricExports.length > 2 },
  shutdown_drain_timeout_seconds: {
    run: 'patient',
    otherwise: 'hasty',
    atTheEnd: true,
    shows: ({ stopMs = 0 }) => stopMs >= 3_000,
  },
  flush_on_shutdown: { run: 'usual', otherwise: 'silent', atTheEnd: true, shows: (run) => run.exportsAtTheEnd },
  flush_on_terminate: {
    run: 'grpc',
    otherwise: 'ruthless',
    atTheEnd: true,
    shows: (run) => run.exportsAtTheEnd,
  },
  emit_logs: { run: 'own', otherwise: 'flushing', shows: ({ logExports }) => logExports.length > 0 },
  log_batch_max_queue_size: {
    run: 'hasty',
    otherwise: 'patient',
    shows: async (run) => ((await run.dropped('logs', 'queue_full')) ?? 0) > 0,
  },
  log_batch_max_export_batch_size: {
    run: 'own',
    atTheEnd: true,
    shows: ({ logExports }) => logExports.length > 0 && logExports.every(({ logs }) => logs.length <= 2),
  },
  log_batch_schedule_delay_millis: {
    run: 'own',
    otherwise: 'ruthless',
    shows: ({ logExports }) => logExports.length > 0,
  },
  log_batch_export_timeout_millis: {
    run: 'patient',
    otherwise: 'silent',
    shows: ({ logExports }) => logExports.length > 1,
  },
  service_name: {
    run: 'own',
    otherwise: 'flushing',
    shows: ({ exports }) => exports[0]?.resource['service.name'] === 'a name of its own',
  },
  service_namespace: {
    run: 'own',
    otherwise: 'flushing',
    shows: ({ exports }) => exports[0]?.resource['service.namespace'] === 'a space of its own',
  },
  'prometheus.enabled': { run: 'usual', otherwise: 'own', shows: async (run) => (await run.scraped(CALLS)) === 3 },
  'prometheus.host': {
    run: 'ruthless',
    shows: async (run) => (await run.scraped(CALLS, {}, { host: '127.0.0.2' })) === 3,
  },
  'prometheus.port': { run: 'usual', otherwise: 'own', shows: async (run) => (await run.scraped(CALLS)) === 3 },
  'prometheus.path': { run: 'off', shows: async (run) => (await run.scraped(CALLS, {}, { path: '/own' })) === 3 },
  'traces.enabled': { run: 'own', atTheEnd: true, shows: ({ spanExports }) => spanExports.length > 0 },
  'traces.endpoint': {
    run: 'own',
    atTheEnd: true,
    shows: ({ spanExports }) => spanExports[0]?.path === '/own-traces',
  },
  'traces.sample_ratio': {
    run: 'flushing',
    otherwise: 'own',
    atTheEnd: true,
    shows: ({ spanExports }) => spanExports.length === 0,
  },
  'audit_log.enabled': { run: 'off', shows: ({ adapter }) => AUDIT_LINE.test(adapter.stdout()) },
  'audit_log.path': {
    run: 'own',
    otherwise: 'off',
    shows: async (run) => AUDIT_LINE.test(await run.auditFile()) && !AUDIT_LINE.test(run.adapter.stdout()),
  },
};
