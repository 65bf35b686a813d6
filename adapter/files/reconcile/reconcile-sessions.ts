import type { FileRecord } from '../../state/file-records.ts';
import type { SessionRecord, StateStore } from '../../state/state-store.ts';
import type { FoundFile } from './reconcile-found.ts';

export interface OwnerOptions {
  readonly serverIds: readonly string[];
  /** `reconciliation.legacy_server_id`. */
  readonly legacyServerId: string | null;
  /** Who may use the sessions that are opened for files; '' when authentication is off. */
  readonly principal: string;
  readonly version: string;
}

export type Adopted =
  | { readonly state: 'adopted'; readonly serverId: string; readonly opened: boolean; readonly count: number }
  /** Nobody knows whose session it is. */
  | { readonly state: 'unresolved' }
  /** It was invalidated and must not be used any more; its files go with it. */
  | { readonly state: 'ended' };

type SessionStore = Pick<StateStore, 'find' | 'open'> & {
  readonly files: Pick<StateStore['files'], 'adopt' | 'ownerOf'>;
};

/** Sessions begin with this revision, the one that the original spoke; the first request negotiates nothing. */
const PROTOCOL_VERSION = '2025-06-18';
const DAY_MS = 86_400_000;

/**
 * Gives files of one session their records: in the session with this id if there is one, else in one that is opened
 * for them, on the server that old files belong to or on the only one. The upstream's part of it is made on first use.
 */
export async function adoptFiles(
  store: SessionStore,
  files: readonly FoundFile[],
  options: OwnerOptions,
  now: number,
): Promise<Adopted> {
  const sessionId = files[0]?.sessionId ?? '';
  const owner = await store.files.ownerOf(sessionId);
  const serverId = owner ?? serverOf(files[0], options);
  // A session of one server has nothing in the folder of another; what says so was put there by somebody else.
  if (serverId === undefined || (files[0]?.serverId ?? serverId) !== serverId) return { state: 'unresolved' };

  const records = files.map((file): FileRecord => ({ ...file, serverId }));
  let count = await store.files.adopt(records);
  if (count > 0 || owner !== undefined) return { state: 'adopted', serverId, opened: false, count };
  // `open` would replace a session that has the id on several servers, or that was invalidated.
  const key = { serverId, sessionId };
  const found = await store.find(key, { principal: options.principal, now });
  if (found.state === 'invalidated') return { state: 'ended' };
  if (found.state !== 'unknown') return { state: 'adopted', serverId, opened: false, count };
  await store.open(sessionFor(records, key, options, now));
  count = await store.files.adopt(records);
  return { state: 'adopted', serverId, opened: true, count };
}

/** The one whose folder it is, else the one that old files belong to, else the only one. */
function serverOf(file: FoundFile | undefined, { serverIds, legacyServerId }: OwnerOptions): string | undefined {
  if (file?.serverId !== undefined) return serverIds.includes(file.serverId) ? file.serverId : undefined;
  const [onlyServer, ...otherServers] = serverIds;
  return legacyServerId ?? (otherServers.length === 0 ? onlyServer : undefined);
}

function sessionFor(
  files: readonly FileRecord[],
  key: { serverId: string; sessionId: string },
  { principal, version }: OwnerOptions,
  now: number,
): SessionRecord {
  const initializeParams = JSON.stringify({
    protocolVersion: PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: 'remote_mcp_adapter', version },
  });
  const lastActiveAt = Math.max(...files.map((file) => file.lastUsedAt));
  return {
    ...key,
    principal,
    upstreamSessionId: '',
    generation: 0,
    protocolVersion: PROTOCOL_VERSION,
    initializeParams,
    logLevel: null,
    subscriptions: [],
    listsGeneration: 0,
    baseline: null,
    createdAt: Math.min(...files.map((file) => file.createdAt)),
    // Redis would take a session for forgotten that nobody has touched for a month.
    lastActiveAt: Math.max(lastActiveAt, now - DAY_MS),
  };
}
