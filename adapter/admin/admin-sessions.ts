import { Refusal } from '../../lib/http/answer.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { SessionRecord, StateStore } from '../state/state-store.ts';
import { sessionEnd } from '../sessions/session-end.ts';
import type { SessionFiles } from '../sessions/session-files.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { isHandle, sessionHandle } from './handles.ts';
import { limitOf, offsetOf } from './paging.ts';

export interface AdminSessionsDeps {
  readonly store: Pick<StateStore, 'active' | 'now'>;
  readonly sessionFiles: Pick<SessionFiles, 'invalidate'>;
  readonly bus: Pick<MessageBus, 'publish'>;
  readonly telemetry: Pick<Telemetry, 'session'>;
  /** How long the id of a session that was ended is refused with the reason, in milliseconds. */
  readonly tombstoneTtlMs: number;
  /** Ends the upstream's session, best effort. */
  readonly endUpstream: (record: SessionRecord) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

export interface ListedSession {
  readonly session: string;
  readonly server_id: string;
  /** `session`, or `workspace` where a client without sessions has files. */
  readonly kind: 'session' | 'workspace';
  readonly protocol_version: string;
  /** Keyed hash of who opened it; '' without authentication. */
  readonly principal: string;
  readonly client: string;
  readonly created_at: string;
  readonly last_active_at: string;
}

const PAGE = 500;
const PRINCIPAL_CHARS = 12;
const CLIENT_CHARS = 80;
const REASON = 'ended by an administrator';

/** The sessions of all replicas, for who operates the adapter. */
export class AdminSessions {
  readonly #deps: AdminSessionsDeps;

  constructor(deps: AdminSessionsDeps) {
    this.#deps = deps;
  }

  /** `?offset=` and `?limit=`; `next_offset` is null on the last page. */
  async page(query: URLSearchParams): Promise<{ sessions: ListedSession[]; next_offset: number | null }> {
    const [offset, limit] = [offsetOf(query), limitOf(query)];
    const found = await this.#deps.store.active({ offset, limit: limit + 1 });
    return {
      sessions: found.slice(0, limit).map(listed),
      next_offset: found.length > limit ? offset + limit : null,
    };
  }

  /** Ends a session at once, with its files, on all replicas. False: none is called so. */
  async end(handle: string): Promise<boolean> {
    const { store, sessionFiles, bus, telemetry, tombstoneTtlMs, endUpstream, onError } = this.#deps;
    const record = await this.#find(handle);
    if (record === undefined) return false;
    const now = store.now();
    if (!(await sessionFiles.invalidate(record, REASON, now + tombstoneTtlMs))) return false;
    telemetry.session(sessionEnd(record, 'ended', now));
    const { serverId, sessionId } = record;
    await bus.publish({ type: 'session-ended', serverId, sessionId });
    // The adapter's has ended all the same, and the upstream expires its own.
    void endUpstream(record).catch(onError);
    return true;
  }

  async #find(handle: string): Promise<SessionRecord | undefined> {
    if (!isHandle(handle)) throw new Refusal(400, 'A session is named by 16 hexadecimal digits, as in the list');
    for (let offset = 0; ; offset += PAGE) {
      const page = await this.#deps.store.active({ offset, limit: PAGE });
      const found = page.find((record) => sessionHandle(record) === handle);
      if (found !== undefined || page.length < PAGE) return found;
    }
  }
}

function listed(record: SessionRecord): ListedSession {
  return {
    session: sessionHandle(record),
    server_id: record.serverId,
    kind: isWorkspace(record) ? 'workspace' : 'session',
    protocol_version: record.protocolVersion,
    principal: record.principal.slice(0, PRINCIPAL_CHARS),
    client: clientOf(record.initializeParams),
    created_at: new Date(record.createdAt).toISOString(),
    last_active_at: new Date(record.lastActiveAt).toISOString(),
  };
}

/** What the client calls itself: name and version. It may have written anything. */
function clientOf(initializeParams: string): string {
  try {
    const { clientInfo } = JSON.parse(initializeParams) as { readonly clientInfo?: unknown };
    const { name, version } = (clientInfo ?? {}) as { readonly name?: unknown; readonly version?: unknown };
    const words = [name, version].filter((word) => typeof word === 'string');
    return words
      .join(' ')
      .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
      .slice(0, CLIENT_CHARS);
  } catch {
    return '';
  }
}
