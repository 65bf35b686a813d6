import type { Counter, Gauge, Histogram, Meter } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { MetricDefinition } from '../../lib/metrics/metric-definition.ts';
import { type ObservationTarget, observeNode } from '../../lib/metrics/node-metrics.ts';
import { OPERATOR_METRICS } from './metric-catalog.ts';
import type { ConditionCount, Metrics, MetricSources } from './metrics.ts';

/** The metrics of the catalog as OpenTelemetry instruments that are read in Prometheus' text format. */
export class PrometheusMetrics implements Metrics {
  readonly #provider: MeterProvider;
  readonly #exporter = new PrometheusExporter({ preventServerStart: true });
  readonly #serializer = new PrometheusSerializer('', false, undefined, true, true);
  readonly #process: Disposable;
  readonly reconciled: Metrics['reconciled'];
  readonly queueDepth: Metrics['queueDepth'];
  readonly apiRequest: Metrics['apiRequest'];
  readonly watchRestarted: Metrics['watchRestarted'];

  constructor(sources: MetricSources) {
    this.#provider = new MeterProvider({ readers: [this.#exporter] });
    const meter = this.#provider.getMeter('mcp-operator');
    const metrics = OPERATOR_METRICS;

    const reconciles = counter(meter, metrics.reconciles);
    const duration = histogram(meter, metrics.reconcileDuration);
    this.reconciled = (controller, outcome, seconds) => {
      reconciles.add(1, { controller, outcome });
      duration.record(seconds, { controller });
    };

    const depth = gauge(meter, metrics.queueDepth);
    this.queueDepth = (controller, waiting) => depth.record(waiting, { controller });

    const requests = counter(meter, metrics.apiRequests);
    const requestDuration = histogram(meter, metrics.apiRequestDuration);
    this.apiRequest = (verb, code, seconds) => {
      requests.add(1, { verb, code });
      if (verb !== 'watch') requestDuration.record(seconds, { verb });
    };

    const restarts = counter(meter, metrics.watchRestarts);
    this.watchRestarted = (resource) => restarts.add(1, { resource });

    const target = observing(meter);
    target.observe(metrics.leader, () => [[sources.leading() ? 1 : 0, {}]]);
    const shown = new Map<string, ConditionCount>();
    target.observe(metrics.resources, () => {
      // A series that is observed no more would go on showing its last number.
      for (const [id, series] of shown) shown.set(id, { ...series, count: 0 });
      for (const one of sources.conditions()) shown.set(`${one.kind}/${one.condition}/${one.status}`, one);
      return [...shown.values()].map(({ count, kind, condition, status }) => [count, { kind, condition, status }]);
    });
    target.observe(metrics.toolLockPending, () =>
      Object.entries(sources.pending()).map(([state, count]): [number, { state: string }] => [count, { state }]),
    );
    target.observe(metrics.residentMemory, () => [[process.memoryUsage.rss(), {}]]);
    this.#process = observeNode(target);
  }

  /** In Prometheus' text format, version 0.0.4. */
  async text(): Promise<string> {
    const { resourceMetrics, errors } = await this.#exporter.collect();
    // A source that throws leaves its own metric out, not the others.
    void errors;
    return this.#serializer.serialize(resourceMetrics);
  }

  async close(): Promise<void> {
    this.#process[Symbol.dispose]();
    await this.#provider.shutdown();
  }
}

const optionsOf = ({ unit, description }: MetricDefinition) => ({ unit, description });

const counter = (meter: Meter, metric: MetricDefinition): Counter =>
  meter.createCounter(metric.name, optionsOf(metric));

const gauge = (meter: Meter, metric: MetricDefinition): Gauge => meter.createGauge(metric.name, optionsOf(metric));

const histogram = (meter: Meter, metric: MetricDefinition): Histogram =>
  meter.createHistogram(metric.name, {
    ...optionsOf(metric),
    advice: { explicitBucketBoundaries: [...(metric.bounds ?? [])] },
  });

const observing = (meter: Meter): ObservationTarget => ({
  observe(metric, read) {
    const options = optionsOf(metric);
    const instrument =
      metric.instrument === 'counter'
        ? meter.createObservableCounter(metric.name, options)
        : metric.instrument === 'upDownCounter'
          ? meter.createObservableUpDownCounter(metric.name, options)
          : meter.createObservableGauge(metric.name, options);
    instrument.addCallback((result) => {
      for (const [value, attributes] of read()) result.observe(value, attributes);
    });
  },
});
