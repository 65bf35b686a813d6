const UNKNOWN_SESSION = /(no valid|invalid|unknown) session|session (not found|terminated|expired|does not exist)/i;
/** The code of MCP 2026-07-28 (versioning). */
const UNSUPPORTED_REVISION = /"code"\s*:\s*-32022\b/;

/** Whether an answer to a request that named its session says that the server does not know that. */
export function losesSession(status: number, body: string): boolean {
  return status === 404 || (status === 400 && isUnknownSession(body));
}

/**
 * Whether the body of a 400 says that the server does not know the session, as many say it instead of 404. One that does not
 * speak its revision (any more) knows it neither.
 */
export function isUnknownSession(body: string): boolean {
  return UNKNOWN_SESSION.test(body) || UNSUPPORTED_REVISION.test(body);
}
