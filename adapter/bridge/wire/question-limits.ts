/** How long a call may go on asking (`upstream.bridge_max_rounds`, `upstream.bridge_question_ttl_seconds`). */
export interface QuestionLimits {
  readonly maxRounds: number;
  /** How long the client has: for all rounds of a call in a session, for each round of a call without one. */
  readonly ttlMs: number;
}
