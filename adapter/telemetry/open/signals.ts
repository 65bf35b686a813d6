import { randomUUID } from 'node:crypto';

import { diag, DiagLogLevel } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';

import { maskIds } from '../../../lib/redaction/redact.ts';
import type { Telemetry as TelemetrySettings } from '../../../crds/config/adapter-file/telemetry.ts';
import { timerMs } from '../../../lib/timer-ms.ts';
import { observeNode } from '../../../lib/metrics/node-metrics.ts';
import { createResource } from '../../../lib/otlp/resource.ts';
import { Aggregation } from '../metrics/aggregation.ts';
import { createLogExporter, createMetricExporter, createTraceExporter } from './exporters.ts';
import type { Logger } from '../logs/logger.ts';
import { Losses } from '../metrics/losses.ts';
import { MetricExport } from '../metrics/metric-export.ts';
import type { OtelLogs } from '../logs/otel-logs.ts';
import type { MetricsHosts, PrometheusEndpoint } from '../metrics/prometheus-endpoint.ts';
import { QueuedTelemetry } from '../metrics/queued-telemetry.ts';
import type { TelemetryOptions } from './telemetry-options.ts';
import type { Tracing } from '../traces/tracing.ts';

const SCOPE = 'remote_mcp_adapter';
/** Series that a metric has at most: each takes up to a kilobyte, and whoever keeps them elsewhere pays for each. */
const SERIES = 2_000;
/** More for each server: the names of its tools, each with every result. */
const SERIES_OF_SERVER = 603;

/** What goes to the collector. */
interface Exports {
  readonly metrics: MetricExport;
  readonly logs: OtelLogs | undefined;
  readonly tracing: Tracing | undefined;
}

/** Metrics, logs and traces, as far as they are wanted, from what is observed to where they go. */
export class Signals {
  readonly telemetry: QueuedTelemetry;
  readonly losses: Losses;
  readonly #settings: TelemetrySettings;
  readonly #aggregation: Aggregation;
  readonly #node: Disposable;
  #exports: Exports | undefined;
  #endpoint: PrometheusEndpoint | undefined;
  #flushing: NodeJS.Timeout | undefined;
  #ending: Promise<boolean> | undefined;

