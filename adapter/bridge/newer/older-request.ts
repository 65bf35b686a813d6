import { locate, members, splice } from '../../exchange/scanning/json-scan.ts';
import { isObject, objectOf } from '../wire/json-object.ts';
import { isProtocolMeta } from '../wire/newer-request.ts';
import { clientCapabilities } from '../wire/same-capabilities.ts';

/** What a request of a client without sessions says of who makes it (MCP 2026-07-28, per-request metadata). */
export interface RequestIdentity {
  /** JSON text of the parameters of `initialize` that say the same. */
  readonly initializeParams: string;
  /** JSON text of the parameters of `logging/setLevel`; null: it wants no log messages. */
  readonly logLevel: string | null;
}

const PREFIX = 'io.modelcontextprotocol/';
const LATEST = '2025-11-25';
/** What means something else in an older revision, or nothing. */
const NOT_NEWER = new Set(['inputResponses', 'requestState', 'task']);

export function requestIdentity(params: Readonly<Record<string, unknown>>): RequestIdentity {
  const meta = objectOf(params['_meta']);
  const info = meta[`${PREFIX}clientInfo`];
  const capabilities = clientCapabilities(objectOf(meta[`${PREFIX}clientCapabilities`]));
  const level = meta[`${PREFIX}logLevel`];
  return {
    initializeParams: JSON.stringify({
      protocolVersion: LATEST,
      capabilities,
      clientInfo: isObject(info) ? info : { name: 'unknown', version: '0' },
    }),
    logLevel: typeof level === 'string' ? JSON.stringify({ level }) : null,
  };
}

/** How a session knows a request: two calls of different clients may have the same id, and the same token. JSON texts. */
export interface OwnNames {
  readonly idText: string;
  /** In place of the client's, where that has one. */
  readonly progressToken: string;
}

/**
 * A request of a client without sessions (JSON text) as one in a session: an older server takes what names the newer revision
 * for a request of that.
 */
export function olderRequest(text: string, { idText, progressToken }: OwnNames): string {
  const params = locate(text, ['params']);
  const id = locate(text, ['id']);
  const edits = id === undefined ? [] : [{ ...id, with: idText }];
  if (params !== undefined) {
    const kept: string[] = [];
    for (const { key, keyStart, start, end } of members(text, params.start)) {
      if (NOT_NEWER.has(key)) continue;
      if (key !== '_meta') kept.push(text.slice(keyStart, end));
      else kept.push(...olderMeta(text, start, progressToken));
    }
    edits.push({ ...params, with: `{${kept.join(',')}}` });
  }
  return splice(
    text,
    edits.toSorted((one, other) => one.start - other.start),
  );
}

/** The member `_meta`; nothing where all of it was the protocol's own. */
function olderMeta(text: string, at: number, progressToken: string): string[] {
  const own: string[] = [];
  for (const { key, keyStart, end } of members(text, at)) {
    if (key === 'progressToken') own.push(`"progressToken":${progressToken}`);
    else if (!isProtocolMeta(key)) own.push(text.slice(keyStart, end));
  }
  return own.length === 0 ? [] : [`"_meta":{${own.join(',')}}`];
}
