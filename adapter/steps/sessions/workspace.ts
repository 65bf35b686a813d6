import { AdapterError, type ErrorCode } from '../../errors.ts';
import { toolName } from '../../exchange/message.ts';
import type { ToolStep } from '../../tools/tool-step.ts';
import { workspaceRecord } from '../../sessions/workspace-record.ts';
import type { Ending } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import { PassedReply, type Reply } from '../../path/reply.ts';
import type { ReplyMessage } from '../../path/reply-message.ts';
import type { Send, Step } from '../../path/step.ts';
import type { SessionFiles } from '../../sessions/session-files.ts';
import { type Lease, newSessionId, type SessionRegistry } from '../../sessions/session-registry.ts';
import type { SessionRecord, StateStore } from '../../state/state-store.ts';

export interface WorkspaceParts {
  readonly steps: ReadonlyMap<string, Pick<ToolStep, 'needsHome'>>;
  readonly sessions: SessionRegistry;
  readonly sessionFiles: Pick<SessionFiles, 'purge'>;
  readonly store: Pick<StateStore, 'files' | 'now'>;
  /** Why no session can be opened here now; undefined when one can. */
  readonly refusesSessions: () => ErrorCode | undefined;
}

/**
 * Opens a session for a call without one that makes something which must belong to one: a file, or the permission to upload
 * one. It is in use while the call runs, and is removed again when nothing came of that.
 */
export class Workspace implements Step {
  readonly concerns = 'calls';
  readonly #parts: WorkspaceParts;

  constructor(parts: WorkspaceParts) {
    this.#parts = parts;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const [call] = operation.calls;
    const step = call && this.#parts.steps.get(toolName(call) ?? '');
    if (step?.needsHome === true) return this.#open(operation, reply, next);
    next(operation, reply);
    return undefined;
  }

  async #open(operation: Operation, reply: Reply, next: Send): Promise<void> {
    const { sessions, store, refusesSessions } = this.#parts;
    const refusal = refusesSessions();
    if (refusal !== undefined) throw new AdapterError(refusal);
    const { serverId, caller } = operation;
    const { principal } = caller;
    const record = workspaceRecord(serverId, newSessionId(), principal, store.now());
    await sessions.reserve(record);
    const lease = await this.#enter(record);
    operation.record = record;
    const leave = async (isKept: boolean): Promise<void> => {
      if (!isKept) await this.#removeIfEmpty(record);
      if (lease !== undefined) await sessions.leave(lease);
    };
    next(operation, new InWorkspace(reply, leave));
  }

  /** As any session, a workspace does not expire while a call runs in it. */
  async #enter(record: SessionRecord): Promise<Lease | undefined> {
    const { sessions } = this.#parts;
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
    const { sessions, sessionFiles, store } = this.#parts;
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

class InWorkspace extends PassedReply {
  readonly #leave: (isKept: boolean) => Promise<void>;
  /** The upstream was asked. */
  #isAsked = false;
  /** The client has been told of the workspace, to upload something to it. */
  #isToldOf = false;

  constructor(next: Reply, leave: (isKept: boolean) => Promise<void>) {
    super(next);
    this.#leave = leave;
  }

  override start(control: Parameters<Reply['start']>[0]): void {
    this.#isAsked = true;
    this.next.start(control);
  }

  override message(message: ReplyMessage): Promise<void> | undefined {
    if (!this.#isAsked) this.#isToldOf = !saysError(message.text());
    return this.next.message(message);
  }

  override async end(ending: Ending): Promise<void> {
    await this.#leave(this.#isToldOf);
    return this.next.end(ending);
  }
}

function saysError(response: string): boolean {
  return (JSON.parse(response) as { result?: { isError?: unknown } }).result?.isError === true;
}
