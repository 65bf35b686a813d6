import { locate, members, splice } from '../exchange/scanning/json-scan.ts';
import { isProtocolMeta } from './newer-request.ts';

/** What a request of a client without sessions says of who makes it (MCP 2026-07-28, per-request metadata). */
export interface RequestIdentity {
  /** JSON text of the parameters of `initialize` that say the same. */
  readonly initializeParams: string;
  /** JSON text of the parameters of `logging/setLevel`; null: it wants no log messages. */
  readonly logLevel: string | null;
}

const PREFIX = 'io.modelcontextprotocol/';
const LATEST = '2025-11-25';
const RETRY_MEMBERS = new Set(['inputResponses', 'requestState']);
/** Calls that become tasks are polled for in another way in each revision. */
const TASKS = `${PREFIX}tasks`;

export function requestIdentity(params: Readonly<Record<string, unknown>>): RequestIdentity {
  const meta = objectOf(params['_meta']);
  const info = meta[`${PREFIX}clientInfo`];
  const { extensions, ...capabilities } = objectOf(meta[`${PREFIX}clientCapabilities`]);
  const usable = Object.entries(objectOf(extensions)).filter(([name]) => name !== TASKS);
  const level = meta[`${PREFIX}logLevel`];
  return {
    initializeParams: JSON.stringify({
      protocolVersion: LATEST,
      capabilities: { ...capabilities, ...(usable.length > 0 && { extensions: Object.fromEntries(usable) }) },
      clientInfo: isObject(info) ? info : { name: 'unknown', version: '0' },
    }),
    logLevel: typeof level === 'string' ? JSON.stringify({ level }) : null,
  };
}

/**
 * A request of a client without sessions (JSON text) as one in a session: an older server takes what names the newer revision
 * for a request of that.
 */
export function olderRequest(text: string): string {
  const params = locate(text, ['params']);
  if (params === undefined) return text;
  const kept: string[] = [];
  for (const { key, keyStart, start, end } of members(text, params.start)) {
    if (RETRY_MEMBERS.has(key)) continue;
    if (key !== '_meta') {
      kept.push(text.slice(keyStart, end));
      continue;
    }
    const own = Array.from(members(text, start)).filter((member) => !isProtocolMeta(member.key));
    if (own.length > 0)
      kept.push(`"_meta":{${own.map((member) => text.slice(member.keyStart, member.end)).join(',')}}`);
  }
  return splice(text, [{ ...params, with: `{${kept.join(',')}}` }]);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
