import type { Slots } from './slots.ts';
import type { MemoryBudget } from './memory-budget.ts';
import type { ScraperConfig } from '../crds/config/scraper-file/scraper.ts';
import type { KeptWindows } from './gathered.ts';
import type { Logger } from './logger.ts';
import type { Emitter } from './output/emitter.ts';
import type { PreparedSource, SourceContext } from './prepared-source.ts';
import type { FetchDependencies } from './requests/fetch-window.ts';
import type { RunObserver } from './run-observer.ts';
import type { Scheduler } from './scheduler.ts';
import type { StateHolder } from './state-holder.ts';
import type { Upkeep } from './upkeep.ts';

/** What everything that is scraped is made of. */
export interface LiveScrapingParts {
  readonly config: ScraperConfig;
  readonly pod: string;
  readonly state: StateHolder;
  readonly emitter: Emitter;
  readonly kept: KeptWindows;
  readonly memory: MemoryBudget;
  readonly suspects: Slots;
  readonly scheduler: Scheduler;
  readonly upkeep: Upkeep;
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
