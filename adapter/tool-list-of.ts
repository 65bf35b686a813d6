import { randomUUID } from 'node:crypto';

import { elements, locate } from './exchange/scanning/json-scan.ts';
import { SESSIONLESS_REVISION } from './exchange/message.ts';
import type { Mount } from './mount/mount.ts';
import { workspaceRecord } from './sessions/workspace-record.ts';
import { NoToolsError, wholeList } from './tools/list-tools.ts';
import { handshake } from './upstream/handshake.ts';

const TIMEOUT_MS = 20_000;
/** The answer is there already, so this may fail. */
const END_TIMEOUT_MS = 1_000;
const REVISION = '2025-11-25';

/** A `tools/list` result without tools. */
const NONE = '{"tools":[]}';

/** What an upstream says of itself. */
export interface ToldTools {
  /** In its words. */
  readonly revision: string;
  /** All its tools as one `tools/list` result (JSON text), in its order. */
  readonly list: string;
}

/** The time was over. */
export class NotInTimeError extends Error {
  override readonly name = 'NotInTimeError';
}

/** The list alone, of an upstream that may take 20 seconds. */
export const toolListOf = async (mount: Mount): Promise<string> => (await toldTools(mount, TIMEOUT_MS)).list;

/**
 * Asks an upstream for its tools, without what clients send themselves, in a session that is ended afterwards; for that it
 * waits a second at most. Rejects with what the upstream did instead, or a NotInTimeError when all of it takes longer than
 * `timeoutMs`; what still runs then ends with `mount.upstream`, which whoever asks closes.
 */
export async function toldTools(mount: Mount, timeoutMs: number): Promise<ToldTools> {
  const over = new AbortController();
  const timer = setTimeout(
    () => over.abort(new NotInTimeError(`it did not list its tools within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  const { promise: late, reject } = Promise.withResolvers<never>();
  over.signal.addEventListener('abort', () => reject(over.signal.reason as Error), { once: true });
  try {
    return await Promise.race([asked(mount, timeoutMs, over.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function asked(mount: Mount, timeoutMs: number, signal: AbortSignal): Promise<ToldTools> {
  const { serverId, upstream, headers, redact, inventory, revisions } = mount;
  const base = headers.base('POST', undefined);
  const request = { serverId, upstream, redact, inventory, clientKey: '', base };
  const list = async (inSession: Parameters<typeof wholeList>[0]['inSession']): Promise<string> => {
    try {
      return await wholeList({ ...request, inSession }, signal);
    } catch (error) {
      if (error instanceof NoToolsError) return NONE;
      throw error;
    }
  };
  if ((await revisions.of('', base)) === 'modern') {
    return { revision: SESSIONLESS_REVISION, list: await list(undefined) };
  }
  const params = { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: 'mcp-adapter', version: '1' } };
  const record = {
    ...workspaceRecord(serverId, randomUUID().replaceAll('-', ''), '', Date.now()),
    protocolVersion: REVISION,
    initializeParams: JSON.stringify(params),
  };
  const opened = await handshake(upstream, record, base, record, timeoutMs);
  const session = { ...record, ...opened };
  const sent = [...base, 'mcp-protocol-version', opened.protocolVersion];
  try {
    return { revision: opened.protocolVersion, list: await list({ session, headers: sent }) };
  } finally {
    await upstream.endSession(session, sent, END_TIMEOUT_MS).catch(() => undefined);
  }
}

/** The names in a `tools/list` result (JSON text), in its order; '' for what has none. */
export function toolNamesIn(list: string): string[] {
  return Array.from(elements(list, locate(list, ['tools'])?.start), ({ start, end }) => {
    const tool: unknown = JSON.parse(list.slice(start, end));
    const name = typeof tool === 'object' && tool !== null ? (tool as { readonly name?: unknown }).name : undefined;
    return typeof name === 'string' ? name : '';
  });
}
