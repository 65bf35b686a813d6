const UNKNOWN_SESSION = /(no valid|invalid|unknown) session|session (not found|terminated|expired|does not exist)/i;

/** Whether an answer to a request that named its session says that the server does not know that. */
export function losesSession(status: number, body: string): boolean {
  return status === 404 || (status === 400 && isUnknownSession(body));
}

/** Whether the body of a 400 says that the server does not know the session, as many say it instead of 404. */
export function isUnknownSession(body: string): boolean {
  return UNKNOWN_SESSION.test(body);
}
