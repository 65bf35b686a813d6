import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { ConditionCount, Metrics, MetricSources } from './metrics.ts';

/** Reconciles take milliseconds when nothing is to do, and seconds when they wait for pods to answer. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics as OpenTelemetry instruments that are read in Prometheus' text format. */
export class PrometheusMetrics implements Metrics {
  readonly #provider: MeterProvider;
  readonly #exporter = new PrometheusExporter({ preventServerStart: true });
  readonly #serializer = new PrometheusSerializer('', false, undefined, true, true);
  readonly reconciled: Metrics['reconciled'];
  readonly queueDepth: Metrics['queueDepth'];
  readonly apiRequest: Metrics['apiRequest'];
  readonly watchRestarted: Metrics['watchRestarted'];

  constructor(sources: MetricSources) {
    this.#provider = new MeterProvider({ readers: [this.#exporter] });
    const meter = this.#provider.getMeter('mcp-operator');
    const advice = { explicitBucketBoundaries: SECONDS };

    const reconciles = meter.createCounter('mcp_operator_reconciles', {
      description: 'Reconciles by controller and outcome: done, requeue, failed, terminal.',
    });
    const duration = meter.createHistogram('mcp_operator_reconcile_duration_seconds', {
      description: 'How long reconciles took.',
      advice,
    });
    this.reconciled = (controller, outcome, seconds) => {
      reconciles.add(1, { controller, outcome });
      duration.record(seconds, { controller });
    };

    const depth = meter.createGauge('mcp_operator_queue_depth', { description: 'Keys that are due and wait.' });
    this.queueDepth = (controller, waiting) => depth.record(waiting, { controller });

    const requests = meter.createCounter('mcp_operator_api_requests', {
      description: 'Requests to the Kubernetes API by verb and HTTP status; error when there was no answer.',
    });
    const requestDuration = meter.createHistogram('mcp_operator_api_request_duration_seconds', {
      description: 'How long requests to the Kubernetes API took, watches left out.',
      advice,
    });
    this.apiRequest = (verb, code, seconds) => {
      requests.add(1, { verb, code });
      if (verb !== 'watch') requestDuration.record(seconds, { verb });
    };

    const restarts = meter.createCounter('mcp_operator_watch_restarts', {
      description: 'Watches that were opened again, by resource.',
    });
    this.watchRestarted = (resource) => restarts.add(1, { resource });

    meter
      .createObservableGauge('mcp_operator_leader', { description: '1 while this process leads.' })
      .addCallback((result) => result.observe(sources.leading() ? 1 : 0));
    const shown = new Map<string, ConditionCount>();
    meter
      .createObservableGauge('mcp_operator_resources', {
        description: 'Resources by kind and by the status of each of their conditions.',
      })
      .addCallback((result) => {
        // A series that is observed no more would go on showing its last number.
        for (const [id, series] of shown) shown.set(id, { ...series, count: 0 });
        for (const one of sources.conditions()) shown.set(`${one.kind}/${one.condition}/${one.status}`, one);
        for (const { count, kind, condition, status } of shown.values()) {
          result.observe(count, { kind, condition, status });
        }
      });
    meter
      .createObservableGauge('process_resident_memory_bytes', { description: 'Resident memory.' })
      .addCallback((result) => result.observe(process.memoryUsage.rss()));
  }

  /** In Prometheus' text format, version 0.0.4. */
  async text(): Promise<string> {
    const { resourceMetrics, errors } = await this.#exporter.collect();
    // A source that throws leaves its own metric out, not the others.
    void errors;
    return this.#serializer.serialize(resourceMetrics);
  }

  async close(): Promise<void> {
    await this.#provider.shutdown();
  }
}
