import { redactUrl } from '../../lib/redaction/redact-url.ts';
import { looksSecret, REDACTED } from '../../lib/redaction/secret-names.ts';
import { type HttpClient, type HttpRequest, nameOf } from '../requests/http-client.ts';

/** One exchange for people to look at, without credentials. */
export interface WatchedExchange {
  readonly request: string;
  /** Their names; what they hold is nobody's business. */
  readonly headers?: readonly string[];
  readonly body?: unknown;
  readonly status?: number;
  readonly content_type?: string;
  readonly bytes?: number;
  readonly milliseconds: number;
  /** There was no whole answer. */
  readonly failed?: true;
}

interface Watch {
  readonly seen: (exchange: WatchedExchange) => void;
  /** Milliseconds. */
  readonly clock: () => number;
  readonly show: (request: HttpRequest) => Omit<WatchedExchange, 'milliseconds'>;
}

/** A client that tells of everything that it sends. */
export function watchedClient(client: HttpClient, { seen, clock, show }: Watch): HttpClient {
  return {
    async send(request, signal) {
      const started = clock();
      const since = (): number => Math.round(clock() - started);
      try {
        const { headers, ...answer } = await client.send(request, signal);
        const type = headers['content-type'];
        const { status, bytes } = answer;
        const described = type === undefined ? {} : { content_type: type };
        seen({ ...show(request), status, ...described, bytes, milliseconds: since() });
        return { headers, ...answer };
      } catch (error) {
        seen({ ...show(request), milliseconds: since(), failed: true });
        throw error;
      }
    },
  };
}

/** A request to the API: with its parameters, since these are what is to be looked at. */
export function shownRequest({ method, url, headers, body }: HttpRequest): Omit<WatchedExchange, 'milliseconds'> {
  const names = Object.keys(headers);
  return {
    request: `${method} ${redactUrl(url)}`,
    ...(names.length === 0 ? {} : { headers: names }),
    ...(body === undefined ? {} : { body: shownBody(body) }),
  };
}

/** A request for a token: nothing but where it goes. */
export const shownTokenRequest = (request: HttpRequest): { request: string } => ({
  request: `${nameOf(request)} (for a token)`,
});

/** The parameters of a POST are one JSON object; those with the name of a secret hold one. */
function shownBody(body: string): unknown {
  const parameters = JSON.parse(body) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, looksSecret(name) ? REDACTED : value]),
  );
}
