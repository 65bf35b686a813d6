/** What was asked for is not there, or is not as it should be: exit code 1. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
}

/** The API server or a pod cannot be reached, or refuses: exit code 3. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}
