import type { Logger } from './logger.ts';
import type { SelfTelemetry } from './output/self-telemetry.ts';
import type { Scheduler } from './source/scheduler.ts';
import type { Ledger } from './state/ledger.ts';
import type { SourceStatus } from './status.ts';

export interface MaintenanceDeps {
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  readonly now: () => Date;
  readonly random: () => number;
  readonly backend: 'sqlite' | 'valkey';
  readonly cleanUpMs: number;
  /** Undefined: no metrics about the scraper itself. */
  readonly telemetry: SelfTelemetry | undefined;
  readonly telemetryMs: number;
  readonly sources: () => readonly SourceStatus[];
}

const FLUSH_MS = 5_000;

/** What has to be done from time to time: fingerprints that have expired are removed, and own metrics are sent. */
export class Maintenance {
  readonly #parts: MaintenanceDeps;
  readonly #stopped = new AbortController();
  #work: Promise<void> = Promise.resolve();

  constructor(parts: MaintenanceDeps) {
    this.#parts = parts;
  }

  start(ledger: Ledger): void {
    const { random, cleanUpMs } = this.#parts;
    // Pods that start together do not clean up together.
    this.#every(
      'clean-up',
      () => cleanUpMs * (0.9 + 0.2 * random()),
      () => this.#cleanUp(ledger),
    );
    if (this.#parts.telemetry !== undefined) {
      this.#every(
        'telemetry',
        () => this.#parts.telemetryMs,
        () => this.#flush(this.#stopped.signal),
      );
    }
  }

  /** Sends what has come together since the last time, when all sources have stopped. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error('the scraper is stopping'));
    await this.#work;
    if (this.#parts.telemetry !== undefined) await this.#flush(AbortSignal.timeout(FLUSH_MS));
  }

  #every(key: string, delay: () => number, work: () => Promise<void>): void {
    const { scheduler, now } = this.#parts;
    scheduler.set(key, now().getTime() + delay(), () => {
      this.#every(key, delay, work);
      this.#work = this.#work.then(() => (this.#stopped.signal.aborted ? undefined : work()));
    });
  }

  async #cleanUp(ledger: Ledger): Promise<void> {
    const { now, logger, telemetry, backend, sources } = this.#parts;
    const started = now();
    try {
      const known = sources().filter(({ owner }) => backend === 'sqlite' || owner);
      const { fingerprints, windows } = await ledger.cleanUp(
        started,
        known.map(({ name }) => name),
      );
      const durationSeconds = (now().getTime() - started.getTime()) / 1000;
      telemetry?.cleanedUp({ job: 'fingerprint_cleanup', backend, durationSeconds, items: fingerprints });
      logger.debug({ fingerprints, windows }, 'cleanup done');
    } catch (error) {
      logger.warn({ error: error instanceof Error ? error.message : String(error) }, 'cleanup failed');
    }
  }

  async #flush(signal: AbortSignal): Promise<void> {
    const { telemetry, sources, logger } = this.#parts;
    for (const { name, owner, openWindows, deadWindows } of sources()) {
      if (!owner) continue;
      telemetry?.gauge('scraper_windows_open', { source: name }, openWindows);
      telemetry?.gauge('scraper_windows_dead', { source: name }, deadWindows);
    }
    try {
      await telemetry?.flush(signal);
    } catch (error) {
      if (signal.aborted && this.#stopped.signal === signal) return;
      logger.warn({ error: error instanceof Error ? error.message : String(error) }, 'self-telemetry export failed');
    }
  }
}
