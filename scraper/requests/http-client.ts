import type { IncomingHttpHeaders } from 'node:http';
import type { ClientTls } from '../../crds/config/scraper-file/tls.ts';
import type { MemoryShare } from '../limits/memory-budget.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** Absolute, and without credentials. Its query is sent as it stands. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** For the whole exchange, the connection included. */
  readonly timeoutMs: number;
  /** Largest answer, once it is decompressed. */
  readonly maxBytes: number;
  readonly tls: ClientTls;
  /** Least rate of an answer that has begun; undefined: its time limit is enough. */
  readonly minBytesPerSecond?: number;
  /** Where the memory for the answer is taken from; undefined: `maxBytes` is little. */
  readonly memory?: Pick<MemoryShare, 'take' | 'takeNow'> | undefined;
  /** Trust the authorities of the system, too, where `tls` names others. */
  readonly andSystem?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Of an answer that is no success, only the beginning. */
  readonly text: string;
  /** Of the text, before it was decoded. */
  readonly bytes: number;
}

/** One HTTP exchange. Redirects are not followed: they are answers. */
export interface HttpClient {
  /**
   * @throws RequestFailure when there is no whole answer
   * @throws the reason of `signal` when that aborted
   */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
}

/** A request in messages: its query, which may hold secrets, is left out. */
export function nameOf({ method, url }: Pick<HttpRequest, 'method' | 'url'>): string {
  const { origin, pathname } = new URL(url);
  return `${method} ${origin}${pathname}`;
}
