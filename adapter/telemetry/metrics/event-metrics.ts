import type { Aggregation } from './aggregation.ts';
import { GLOBAL, protocolVersionLabel, serverLabel } from '../labels.ts';
import { ADAPTER_METRICS } from './metric-catalog.ts';
import type { BreakerState, Telemetry, TelemetrySources } from '../telemetry.ts';

const BREAKER: Readonly<Record<BreakerState, 0 | 1 | 2>> = { closed: 0, half_open: 1, open: 2 };

/** As `adapter_stored_bytes` says it. */
const STORED = { upload: 'uploads', artifact: 'artifacts' } as const;

type Observed<K extends keyof Telemetry> = Telemetry[K] extends (observed: infer O) => void ? O : never;

/** What all that is no request of a client adds to metrics. */
export class EventMetrics {
  readonly #aggregation: Aggregation;
  readonly #server: (id: string | undefined) => string;
  readonly #instruments;

  constructor(aggregation: Aggregation, serverIds: ReadonlySet<string>) {
    this.#aggregation = aggregation;
    this.#server = (id) => serverLabel(serverIds, id);
    this.#instruments = {
      uploadBatches: aggregation.counter(ADAPTER_METRICS.uploadBatches),
      uploadFiles: aggregation.counter(ADAPTER_METRICS.uploadFiles),
      uploadBytes: aggregation.counter(ADAPTER_METRICS.uploadBytes),
      uploadFailures: aggregation.counter(ADAPTER_METRICS.uploadFailures),
      pings: aggregation.counter(ADAPTER_METRICS.pings),
      pingLatency: aggregation.histogram(ADAPTER_METRICS.pingLatency),
      policyTransitions: aggregation.counter(ADAPTER_METRICS.policyTransitions),
      nonces: aggregation.counter(ADAPTER_METRICS.nonceOperations),
      credentials: aggregation.counter(ADAPTER_METRICS.uploadCredentials),
      downloads: aggregation.counter(ADAPTER_METRICS.downloads),
      downloadBytes: aggregation.counter(ADAPTER_METRICS.downloadBytes),
      downloadDuration: aggregation.histogram(ADAPTER_METRICS.downloadDuration),
      artifacts: aggregation.counter(ADAPTER_METRICS.artifacts),
      artifactBytes: aggregation.counter(ADAPTER_METRICS.artifactBytes),
      artifactFailures: aggregation.counter(ADAPTER_METRICS.artifactFailures),
      spilled: aggregation.counter(ADAPTER_METRICS.resultsSpilled),
      fileRules: aggregation.counter(ADAPTER_METRICS.fileRules),
      lockDrifts: aggregation.counter(ADAPTER_METRICS.lockDrifts),
      bridged: aggregation.counter(ADAPTER_METRICS.bridged),
      filesRemoved: aggregation.counter(ADAPTER_METRICS.filesRemoved),
      wiring: aggregation.counter(ADAPTER_METRICS.wiringRuns),
      cleanups: aggregation.counter(ADAPTER_METRICS.cleanupCycles),
      removed: aggregation.counter(ADAPTER_METRICS.cleanupRemoved),
      sessions: aggregation.counter(ADAPTER_METRICS.sessionEvents),
      sessionDuration: aggregation.histogram(ADAPTER_METRICS.serverSession),
      drifts: aggregation.counter(ADAPTER_METRICS.drifts),
      droppedMessages: aggregation.counter(ADAPTER_METRICS.droppedMessages),
      limitedCalls: aggregation.counter(ADAPTER_METRICS.limitedCalls),
    };
  }

  upload({ serverId, files, bytes }: Observed<'upload'>): void {
    const labels = { server_id: this.#server(serverId) };
    this.#instruments.uploadBatches.add(1, labels);
    this.#instruments.uploadFiles.add(files, labels);
    this.#instruments.uploadBytes.add(bytes, labels);
  }

  uploadFailed({ serverId, reason }: Observed<'uploadFailed'>): void {
    this.#instruments.uploadFailures.add(1, { server_id: this.#server(serverId ?? ''), reason });
  }

  ping({ serverId, ok, seconds, stateBefore }: Observed<'ping'>): void {
    const result = ok ? 'success' : 'failure';
    const labels = { server_id: this.#server(serverId), result, state_before_probe: stateBefore };
    this.#instruments.pings.add(1, labels);
    this.#instruments.pingLatency.record(seconds, labels);
  }

  policyTransition({ serverId, action, source, policy, backend }: Observed<'policyTransition'>): void {
    const labels = { server_id: this.#server(serverId), action, source, policy, configured_backend: backend };
    this.#instruments.policyTransitions.add(1, labels);
  }

  nonce({ serverId, ...labels }: Observed<'nonce'>): void {
    this.#instruments.nonces.add(1, { server_id: this.#server(serverId), ...labels });
  }

  credential({ serverId, ...labels }: Observed<'credential'>): void {
    this.#instruments.credentials.add(1, { server_id: this.#server(serverId ?? ''), ...labels });
  }

  download({ serverId, result, authMode, bytes, seconds }: Observed<'download'>): void {
    const labels = { server_id: this.#server(serverId ?? ''), result, auth_mode: authMode };
    this.#instruments.downloads.add(1, labels);
    if (bytes > 0) this.#instruments.downloadBytes.add(bytes, labels);
    this.#instruments.downloadDuration.record(seconds, labels);
  }

  artifact({ serverId, bytes }: Observed<'artifact'>): void {
    const labels = { server_id: this.#server(serverId) };
    this.#instruments.artifacts.add(1, labels);
    this.#instruments.artifactBytes.add(bytes, labels);
  }

  artifactFailed({ serverId, reason }: Observed<'artifactFailed'>): void {
    this.#instruments.artifactFailures.add(1, { server_id: this.#server(serverId), reason });
  }

  spilled({ serverId, result }: Observed<'spilled'>): void {
    this.#instruments.spilled.add(1, { server_id: this.#server(serverId), result });
  }

  fileRule({ serverId, reason }: Observed<'fileRule'>): void {
    this.#instruments.fileRules.add(1, { server_id: this.#server(serverId), reason });
  }

  lockDrift({ serverId }: Observed<'lockDrift'>): void {
    this.#instruments.lockDrifts.add(1, { server_id: this.#server(serverId) });
  }

  bridged({ serverId, direction, rounds }: Observed<'bridged'>): void {
    this.#instruments.bridged.add(1, { server_id: this.#server(serverId), direction, rounds: String(rounds) });
  }

  filesRemoved({ kind, reason, files }: Observed<'filesRemoved'>): void {
    this.#instruments.filesRemoved.add(files, { kind: STORED[kind], reason });
  }

  wiring({ result }: Observed<'wiring'>): void {
    this.#instruments.wiring.add(1, { server_id: GLOBAL, result });
  }

  cleanup({ status, removed }: Observed<'cleanup'>): void {
    this.#instruments.cleanups.add(1, { server_id: GLOBAL, status });
    for (const [bucket, count] of Object.entries(removed)) {
      if (count > 0) this.#instruments.removed.add(count, { server_id: GLOBAL, bucket });
    }
  }

  session({ serverId, event, seconds, protocolVersion }: Observed<'session'>): void {
    const id = this.#server(serverId);
    this.#instruments.sessions.add(1, { event, server_id: id });
    if (seconds === undefined) return;
    this.#instruments.sessionDuration.record(seconds, {
      'mcp.protocol.version': protocolVersionLabel(protocolVersion),
      'network.transport': 'tcp',
      'mcp_adapter.server.id': id,
    });
  }

  drift({ serverId, mode, blockStrategy, outcome }: Observed<'drift'>): void {
    const labels = { server_id: this.#server(serverId), mode, block_strategy: blockStrategy, outcome };
    this.#instruments.drifts.add(1, labels);
  }

  limited({ serverId, per, limit }: Observed<'limited'>): void {
    this.#instruments.limitedCalls.add(1, { server_id: this.#server(serverId), per, limit });
  }

  dropped({ serverId, reason, messages }: Observed<'dropped'>): void {
    this.#instruments.droppedMessages.add(messages, { server_id: this.#server(serverId), reason });
  }

  /** Has everything read that is a state rather than an event. */
  observe(sources: TelemetrySources): void {
    const states = (): Iterable<readonly [number, { readonly server_id: string }]> =>
      Array.from(sources.breakerStates(), ([serverId, state]) => [BREAKER[state], { server_id: serverId }] as const);
    this.#aggregation.observe(ADAPTER_METRICS.breakerState, states);
    this.#aggregation.observe(ADAPTER_METRICS.notReadyServers, () => [
      [sources.notReadyServers(), { server_id: GLOBAL }],
    ]);
    this.#aggregation.observe(ADAPTER_METRICS.activeSessions, () => {
      const active = sources.activeSessions();
      return active === undefined ? [] : [[active, {}]];
    });
    this.#aggregation.observe(ADAPTER_METRICS.requestsInFlight, () => [[sources.requestsInFlight(), {}]]);
    this.#aggregation.observe(ADAPTER_METRICS.heldBytes, () =>
      Array.from(sources.heldBytes(), ([kind, bytes]) => [bytes, { kind }] as const),
    );
    this.#aggregation.observe(ADAPTER_METRICS.heldBytesLimit, () => [[sources.heldBytesLimit(), {}]]);
    this.#aggregation.observe(ADAPTER_METRICS.storedBytes, () =>
      Array.from(sources.storedBytes(), ([kind, bytes]) => [bytes, { kind }] as const),
    );
  }
}
