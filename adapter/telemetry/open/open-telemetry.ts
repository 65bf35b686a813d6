import { AuditLog } from '../logs/audit-log.ts';
import type { MetricsHosts } from '../metrics/prometheus-endpoint.ts';
import { createLogger } from '../logs/logger.ts';
import { noTelemetry, type Telemetry } from '../telemetry.ts';
import type { TelemetryOptions } from './telemetry-options.ts';
import type { Tracing } from '../traces/tracing.ts';

/** What the configuration wants to be told of the program. */
export interface OpenTelemetry {
  readonly telemetry: Telemetry;
  /** Undefined when there are to be no traces. */
  readonly tracing: Tracing | undefined;
  /**
   * Opens the port of the Prometheus endpoint, if there is to be one.
   *
   * @throws when it is taken
   */
  listen(host: string, hosts: MetricsHosts): Promise<void>;
  /** Opens files of logs again, for those that have been moved away. */
  reopenFiles(): void;
  /** The program ends in good order, and nothing more is observed. Takes `shutdown_drain_timeout_seconds` at most. */
  stop(): Promise<void>;
  /** The program has to end now: does what can be done for what was observed. Takes no longer than `stop`. */
  terminate(): Promise<void>;
}

/** Opens what is enabled; what is not is not even loaded. */
export async function openTelemetry(options: TelemetryOptions): Promise<OpenTelemetry> {
  const { logger, logOutput, redaction } = options;
  const { enabled, prometheus, audit_log: auditLog, ...settings } = options.config.telemetry;
  // What is said of telemetry itself is not exported, or each failure would give it more to export.
  const local = createLogger('debug', redaction, logOutput.local);
  local.level = logger.level;
  const signals =
    enabled || prometheus.enabled
      ? await import('./signals.ts').then(({ Signals }) => Signals.open(options, local))
      : undefined;
  const audit = auditLog.enabled
    ? new AuditLog({
        path: auditLog.path,
        stdout: logOutput.local,
        redaction,
        onDropped: signals?.losses.of('audit') ?? (() => {}),
        warn: (message) => local.warn(message),
      })
    : undefined;
  const end = async (isFlushed: boolean): Promise<void> => {
    if (signals === undefined) return;
    logOutput.copyTo(undefined);
    if (!(await signals.end(isFlushed))) local.warn('the time for telemetry at shutdown is over; some of it is lost');
  };
  return {
    telemetry: audited(signals?.telemetry, audit),
    tracing: signals?.tracing,
    async listen(host, hosts) {
      await signals?.listen(host, hosts);
    },
    reopenFiles() {
      audit?.reopen();
    },
    async stop() {
      await end(settings.flush_on_shutdown);
      await audit?.close();
    },
    async terminate() {
      if (settings.flush_on_terminate) await end(true);
      await audit?.close();
    },
  };
}

/** Requests and nested calls also become lines of the audit log. */
function audited(telemetry: Telemetry | undefined, audit: AuditLog | undefined): Telemetry {
  if (audit === undefined) return telemetry ?? noTelemetry;
  const inner = telemetry ?? noTelemetry;
  return {
    ...noTelemetry,
    ...inner,
    isOn: true,
    observe: (sources) => inner.observe(sources),
    request: (observed) => {
      audit.request(observed);
      inner.request(observed);
    },
    nestedCall: (observed) => {
      audit.nestedCall(observed);
      inner.nestedCall(observed);
    },
  };
}
