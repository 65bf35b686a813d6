/** What one measurement of a scraper is about. */
export interface ScrapeJob {
  /** Origin of the API and collector. */
  readonly sink: string;
  /** For state. */
  readonly folder: string;
  /** Of one page, or of each window. */
  readonly records: number;
  /** How many windows of time are asked for; 0: one page without times. */
  readonly windows: number;
  /** Milliseconds until the API answers. */
  readonly wait: number;
  readonly logs: boolean;
  /** Records that were emitted before are left out. */
  readonly fingerprints: boolean;
}

/** Upper bounds of the histogram. */
export const BUCKETS = [25, 100, 250, 500, 1000, 1500];
