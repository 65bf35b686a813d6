import type { Source } from '../../crds/config/scraper-file/source.ts';
import type { Contribution } from './contribution.ts';

/** What of a source says which readings it has. */
export type Measured = Pick<
  Source,
  | 'name'
  | 'gaugeReadings'
  | 'counterReadings'
  | 'histogramReadings'
  | 'attributes'
  | 'logStatusField'
  | 'emitLogs'
  | 'timestampKey'
  | 'timestampFormat'
  | 'maxSeries'
  | 'maxSeriesBytes'
  | 'pointTime'
>;

export interface AddReadings {
  /**
   * Adds what records say to a contribution. `observed` is the time of the scrape, in nanoseconds since 1970; `window` what
   * was asked for. May be called for every page of a window.
   *
   * @throws ShapeMismatch when a path needs an answer that is an object
   */
  (
    records: readonly unknown[],
    root: unknown,
    into: Contribution,
    time: { readonly observed: bigint; readonly window?: { readonly start: Date; readonly end: Date } },
  ): void;
  /** Nothing more comes into this contribution: what was kept to find its points again goes. */
  end?(into: Contribution): void;
}
