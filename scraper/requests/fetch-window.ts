import type { ScraperSettings, Source } from '../../crds/config/scraper-file/scraper.ts';
import type { MemoryShare } from '../limits/memory-budget.ts';
import { ShapeMismatch } from '../records/shape-mismatch.ts';
import type { Authenticator } from './auth.ts';
import { excerpt } from './excerpt.ts';
import { RequestFailure } from './failure.ts';
import { type HttpAnswer, type HttpClient, type HttpRequest, nameOf } from './http-client.ts';
import { isSameHost, type PageAnswer, type PageStep, type Pages, pagesOf } from './pagination.ts';
import { requestOf, type RequestParts, sourceUrl } from './parameters.ts';
import { takeForValues } from './memory-of-values.ts';
import type { RateLimiter } from './rate-limit.ts';
import { retryAfter } from './retry-after.ts';
import type { Window } from './windows.ts';

export interface FetchDependencies {
  readonly settings: Pick<ScraperSettings, 'defaultTimeFormat' | 'enforceTls'>;
  readonly http: HttpClient;
  /** Of this source. */
  readonly auth: Authenticator;
  readonly rateLimiter: RateLimiter;
  /** @throws SyntaxError without any of the text in its message */
  readonly parse: (text: string) => unknown;
  /** The records of an answer, which also tell when pages end. @throws ShapeMismatch */
  readonly records: (body: unknown) => readonly unknown[];
  /** What must not stand in a message. */
  readonly secrets: () => readonly string[];
  readonly now: () => Date;
  /** Called when an answer is there, before it is read. @param bytes of its text */
  readonly arrived?: ((bytes: number) => Promise<void>) | undefined;
  /** Where the memory for answers is taken from. */
  readonly memory?: MemoryShare | undefined;
}

export interface Page {
  readonly body: unknown;
  readonly records: readonly unknown[];
  /** Of the answer, decompressed. */
  readonly bytes: number;
  /** What its records hold in memory, about, where the source keeps them as log records; otherwise 0. */
  readonly held: number;
}

/**
 * The answers of one window, page after page; the next is asked for when the last has been taken. Undefined as the
 * window: a source without times.
 *
 * @throws RequestFailure when a page cannot be had; then the window has failed as a whole
 * @throws the reason of `signal` when that aborted
 */
export async function* pages(
  source: Source,
  window: Window | undefined,
  dependencies: FetchDependencies,
  signal: AbortSignal,
): AsyncGenerator<Page, void, void> {
  const paging = pagesOf(source.scrape.pagination);
  const now = dependencies.now();
  let step: PageStep | undefined = paging.first;
  let bytes = 0;
  for (let count = 1; step !== undefined; count++) {
    const { settings } = dependencies;
    const request = requestOf({ source, settings, window, now, page: step.parameters, next: step.url });
    const { page, headers } = await onePage(request, source, dependencies, bytes, signal);
    bytes += page.bytes;
    step = following(
      paging,
      step,
      { body: page.body, records: page.records.length, headers, url: request.url },
      request,
    );
    if (step !== undefined && count >= paging.maxPages) {
      const what = `${nameOf(request)}: more than ${paging.maxPages} pages (maxPages)`;
      throw new RequestFailure('pages', `${what}; shorter windows have fewer`);
    }
    yield page;
  }
}

/**
 * Apart, so that the text of an answer is not kept while its records are worked on.
 *
 * @param before bytes of the pages before it
 */
async function onePage(
  request: RequestParts,
  source: Source,
  dependencies: FetchDependencies,
  before: number,
  signal: AbortSignal,
): Promise<{ page: Page; headers: HttpAnswer['headers'] }> {
  const answer = await ask(request, source, dependencies, signal);
  if (before > 0) checkSize(before + answer.bytes, source, request);
  await dependencies.arrived?.(answer.bytes);
  const { memory } = dependencies;
  const held = memory && (await takeForValues(answer.text, memory, source.emitLogs, nameOf(request), signal));
  return { page: { ...read(answer, request, dependencies), held: held ?? 0 }, headers: answer.headers };
}

/** What the pages of a window come to is held in memory until it is delivered. */
function checkSize(bytes: number, { scrape: { maxWindowBytes } }: Source, request: RequestParts): void {
  if (bytes <= maxWindowBytes) return;
  const what = `${nameOf(request)}: the pages of the window have more than ${maxWindowBytes} bytes (maxWindowBytes)`;
  throw new RequestFailure('too_large', `${what}; shorter windows have fewer`);
}

