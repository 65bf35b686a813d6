import type { Redact } from '../../lib/redaction/redact.ts';
import { AdapterError } from '../errors.ts';
import { elements, locate } from '../exchange/scanning/json-scan.ts';
import { METHOD_NOT_FOUND } from '../exchange/message.ts';
import { losesSession } from '../exchange/unknown-session.ts';
import { joinedPages } from '../catalog/tool-view.ts';
import { LISTS, type ListOf } from './list-of.ts';
import { ownTurn } from '../../lib/stream/own-turn.ts';
import { SESSIONLESS_META, sessionlessHeaders } from '../upstream/revision-probe.ts';
import { ownRequest } from '../upstream/own-request.ts';
import type { Upstream, UpstreamSession } from '../exchange/upstream.ts';
import { MAX_LIST_CHARS, MAX_LIST_PAGES } from '../limits.ts';

/** The signal usually ends it earlier. */
const LONGEST_MS = 300_000;

/** Whose list of tools is asked for. */
export interface ListingRequest {
  readonly serverId: string;
  readonly upstream: Upstream;
  /** For the upstream's words in errors of ours. */
  readonly redact: Redact;
  /** Stands for the client's headers, on which the list may depend. */
  readonly clientKey: string;
  /** Headers of an own request for this client: what it authenticates with. */
  readonly base: readonly string[];
  /** The session to ask in, with the headers of a request in it; undefined in the sessionless revision. */
  readonly inSession: { readonly session: UpstreamSession; readonly headers: readonly string[] } | undefined;
}

/** What an upstream says that has no tools at all. */
export class NoToolsError extends AdapterError {}

/**
 * The upstream's tools, page by page, asked for by requests of the adapter's own: JSON texts of tools/list results. The
 * signal ends it with its reason.
 *
 * Throws `upstream_failed` for anything else: what an upstream cannot say just now is not what it does not have; of this
 * kind is the NoToolsError of one that knows no such list. Throws `upstream_session_terminated` where the upstream has
 * lost the session.
 *
 * @param earlier a page that is there already: the list goes on behind it
 */
async function* listTools(
  request: ListingRequest,
  signal: AbortSignal,
  earlier?: string,
  of: ListOf = LISTS.tools,
): AsyncGenerator<string, void> {
  const { upstream, redact, base, inSession } = request;
  const meta = inSession === undefined ? { _meta: SESSIONLESS_META } : {};
  let next = earlier === undefined ? undefined : nextCursor(earlier);
  if (earlier !== undefined && next === undefined) return;
  let chars = earlier?.length ?? 0;
  for (let page = 0; page < MAX_LIST_PAGES; page++) {
    const { status, body, text, message } = await ownRequest(upstream, {
      session: inSession?.session,
      headers: inSession?.headers ?? [...base, ...sessionlessHeaders(of.method)],
      message: { method: of.method, params: JSON.stringify({ ...meta, cursor: next }) },
      timeoutMs: LONGEST_MS,
      signal,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw failed(of, redact, error instanceof Error ? error.message : String(error), error);
    });
    const result = text === undefined ? undefined : locate(text, ['result']);
    if (inSession !== undefined && losesSession(status, body)) {
      throw new AdapterError('upstream_session_terminated');
    }
    if (text === undefined || result === undefined || !Array.isArray(message?.result?.[of.member])) {
      const error = failed(of, redact, message?.error?.message ?? `it answered with HTTP ${status}`);
      throw message?.error?.code === METHOD_NOT_FOUND ? new NoToolsError(error.code, error.message) : error;
    }
    chars += result.end - result.start;
    if (chars > MAX_LIST_CHARS) throw failed(of, redact, `the list is longer than ${MAX_LIST_CHARS} characters`);
    yield text.slice(result.start, result.end);
    const { nextCursor } = message.result;
    if (!isCursor(nextCursor)) return;
    next = nextCursor;
  }
  throw failed(of, redact, `it has more than ${MAX_LIST_PAGES} pages`);
}

/** The whole list as one page. `first`: its first page, where it is there already. */
export async function wholeList(
  request: ListingRequest,
  signal: AbortSignal,
  first?: string,
  of: ListOf = LISTS.tools,
): Promise<string> {
  const { maxEntries = Infinity } = of;
  let start = first;
  let count = start === undefined || maxEntries === Infinity ? 0 : entriesOf(start, of).length;
  if (start !== undefined && count >= maxEntries) return start;
  const further: string[] = [];
  let chars = 0;
  for await (const page of listTools(request, signal, first, of)) {
    const entries = entriesOf(page, of);
    count += entries.length;
    chars += page.length;
    if (start === undefined) start = page;
    else for (const entry of entries) further.push(entry);
    if (count >= maxEntries) break;
  }
  if (further.length === 0) return start ?? '';
  await ownTurn(chars);
  return joinedPages(start ?? '', of.member, further);
}

/** The entries (JSON texts) of a result with a list. */
export function entriesOf(page: string, { member }: ListOf): string[] {
  const spans = elements(page, locate(page, [member])?.start);
  return Array.from(spans, ({ start, end }) => page.slice(start, end));
}

/** Whether a result (JSON text) says that there is a page behind it. */
export function hasMore(result: string): boolean {
  return nextCursor(result) !== undefined;
}

/** The cursor that a result (JSON text) names for the page behind it. */
function nextCursor(result: string): string | undefined {
  const span = locate(result, ['nextCursor']);
  if (span === undefined || result.charAt(span.start) !== '"') return undefined;
  const cursor: unknown = JSON.parse(result.slice(span.start, span.end));
  return isCursor(cursor) ? cursor : undefined;
}

/** Some servers say with an empty one that nothing follows. */
const isCursor = (value: unknown): value is string => typeof value === 'string' && value !== '';

function failed(of: ListOf, redact: Redact, why: string, cause?: unknown): AdapterError {
  const detail = `The ${of.words} of the upstream server could not be listed: ${redact(why)}.`;
  return new AdapterError('upstream_failed', detail, { cause });
}
