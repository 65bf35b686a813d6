import type { Fence } from './ledger.ts';

/** Which sources this pod runs. */
export interface Assignment {
  /** Joins the other pods and takes this pod's sources. Raises StateUnavailable, and then goes on trying. */
  start(): Promise<void>;
  /**
   * Proof that the source is this pod's, for the ledger; undefined when it is another's, or when this pod cannot know.
   * Ask before every piece of work.
   */
  fence(source: string): Fence | undefined;
  /** Looks again at once, such as after a change of the configuration. */
  refresh(): Promise<void>;
  /** Live pods that share these sources, this one among them. */
  pods(): readonly string[];
  /** Gives all sources back at once; to be called when nothing runs any more. */
  stop(): Promise<void>;
}

export interface AssignmentOptions {
  /** The sources of the configuration as it is now. */
  readonly sources: () => readonly string[];
  /** The source is this pod's from now on. */
  readonly gained: (source: string) => void;
  /** Another pod was asked for something about a source of this one, such as a backfill. */
  readonly asked?: (source: string) => void;
  /**
   * The source moves, or has moved, to another pod: start nothing new. When it resolves the source is given to the
   * other pod; until then `fence` still holds, if nobody has taken the source.
   */
  readonly lost: (source: string) => Promise<void>;
}
