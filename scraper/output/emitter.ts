import type { Contribution } from './contribution.ts';

/** Where contributions go. */
export interface Emitter {
  /**
   * Resolves when the collector has acknowledged all of it. Empty contributions need no acknowledgement.
   *
   * @throws ExportFailure when it has not. Emit the same contribution again, or say `giveUp`: what has arrived of it is
   *   not added a second time, but log records whose acknowledgement was lost come twice
   */
  emit(contributions: readonly Contribution[], signal: AbortSignal): Promise<void>;
  /** This contribution, whose export has failed, will not be emitted again. */
  giveUp(contribution: Contribution): void;
  /** Lets the sums of a source go that is no longer configured. */
  forget(source: string): void;
  /** Waits for exports that are under way, for at most their timeout. */
  close(): Promise<void>;
}

/** The collector has not acknowledged an export, or not in time. */
export class ExportFailure extends Error {
  override readonly name = 'ExportFailure';
  /** False: the collector refuses what the export holds, and would again. */
  readonly retryable: boolean;
  /** Milliseconds after which the collector asks to be tried again. */
  readonly retryAfterMs: number | undefined;
  /** More than it takes at a time. */
  readonly tooLarge: boolean;
  /** Only the acknowledgement may be missing. */
  readonly mayHaveArrived: boolean;

  constructor(
    message: string,
    details: {
      readonly retryable: boolean;
      readonly retryAfterMs?: number | undefined;
      readonly tooLarge?: boolean;
      readonly mayHaveArrived?: boolean;
    },
  ) {
    super(message);
    this.mayHaveArrived = details.mayHaveArrived ?? details.retryable;
    this.retryable = details.retryable;
    this.retryAfterMs = details.retryAfterMs;
    this.tooLarge = details.tooLarge ?? false;
  }

  /** The same failure, of something of which another part has arrived. */
  ofRest(): ExportFailure {
    const { message, retryable, retryAfterMs, tooLarge } = this;
    return new ExportFailure(message, { retryable, retryAfterMs, tooLarge, mayHaveArrived: true });
  }
}