/** One request, repeated once when the API rejects a token that can be renewed. */
async function ask(
  request: RequestParts,
  source: Source,
  dependencies: FetchDependencies,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { auth, http, rateLimiter, settings, memory } = dependencies;
  if (settings.enforceTls && !request.url.toLowerCase().startsWith('https://')) {
    throw new RequestFailure(
      'refused',
      `${nameOf(request)}: plain http is refused, because scraper.enforceTls is true`,
    );
  }
  const { timeout: timeoutMs, maxResponseBytes: maxBytes, minBytesPerSecond } = source.scrape;
  // Where pages lead to another host, that one gets nothing that says who asks.
  const isHome = isSameHost(new URL(sourceUrl(source)), new URL(request.url));
  for (let repeated = false; ; repeated = true) {
    await rateLimiter.take(request.url, signal);
    const credentials = isHome ? await auth.headers(signal) : {};
    const headers = isHome ? overruled(request.headers, credentials) : harmless(request.headers);
    const tls = isHome ? source.tls : strangersTls(source.tls);
    const limits = { timeoutMs, maxBytes, minBytesPerSecond, memory };
    const sent: HttpRequest = { ...request, ...limits, headers, tls, andSystem: !isHome };
    const answer = await http.send(sent, signal);
    if (answer.status >= 200 && answer.status <= 299) return answer;
    if (answer.status === 401 && isHome && !repeated && auth.rejected(credentials)) continue;
    throw refusal(answer, sent, secretsOf(credentials, dependencies), dependencies.now());
  }
}

/** What every client sends; all other headers of a source may hold credentials. */
const HARMLESS = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

const harmless = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.has(name.toLowerCase())));

/** Whom to trust stays the same; the certificate of the client, and the name of the server, are of the source's host only. */
const strangersTls = (tls: HttpRequest['tls']): HttpRequest['tls'] => ({
  ...tls,
  cert: null,
  certFile: null,
  key: null,
  keyFile: null,
  serverName: null,
});

/** The first headers without those that the second name, in whatever case. */
function overruled(
  headers: Readonly<Record<string, string>>,
  by: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = new Set(Object.keys(by).map((name) => name.toLowerCase()));
  return { ...Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase()))), ...by };
}

/** What is configured, and what was sent: a token is in no configuration. */
const secretsOf = (credentials: Readonly<Record<string, string>>, { secrets }: FetchDependencies): string[] => [
  ...secrets(),
  ...Object.values(credentials).flatMap((value) => [value, value.replace(/^\S+ /, '')]),
];

function refusal(answer: HttpAnswer, request: HttpRequest, secrets: readonly string[], now: Date): RequestFailure {
  const { status, headers, text, bytes } = answer;
  const said = excerpt(text, secrets, bytes <= Buffer.byteLength(text));
  const location = URL.parse(headers.location ?? '', request.url);
  const where = location === null || status > 399 ? '' : ` (redirects are not followed: ${location.origin})`;
  return new RequestFailure(
    'status',
    `${nameOf(request)} answered ${status}${where}${said === '' ? '' : `: ${said}`}`,
    {
      status,
      retryAfterMs: retryAfter(headers['retry-after'], now),
    },
  );
}

function read(answer: HttpAnswer, request: RequestParts, dependencies: FetchDependencies): Omit<Page, 'held'> {
  const what = nameOf(request);
  try {
    const body = dependencies.parse(answer.text);
    return { body, records: dependencies.records(body), bytes: answer.bytes };
  } catch (error) {
    if (error instanceof ShapeMismatch) throw new RequestFailure('shape', `${what}: ${error.message}`);
    if (!(error instanceof SyntaxError)) throw error;
    if (answer.text.trim() === '') throw new RequestFailure('not_json', `${what} answered ${answer.status}, empty`);
    // Never more than a few words: what is broken JSON may be data of the user.
    const type =
      /^[\w.+-]+\/[\w.+-]+/.exec(answer.headers['content-type'] ?? '')?.[0].slice(0, 80) ?? 'no content type';
    throw new RequestFailure('not_json', `${what} answered ${answer.status} (${type}). ${error.message}`);
  }
}

function following(paging: Pages, step: PageStep, answer: PageAnswer, request: RequestParts): PageStep | undefined {
  try {
    return paging.next(step, answer);
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error;
    throw new RequestFailure(error.kind, `${nameOf(request)}: ${error.message}`);
  }
}