  private constructor({ config, version, tools }: TelemetryOptions, resource: Resource, local: Logger) {
    const settings = config.telemetry;
    this.#settings = settings;
    this.#aggregation = new Aggregation({
      resource,
      scope: { name: SCOPE, version },
      seriesPerMetric: SERIES + SERIES_OF_SERVER * config.servers.length,
    });
    this.losses = new Losses(this.#aggregation, local);
    this.#node = observeNode(this.#aggregation);
    this.telemetry = new QueuedTelemetry({
      aggregation: this.#aggregation,
      serverIds: new Set(config.servers.map(({ id }) => id)),
      tools,
      maxQueueSize: settings.max_queue_size,
      batchSize: settings.queue_batch_size,
      dropsWhenFull: settings.drop_on_queue_full,
      onDropped: this.losses.of('events'),
    });
  }

  /** @param local a logger whose lines are not exported */
  static async open(options: TelemetryOptions, local: Logger): Promise<Signals> {
    const { service_name: name, service_namespace: namespace, enabled } = options.config.telemetry;
    const resource = createResource(name, randomUUID(), options.env, {
      'service.namespace': namespace ?? undefined,
      'service.version': options.version,
    });
    const signals = new Signals(options, resource, local);
    if (enabled) await signals.#startExports(options, resource);
    return signals;
  }

  get tracing(): Tracing | undefined {
    return this.#exports?.tracing;
  }

  /**
   * Opens the port of the Prometheus endpoint, if there is to be one.
   *
   * @throws when it is taken
   */
  async listen(host: string, hosts: MetricsHosts): Promise<void> {
    const { enabled, host: own, port, path } = this.#settings.prometheus;
    if (!enabled) return;
    const { PrometheusEndpoint } = await import('../metrics/prometheus-endpoint.ts');
    this.#endpoint = new PrometheusEndpoint(path, () => this.#collect(), hosts);
    await this.#endpoint.listen(port, own ?? host);
  }

  #collect(): ResourceMetrics {
    this.telemetry.countNow();
    return this.#aggregation.collect().resourceMetrics;
  }

  /**
   * Ends all within `shutdown_drain_timeout_seconds`.
   *
   * @param isFlushed whether what there is goes out first
   * @returns whether the time was enough
   */
  end(isFlushed: boolean): Promise<boolean> {
    this.#ending ??= this.#end(isFlushed);
    return this.#ending;
  }

  async #end(isFlushed: boolean): Promise<boolean> {
    clearInterval(this.#flushing);
    const stop = new AbortController();
    const { promise: isLate, resolve } = Promise.withResolvers<false>();
    const timer = setTimeout(() => resolve(false), timerMs(this.#settings.shutdown_drain_timeout_seconds));
    const inTime = await Promise.race([this.#letGo(isFlushed, stop.signal).then(() => true), isLate]);
    clearTimeout(timer);
    stop.abort();
    this.#node[Symbol.dispose]();
    await this.#endpoint?.close();
    return inTime;
  }

  async #letGo(isFlushed: boolean, signal: AbortSignal): Promise<void> {
    await this.telemetry.drain(signal);
    const { metrics, logs, tracing } = this.#exports ?? {};
    const others = isFlushed ? [logs?.shutdown(), tracing?.shutdown()] : [];
    await Promise.allSettled([metrics?.stop(isFlushed), ...others]);
  }

  async #startExports(options: TelemetryOptions, resource: Resource): Promise<void> {
    const settings = this.#settings;
    const log = (message: string): void => this.losses.said(message);
    const quiet = (): void => {};
    // Its errors are failed exports, of which the exporters themselves tell.
    const logger = { error: quiet, warn: log, info: quiet, debug: quiet, verbose: quiet };
    diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
    const metrics = new MetricExport({
      exporter: await createMetricExporter(settings),
      collect: () => this.#collect(),
      intervalMs: timerMs(settings.export_interval_seconds),
      timeoutMs: timerMs(settings.export_timeout_seconds),
      onFailure: (error) => this.losses.failed('metrics', error),
    });
    const [logs, tracing] = await Promise.all([
      settings.emit_logs ? this.#startLogs(options, resource) : undefined,
      settings.traces.enabled ? this.#startTraces(options, resource) : undefined,
    ]);
    this.#exports = { metrics, logs, tracing };
    metrics.start();
    this.#flushing = setInterval(() => void this.#flush(), timerMs(settings.periodic_flush_seconds));
    this.#flushing.unref();
  }

  async #startLogs({ logOutput, version }: TelemetryOptions, resource: Resource): Promise<OtelLogs> {
    const { OtelLogs } = await import('../logs/otel-logs.ts');
    const logs = new OtelLogs({
      exporter: await createLogExporter(this.#settings),
      resource,
      scope: { name: SCOPE, version },
      settings: this.#settings,
      onDropped: this.losses.of('logs'),
    });
    logOutput.copyTo(logs);
    return logs;
  }

  async #startTraces({ config, version, redaction }: TelemetryOptions, resource: Resource): Promise<Tracing> {
    const { Tracing } = await import('../traces/tracing.ts');
    const settings = this.#settings;
    return new Tracing({
      exporter: await createTraceExporter(settings),
      resource,
      version,
      sampleRatio: settings.traces.sample_ratio,
      maxQueueSize: settings.max_queue_size,
      delayMs: timerMs(settings.periodic_flush_seconds),
      exportTimeoutMs: timerMs(settings.export_timeout_seconds),
      servers: config.servers,
      safe: (text) => maskIds(redaction.text(text)),
      onDropped: this.losses.of('traces'),
    });
  }

  /** Whoever fails has said so. */
  async #flush(): Promise<void> {
    const { metrics, logs, tracing } = this.#exports ?? {};
    await Promise.allSettled([metrics?.export(), logs?.forceFlush(), tracing?.forceFlush()]);
  }
}
