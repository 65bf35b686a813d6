import { randomUUID } from 'node:crypto';

import type { Mount } from './mount/mount.ts';
import { workspaceRecord } from './sessions/workspace-record.ts';
import { NoToolsError, wholeList } from './tools/list-tools.ts';
import { handshake } from './upstream/handshake.ts';

const TIMEOUT_MS = 20_000;
const REVISION = '2025-11-25';

/** A `tools/list` result without tools. */
const NONE = '{"tools":[]}';

/**
 * All tools of an upstream as one `tools/list` result (JSON text), in its order. Asked without what clients send themselves, in
 * a session that is ended afterwards. Rejects with what the upstream did instead, or when it takes longer than 20 seconds.
 */
export async function toolListOf(mount: Mount): Promise<string> {
  const { serverId, upstream, headers, redact, inventory, revisions } = mount;
  const base = headers.base('POST', undefined);
  const asked = { serverId, upstream, redact, inventory, clientKey: '', base };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const list = async (inSession: Parameters<typeof wholeList>[0]['inSession']): Promise<string> => {
    try {
      return await wholeList({ ...asked, inSession }, signal);
    } catch (error) {
      if (error instanceof NoToolsError) return NONE;
      throw error;
    }
  };
  if ((await revisions.of('', base)) === 'modern') return list(undefined);
  const params = { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: 'mcp-adapter', version: '1' } };
  const record = {
    ...workspaceRecord(serverId, randomUUID().replaceAll('-', ''), '', Date.now()),
    protocolVersion: REVISION,
    initializeParams: JSON.stringify(params),
  };
  const opened = await handshake(upstream, record, base, record, TIMEOUT_MS);
  const session = { ...record, ...opened };
  const sent = [...base, 'mcp-protocol-version', opened.protocolVersion];
  try {
    return await list({ session, headers: sent });
  } finally {
    await upstream.endSession(session, sent, TIMEOUT_MS).catch(() => undefined);
  }
}
