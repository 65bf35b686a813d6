import { randomUUID } from 'node:crypto';

import type { AdapterConfig } from '../crds/config/adapter-file/adapter.ts';
import { effectiveServer } from '../crds/config/adapter-file/effective-server.ts';
import { connectRulesFrom } from '../lib/net/guarded-connect.ts';
import type { Redaction } from '../lib/redaction/redact.ts';
import type { Environment } from '../lib/references/reference.ts';
import { AccessRules } from './access/access-rules.ts';
import { asTable, explained } from './access/explained.ts';
import { accountLimits, ByteAccount } from './byte-account.ts';
import { Caches } from './caches.ts';
import { withEscapes } from './catalog/visible-text.ts';
import { createMounts } from './create-mounts.ts';
import { elements, locate } from './exchange/scanning/json-scan.ts';
import { ANYBODY, type Identity } from './identity/identity.ts';
import type { Mount } from './mount/mount.ts';
import type { AskedCaller } from './options.ts';
import { workspaceRecord } from './sessions/workspace-record.ts';
import { MemoryBus } from './state/memory/memory-bus.ts';
import { MemoryStore } from './state/memory/memory-store.ts';
import type { Logger } from './telemetry/logs/logger.ts';
import { noTelemetry } from './telemetry/telemetry.ts';
import { ToolNames } from './telemetry/tool-names.ts';
import { NoToolsError, wholeList } from './tools/list-tools.ts';
import { handshake } from './upstream/handshake.ts';

const TIMEOUT_MS = 20_000;
const REVISION = '2025-11-25';

export interface ExplainAccessOptions {
  readonly config: AdapterConfig;
  readonly caller: AskedCaller;
  readonly redaction: Redaction;
  readonly logger: Logger;
  readonly env: Environment;
  readonly version: string;
}

export interface AccessExplained {
  /** For people: one table for each server. */
  readonly text: string;
  /** Servers that did not say which tools they have. */
  readonly problems: readonly string[];
}

/** What a caller may do at each server, and the rule that decided: upstreams are asked for their tools. */
export async function explainAccess({ caller, config, ...options }: ExplainAccessOptions): Promise<AccessExplained> {
  const identity = identityOf(caller);
  const account = new ByteAccount(
    accountLimits({ memory: Infinity, heap: 256 << 20, largest: 64 << 20, bodies: null }, 1),
  );
  const onListenerError = (error: unknown): void => options.logger.error({ err: error }, 'unexpected failure');
  const mounts = createMounts(config, {
    ...options,
    store: new MemoryStore(),
    bus: new MemoryBus({ onListenerError, account }),
    telemetry: noTelemetry,
    toolNames: new ToolNames([]),
    listTtlMs: 0,
    caches: new Caches(),
    redact: options.redaction.text,
    rules: connectRulesFrom(options.env),
    additions: () => ({ steps: new Map(), transforms: new Map(), own: [], resources: undefined }),
  });
  const servers = config.servers.map((server) => effectiveServer(config, server));
  const parts = await Promise.all(
    mounts.map(async (mount, i) => {
      const access = servers[i]?.access ?? null;
      const listed = await toolsOf(mount).catch((error: unknown) => (error as Error).message);
      await mount.upstream.close();
      const rows = explained({
        access: access === null ? undefined : new AccessRules(access).of(identity),
        tools: typeof listed === 'string' ? [] : listed,
        isDisabled: mount.disabled.matches,
      });
      const shown = rows.map((row) => ({ ...row, what: withEscapes(row.what) }));
      const whose = config.servers[i]?.access === null ? 'core.access' : 'access of its own';
      const title = `${mount.serverId} (${access === null ? 'no access rules' : whose}), ${caller.principal}`;
      const table = `${title}:\n${asTable(shown)}`;
      return {
        table,
        problem: typeof listed === 'string' ? [`${mount.serverId}: its tools are not known: ${listed}`] : [],
      };
    }),
  );
  return { text: parts.map(({ table }) => table).join('\n'), problems: parts.flatMap(({ problem }) => problem) };
}

function identityOf({ principal, claims, scopes }: AskedCaller): Identity {
  const hasScopes = !principal.startsWith('token:');
  return { ...ANYBODY, name: principal, scopes: new Set(scopes), hasScopes, claims };
}

/** The names of an upstream's tools, in its order. Asked without what clients send themselves. */
async function toolsOf(mount: Mount): Promise<string[]> {
  const { serverId, upstream, headers, redact, inventory, revisions } = mount;
  const base = headers.base('POST', undefined);
  const asked = { serverId, upstream, redact, inventory, clientKey: '', base };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const list = async (inSession: Parameters<typeof wholeList>[0]['inSession']): Promise<string[]> => {
    try {
      return namesIn(await wholeList({ ...asked, inSession }, signal));
    } catch (error) {
      if (error instanceof NoToolsError) return [];
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

function namesIn(result: string): string[] {
  return Array.from(elements(result, locate(result, ['tools'])?.start), ({ start, end }) => {
    const { name } = JSON.parse(result.slice(start, end)) as { readonly name?: unknown };
    return typeof name === 'string' ? name : '';
  });
}
