import type { Semaphore } from './limits/semaphore.ts';
import type { MemoryBudget } from './limits/memory-budget.ts';
import type { ScraperConfig } from '../crds/config/scraper-file/scraper.ts';
import type { RetryBuffer } from './window/retry-buffer.ts';
import type { Logger } from './logger.ts';
import type { Emitter } from './output/emitter.ts';
import type { PreparedSource, SourceContext } from './window/prepared-source.ts';
import type { FetchDependencies } from './requests/fetch-window.ts';
import type { RunObserver } from './run/run-observer.ts';
import type { Scheduler } from './source/scheduler.ts';
import type { StateHolder } from './state/state-holder.ts';
import type { Maintenance } from './maintenance.ts';

/** What everything that is scraped is made of. */
export interface ScraperDeps {
  readonly config: ScraperConfig;
  readonly pod: string;
  readonly state: StateHolder;
  readonly emitter: Emitter;
  readonly retryBuffer: RetryBuffer;
  readonly memory: MemoryBudget;
  readonly suspects: Semaphore;
  readonly scheduler: Scheduler;
  readonly maintenance: Maintenance;
  readonly observer: RunObserver;
  readonly logger: Logger;
  readonly now: () => Date;
  readonly random: () => number;
  /** For the sources of a configuration. */
  readonly contextOf: (warn: (message: string) => void) => SourceContext;
  readonly fetchOf: (prepared: PreparedSource) => FetchDependencies;
  /** Told of every configuration that comes into use: limits of hosts, secrets. */
  readonly onConfig: (config: ScraperConfig) => void;
  readonly secrets: () => readonly string[];
  /** What is closed at the end, in this order. */
  readonly close: () => Promise<void>;
}
