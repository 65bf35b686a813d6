import { LRUCache } from 'lru-cache';

import { members, type Span, splice } from '../../exchange/scanning/json-scan.ts';
import { isObject, objectOf } from '../../../lib/json/json-object.ts';
import { type Asks, identityOf, isProtocolMeta } from '../wire/newer-request.ts';
import { clientCapabilities } from '../wire/same-capabilities.ts';
import { META } from '../../exchange/protocol-meta.ts';

/** What a request of a client without sessions says of who makes it (MCP 2026-07-28, per-request metadata). */
export interface RequestIdentity {
  /** JSON text of the parameters of `initialize` that say the same. */
  readonly initializeParams: string;
  /** JSON text of the capabilities in it. */
  readonly capabilities: string;
  /** What can be asked of the client. */
  readonly asks: Asks;
  /** JSON text of the parameters of `logging/setLevel`; null: it wants no log messages. */
  readonly logLevel: string | null;
}

const LATEST = '2025-11-25';
/** As much as some thousand clients say of themselves. */
const MAX_KEPT_CHARS = 1_000_000;
/** What means something else in an older revision, or nothing. */
const NOT_NEWER = new Set(['inputResponses', 'requestState', 'task']);

/** Clients say the same of themselves with each request: what follows from it is kept. */
export class RequestIdentities {
  readonly #kept = new LRUCache<string, RequestIdentity>({
    maxSize: MAX_KEPT_CHARS,
    sizeCalculation: (_, key) => key.length,
  });

  of(params: Readonly<Record<string, unknown>>): RequestIdentity {
    const meta = objectOf(params['_meta']);
    const said = [meta[META.clientInfo], meta[META.clientCapabilities], meta[META.logLevel]] as const;
    const key = JSON.stringify(said);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const identity = requestIdentity(...said);
    this.#kept.set(key, identity);
    return identity;
  }
}

function requestIdentity(info: unknown, offered: unknown, level: unknown): RequestIdentity {
  const capabilities = clientCapabilities(objectOf(offered));
  const clientInfo = isObject(info) ? info : { name: 'unknown', version: '0' };
  const initializeParams = JSON.stringify({ protocolVersion: LATEST, capabilities, clientInfo });
  return {
    initializeParams,
    capabilities: JSON.stringify(capabilities),
    asks: identityOf(initializeParams).asks,
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
  const edits: (Span & { with: string })[] = [];
  for (const { key, start, end } of members(text)) {
    if (key === 'id') edits.push({ start, end, with: idText });
    else if (key === 'params') edits.push({ start, end, with: olderParams(text, start, progressToken) });
  }
  return splice(text, edits);
}

function olderParams(text: string, at: number, progressToken: string): string {
  const kept: string[] = [];
  for (const { key, keyStart, start, end } of members(text, at)) {
    if (NOT_NEWER.has(key)) continue;
    if (key !== '_meta') kept.push(text.slice(keyStart, end));
    else kept.push(...olderMeta(text, start, progressToken));
  }
  return `{${kept.join(',')}}`;
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
