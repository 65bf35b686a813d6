import type { Aggregation } from './aggregation.ts';
import { EventMetrics } from './event-metrics.ts';
import { EventQueue } from './event-queue.ts';
import { ADAPTER_METRICS } from './metric-catalog.ts';
import { RequestMetrics } from './request-metrics.ts';
import type { Telemetry, TelemetrySources } from '../telemetry.ts';
import type { ToolNames } from '../tool-names.ts';

export interface QueuedTelemetryOptions {
  readonly aggregation: Aggregation;
  readonly serverIds: ReadonlySet<string>;
  readonly tools: Pick<ToolNames, 'label' | 'worked'>;
  readonly maxQueueSize: number;
  readonly batchSize: number;
  readonly dropsWhenFull: boolean;
  readonly onDropped: (reason: string, events: number) => void;
}

interface Event {
  readonly count: (observed: never) => void;
  readonly observed: unknown;
}

/** Queues what it is told, and counts it between requests. */
export class QueuedTelemetry implements Telemetry {
  readonly isOn = true;
  readonly request;
  readonly nestedCall;
  readonly upload;
  readonly uploadFailed;
  readonly upstreamCall;
  readonly ping;
  readonly policyTransition;
  readonly nonce;
  readonly credential;
  readonly download;
  readonly artifact;
  readonly artifactFailed;
  readonly spilled;
  readonly fileRule;
  readonly lockDrift;
  readonly bridged;
  readonly filesRemoved;
  readonly wiring;
  readonly cleanup;
  readonly session;
  readonly drift;
  readonly dropped;
  readonly limited;
  readonly #events: EventMetrics;
  readonly #queue: EventQueue<Event>;
  /** How many events waited when the metrics were last read. */
  #waited = 0;

  constructor({ aggregation, serverIds, tools, ...options }: QueuedTelemetryOptions) {
    const requests = new RequestMetrics(aggregation, serverIds, tools);
    const events = new EventMetrics(aggregation, serverIds);
    this.#events = events;
    this.#queue = new EventQueue<Event>({
      maxSize: options.maxQueueSize,
      batchSize: options.batchSize,
      dropsWhenFull: options.dropsWhenFull,
      work: ({ count, observed }) => count(observed as never),
      onDropped: options.onDropped,
    });
    aggregation.observe(ADAPTER_METRICS.queueDepth, () => [[this.#waited, {}]]);
    this.request = this.#queued(requests.request.bind(requests));
    this.nestedCall = this.#queued(requests.nestedCall.bind(requests));
    this.upstreamCall = this.#queued(requests.upstreamCall.bind(requests));
    this.upload = this.#queued(events.upload.bind(events));
    this.uploadFailed = this.#queued(events.uploadFailed.bind(events));
    this.ping = this.#queued(events.ping.bind(events));
    this.policyTransition = this.#queued(events.policyTransition.bind(events));
    this.nonce = this.#queued(events.nonce.bind(events));
    this.credential = this.#queued(events.credential.bind(events));
    this.download = this.#queued(events.download.bind(events));
    this.artifact = this.#queued(events.artifact.bind(events));
    this.artifactFailed = this.#queued(events.artifactFailed.bind(events));
    this.spilled = this.#queued(events.spilled.bind(events));
    this.fileRule = this.#queued(events.fileRule.bind(events));
    this.lockDrift = this.#queued(events.lockDrift.bind(events));
    this.bridged = this.#queued(events.bridged.bind(events));
    this.filesRemoved = this.#queued(events.filesRemoved.bind(events));
    this.wiring = this.#queued(events.wiring.bind(events));
    this.cleanup = this.#queued(events.cleanup.bind(events));
    this.session = this.#queued(events.session.bind(events));
    this.drift = this.#queued(events.drift.bind(events));
    this.dropped = this.#queued(events.dropped.bind(events));
    this.limited = this.#queued(events.limited.bind(events));
  }

  observe(sources: TelemetrySources): void {
    this.#events.observe(sources);
  }

  /** Counts what waits, so that whoever reads the metrics now finds all that has happened. */
  countNow(): void {
    this.#waited = this.#queue.depth;
    this.#queue.flush();
  }

  /** Counts what waits, until the signal says that it takes too long. */
  drain(signal: AbortSignal): Promise<void> {
    return this.#queue.drain(signal);
  }

  #queued<T>(count: (observed: T) => void): (observed: T) => void {
    return (observed) => this.#queue.push({ count, observed });
  }
}
