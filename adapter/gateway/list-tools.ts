import { AdapterError } from '../errors.ts';
import { elements, locate } from '../exchange/json-scan.ts';
import { joinedPages } from '../catalog/tool-view.ts';
import { MODERN_META, modernHeaders } from '../upstream/era.ts';
import { ownRequest } from '../upstream/own-request.ts';
import type { UpstreamSession } from '../upstream/upstream.ts';
import type { SessionRecord } from '../state/state-store.ts';
import type { Mount } from './mount.ts';
import type { Turn } from './turn.ts';
import { isWorkspace } from './workspaces.ts';

const TIMEOUT_MS = 10_000;
const MAX_PAGES = 64;
const MAX_CHARS = 64 << 20;

/** Whose list of tools is asked for. */
export interface ListingRequest {
  readonly mount: Mount;
  /** Headers of an own request for this client: what it authenticates with. */
  readonly base: readonly string[];
  /** The session to ask in, with the headers of a request in it; undefined in the sessionless revision. */
  readonly inSession: { readonly session: UpstreamSession; readonly headers: readonly string[] } | undefined;
}

/** The request for the tools that the client of a turn would see. */
export function listingFor({ mount, incoming }: Turn, record: SessionRecord): ListingRequest {
  const inSession = isWorkspace(record)
    ? undefined
    : { session: record, headers: mount.headers.forward('POST', incoming.headers, false) };
  return { mount, base: mount.headers.base('POST', incoming.headers), inSession };
}

/**
 * The upstream's tools, page by page, asked for by requests of the adapter's own: JSON texts of tools/list results.
 * Throws `upstream_failed` for anything else: what an upstream cannot say just now is not what it does not have.
 * Throws `upstream_session_terminated` where the upstream has lost the session.
 */
export async function* listTools(request: ListingRequest, cursor?: string): AsyncGenerator<string, void> {
  const { mount, base, inSession } = request;
  const meta = inSession === undefined ? { _meta: MODERN_META } : {};
  let next = cursor;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { status, text, message } = await ownRequest(mount.upstream, {
      session: inSession?.session,
      headers: inSession?.headers ?? [...base, ...modernHeaders('tools/list')],
      message: { method: 'tools/list', params: JSON.stringify({ ...meta, cursor: next }) },
      timeoutMs: TIMEOUT_MS,
    }).catch((error: unknown) => {
      throw failed(mount, error instanceof Error ? error.message : String(error), error);
    });
    const result = text === undefined ? undefined : locate(text, ['result']);
    if (status === 404 && inSession !== undefined) throw new AdapterError('upstream_session_terminated');
    if (text === undefined || result === undefined || !Array.isArray(message?.result?.['tools'])) {
      throw failed(mount, message?.error?.message ?? `it answered with HTTP ${status}`);
    }
    yield text.slice(result.start, result.end);
    const { nextCursor } = message.result;
    if (!isCursor(nextCursor)) return;
    next = nextCursor;
  }
  throw failed(mount, `it has more than ${MAX_PAGES} pages`);
}

/** The whole list as one page. `first`: its first page, where it is there already. */
export async function wholeList(request: ListingRequest, first?: string): Promise<string> {
  let page = first;
  const further: string[] = [];
  const cursor = first === undefined ? undefined : nextCursor(first);
  if (page !== undefined && cursor === undefined) return page;
  let chars = page?.length ?? 0;
  for await (const result of listTools(request, cursor)) {
    chars += result.length;
    if (chars > MAX_CHARS) throw failed(request.mount, 'it is too long');
    if (page === undefined) page = result;
    else {
      const tools = locate(result, ['tools']);
      for (const { start, end } of elements(result, tools?.start)) further.push(result.slice(start, end));
    }
  }
  return joinedPages(page ?? '', further);
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

function failed(mount: Mount, why: string, cause?: unknown): AdapterError {
  const detail = `The tools of the upstream server could not be listed: ${mount.redact(why)}.`;
  return new AdapterError('upstream_failed', detail, { cause });
}
