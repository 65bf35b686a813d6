/** What was seen first under a name, shared by all replicas, and kept until some time after it was asked for last. */
export interface FirstTexts {
  /** What is kept, and its time ends anew; undefined where there is nothing, or its time is over. */
  find(name: string, time: FirstTextTime): Promise<string | undefined>;
  /**
   * Keeps a text unless there is one under this name whose time is not over, and returns what is there now: of many at
   * once one wins, for all of them. Its time ends anew, at `expiresAt`.
   */
  keep(name: string, text: string, time: FirstTextTime): Promise<string>;
}

/** Milliseconds since 1970. */
export interface FirstTextTime {
  readonly now: number;
  readonly expiresAt: number;
}
