import { AdapterError, type ErrorCode } from '../errors.ts';
import type { SessionFiles } from './session-files.ts';
import { type Lease, newSessionId, type SessionRegistry } from './session-registry.ts';
import { workspaceRecord } from './workspace-record.ts';
import type { SessionRecord, StateStore } from '../state/state-store.ts';

export interface WorkspacesOptions {
  readonly sessions: SessionRegistry;
  readonly sessionFiles: Pick<SessionFiles, 'purge'>;
  readonly store: Pick<StateStore, 'files' | 'now'>;
  /** Why no session can be opened here now; undefined when one can. */
  readonly refusesSessions: () => ErrorCode | undefined;
}

/** A workspace that is in use. */
export interface OpenWorkspace {
  readonly record: SessionRecord;
  /** The use is over. A workspace that nobody was told of goes when it has no files. */
  readonly leave: (isKept: boolean) => Promise<void>;
}

/** Opens the sessions of clients that have none (see workspace.ts). */
export class Workspaces {
  readonly #options: WorkspacesOptions;

  constructor(options: WorkspacesOptions) {
    this.#options = options;
  }

  /** Fails with AdapterError: as for any session, there may be too many. */
  async open(serverId: string, principal: string): Promise<OpenWorkspace> {
    const { sessions, store, refusesSessions } = this.#options;
    const refusal = refusesSessions();
    if (refusal !== undefined) throw new AdapterError(refusal);
    const record = workspaceRecord(serverId, newSessionId(), principal, store.now());
    await sessions.reserve(record);
    const lease = await this.#enter(record);
    return {
      record,
      leave: async (isKept) => {
        if (!isKept) await this.#removeIfEmpty(record);
        if (lease !== undefined) await sessions.leave(lease);
      },
    };
  }

  /** As any session, a workspace does not expire while a call runs in it. */
  async #enter(record: SessionRecord): Promise<Lease | undefined> {
    const { sessions } = this.#options;
    try {
      await sessions.open(record);
      return (await sessions.enter(record.serverId, record.sessionId, record.principal)).lease;
    } catch (error) {
      await sessions.release(record);
      await this.#removeIfEmpty(record);
      throw error;
    }
  }

  /** Never fails: a workspace without files goes away by itself some time later. */
  async #removeIfEmpty(record: SessionRecord): Promise<void> {
    const { sessions, sessionFiles, store } = this.#options;
    try {
      const files = await store.files.list(record, 'artifact', { now: store.now(), ttlMs: null });
      if (files.length > 0) return;
      await sessions.remove(record.serverId, record.sessionId, record.principal);
      await sessionFiles.purge(record);
    } catch {
      // See above.
    }
  }
}
