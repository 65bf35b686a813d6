/** Why a request failed; what follows from it is for the caller to decide. */
export type FailureKind =
  /** An answer that is no success, redirects included. */
  | 'status'
  | 'timeout'
  /** An answer that has begun, and hardly goes on. */
  | 'slow'
  /** No connection, or it broke. */
  | 'network'
  /** Certificates, of whichever side. */
  | 'tls'
  /** Not sent: plain http while TLS is enforced, a next page elsewhere, or an address that nobody may connect to. */
  | 'refused'
  | 'too_large'
  | 'not_json'
  /** JSON, but not what the configuration says it would be. */
  | 'shape'
  /** No token could be had. */
  | 'auth'
  /** Pages without end. */
  | 'pages';

/** What to do about answers that are too much for memory. */
export const ASK_FOR_LESS =
  'ask for smaller pages (scrape.pagination) or shorter windows (scrape.parallelWindow), or give the scraper more memory';

interface Details {
  /** Of an answer. */
  readonly status?: number;
  /** Milliseconds after which the API asks to be tried again. */
  readonly retryAfterMs?: number;
}

/** The failure of a request. Its message holds no credentials, and has no cause that could. */
export class RequestFailure extends Error {
  override readonly name = 'RequestFailure';
  readonly kind: FailureKind;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(kind: FailureKind, message: string, { status, retryAfterMs }: Details = {}) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}
