import { randomUUID } from 'node:crypto';

import { AdapterError } from '../errors.ts';
import { SESSIONLESS_REVISION } from '../exchange/message.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import type { Mount } from '../mount/mount.ts';
import { workspaceRecord } from '../sessions/workspace-record.ts';
import type { ListOf } from '../tools/list-of.ts';
import { NoToolsError, wholeList } from '../tools/list-tools.ts';
import { handshake } from '../upstream/handshake.ts';
import { ownRequest } from '../upstream/own-request.ts';
import { SESSIONLESS_META, sessionlessHeaders } from '../upstream/revision-probe.ts';

/** The answer is there already, so this may fail. */
const END_TIMEOUT_MS = 1_000;
const REVISION = '2025-11-25';

/** A conversation of the adapter's own with an upstream, in the newest revision that both speak. */
export interface Conversation {
  /** In the upstream's words. */
  readonly revision: string;
  /** What it says of itself: the result of `server/discover` or `initialize` (JSON text). */
  readonly greeting: () => Promise<string>;
  /**
   * All entries as one result of the list's method (JSON text), in their order; none where it knows no such list. Throws as
   * `wholeList` does.
   */
  readonly list: (of: ListOf) => Promise<string>;
}

/** The time was over. */
export class NotInTimeError extends Error {
  override readonly name = 'NotInTimeError';
}

/**
 * Talks with an upstream, without what clients send themselves, in a session that is ended afterwards; for that it waits a
 * second at most. Rejects with what the upstream did instead, or a NotInTimeError when all of it takes longer than
 * `timeoutMs`; what still runs then ends with `mount.upstream`, which whoever talks closes.
 * @param wanted what it is to do, for the error: `list its tools`
 */
export async function conversing<T>(
  mount: Mount,
  { timeoutMs, wanted }: { readonly timeoutMs: number; readonly wanted: string },
  talk: (conversation: Conversation) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const timer = setTimeout(
    () => over.abort(new NotInTimeError(`it did not ${wanted} within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  const { promise: late, reject } = Promise.withResolvers<never>();
  over.signal.addEventListener('abort', () => reject(over.signal.reason as Error), { once: true });
  try {
    return await Promise.race([opened(mount, timeoutMs, over.signal, talk), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function opened<T>(
  mount: Mount,
  timeoutMs: number,
  signal: AbortSignal,
  talk: (conversation: Conversation) => Promise<T>,
): Promise<T> {
  const { serverId, upstream, headers, redact, inventory, revisions } = mount;
  const base = headers.base('POST', undefined);
  const request = { serverId, upstream, redact, inventory, clientKey: '', base };
  const list = async (inSession: Parameters<typeof wholeList>[0]['inSession'], of: ListOf): Promise<string> => {
    try {
      return await wholeList({ ...request, inSession }, signal, undefined, of);
    } catch (error) {
      if (error instanceof NoToolsError) return `{${JSON.stringify(of.member)}:[]}`;
      throw error;
    }
  };
  if ((await revisions.of('', base)) === 'modern') {
    return await talk({
      revision: SESSIONLESS_REVISION,
      greeting: () => discovered(mount, base, timeoutMs, signal),
      list: (of) => list(undefined, of),
    });
  }
  const params = { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: 'mcp-adapter', version: '1' } };
  const record = {
    ...workspaceRecord(serverId, randomUUID().replaceAll('-', ''), '', Date.now()),
    protocolVersion: REVISION,
    initializeParams: JSON.stringify(params),
  };
  let greeting = '';
  const started = await handshake(upstream, record, base, record, timeoutMs, (answer) => (greeting = answer));
  const session = { ...record, ...started };
  const sent = [...base, 'mcp-protocol-version', started.protocolVersion];
  try {
    return await talk({
      revision: started.protocolVersion,
      greeting: async () => resultIn(greeting) ?? '{}',
      list: (of) => list({ session, headers: sent }, of),
    });
  } finally {
    await upstream.endSession(session, sent, END_TIMEOUT_MS).catch(() => undefined);
  }
}

async function discovered(
  { upstream, redact }: Mount,
  base: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string> {
  const { status, text, message } = await ownRequest(upstream, {
    session: undefined,
    headers: [...base, ...sessionlessHeaders('server/discover')],
    message: { method: 'server/discover', params: JSON.stringify({ _meta: SESSIONLESS_META }) },
    timeoutMs,
    signal,
  });
  const result = text === undefined ? undefined : resultIn(text);
  if (result !== undefined) return result;
  const why = message?.error?.message ?? `it answered with HTTP ${status}`;
  throw new AdapterError('upstream_failed', `The upstream server did not say what it is: ${redact(why)}.`);
}

/** The result of a response, where it is an object; both are JSON texts. */
function resultIn(answer: string): string | undefined {
  const span = locate(answer, ['result']);
  return span !== undefined && answer.charAt(span.start) === '{' ? answer.slice(span.start, span.end) : undefined;
}
