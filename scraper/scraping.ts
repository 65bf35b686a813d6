import type { LoadedConfig } from './config-file.ts';
import type { LedgerWindow } from './state/ledger.ts';
import type { RunRecord, SourceStatus, TriggerResult } from './status.ts';

/** Everything that is scraped, as the rest of the program sees it. */
export interface Scraping {
  /** Resolves at once; state that cannot be used now is tried again in the background, and `ready` says so. */
  start(): Promise<void>;
  /** Why it cannot scrape now; undefined when it can. */
  ready(): 'starting' | 'state_store_unavailable' | undefined;
  /** Takes a new configuration. Its section `scraper` stays as it was at the start. */
  replace(loaded: LoadedConfig): void;
  /** All sources, in the order of the configuration. */
  sources(): readonly SourceStatus[];
  /** Newest first, at most 20; empty for an unknown source. */
  runs(name: string): readonly RunRecord[];
  /** Latest first. @throws StateUnavailable */
  windows(name: string, page: { readonly offset: number; readonly limit: number }): Promise<LedgerWindow[]>;
  /** Runs a source now and waits for its end; only on the pod that owns it. @throws Refused: no such source */
  trigger(name: string): Promise<TriggerResult>;
  /**
   * Adds windows of the past. Returns how many were not open already.
   * @throws Refused when the source has no times, or for another reason that the message gives
   * @throws StateUnavailable
   */
  backfill(name: string, range: { readonly start: Date; readonly end: Date }): Promise<number>;
  /** On any pod; the owner heeds it within seconds, or at once when it is this pod. @throws StateUnavailable */
  pause(name: string): Promise<void>;
  resume(name: string): Promise<void>;
  /**
   * Opens windows again that were set aside, not more than a backfill may have. Returns their number, and how many are
   * still set aside. @throws StateUnavailable
   */
  retryDead(name: string): Promise<{ readonly windows: number; readonly left: number }>;
  /** This pod and all that are alive; none while the state is not open yet. */
  pods(): { readonly self: string; readonly live: readonly string[] };
  /** What must not appear in any output: of the configuration in use, of earlier ones, and tokens. */
  secrets(): readonly string[];
  /** Drains, and closes everything in the reverse order of opening. */
  stop(): Promise<void>;
}
