/** What a route says. */
export interface Answer {
  readonly status: number;
  /** Written as JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that is not served. It leaves as `{"detail": …}`, as in the original. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.status = status;
    this.headers = headers;
  }
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
