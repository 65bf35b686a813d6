import { AdapterError } from '../../errors.ts';
import { SESSIONLESS_REVISION, toolName } from '../../exchange/message.ts';
import type { Caller } from '../../path/caller.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import type { Send, Step } from '../../path/step.ts';
import type { Lease, SessionRegistry } from '../../sessions/session-registry.ts';
import { isWorkspace } from '../../sessions/workspace.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import { LeasedReply } from '../leased-reply.ts';

/** The only revision with batches. */
const BATCH_REVISION = '2025-03-26';

/** Revisions that clients may name in a session whatever was agreed on, because some libraries always name their own. */
const KNOWN_REVISIONS: ReadonlySet<string> = new Set([
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  SESSIONLESS_REVISION,
]);

/**
 * Finds the session of the client, and counts its tool calls as in flight: each takes a place, which is free again before
 * the client can see that it has its answer.
 */
export class InSession implements Step {
  readonly #sessions: SessionRegistry;
  readonly #runsOthers: (tool: string) => boolean;

  /** @param runsOthers calls of such a tool take no place while they run: each of the calls that they make does */
  constructor(sessions: SessionRegistry, runsOthers: (tool: string) => boolean) {
    this.#sessions = sessions;
    this.#runsOthers = runsOthers;
  }

  async send(operation: Operation, reply: Reply, next: Send): Promise<void> {
    const { serverId, caller, calls, body } = operation;
    const sessionId = sessionIdOf(caller);
    caller.attributes.sessionId = sessionId;
    const leases: Lease[] = [];
    try {
      const record = await this.#enter(serverId, sessionId, caller.principal, operation, leases);
      if (isWorkspace(record)) throw new AdapterError('session_not_found');
      requireRevision(caller, record);
      if (body.batch && record.protocolVersion !== BATCH_REVISION) {
        const detail = `Batches exist in revision ${BATCH_REVISION} only; send one message.`;
        throw new AdapterError('invalid_request', detail);
      }
      const [call] = calls;
      const runsOthers = !body.batch && call !== undefined && this.#runsOthers(toolName(call) ?? '');
      if (runsOthers && this.#sessions.limitsCalls) await this.#leave(leases);
      operation.record = record;
      operation.sessionId = sessionId;
    } catch (error) {
      await this.#leave(leases);
      throw error;
    }
    next(operation, leases.length === 0 ? reply : new LeasedReply(operation, reply, () => this.#leave(leases)));
  }

  /** Reads the session, and takes a place for each call; what limits count all of them against comes with the last one. */
  async #enter(
    serverId: string,
    sessionId: string,
    principal: string,
    { calls, limits }: Pick<Operation, 'calls' | 'limits'>,
    leases: Lease[],
  ): Promise<SessionRecord> {
    if (calls.length === 0) return this.#sessions.find(serverId, sessionId, principal);
    let record: SessionRecord | undefined;
    for (let i = 1; i <= calls.length; i++) {
      const taking = i === calls.length ? limits : undefined;
      // oxlint-disable-next-line no-await-in-loop -- Each may be the one too many.
      const entered = await this.#sessions.enter(serverId, sessionId, principal, taking);
      if (entered.lease !== undefined) leases.push(entered.lease);
      record = entered.record;
    }
    return record as SessionRecord;
  }

  #leave(leases: readonly Lease[]): Promise<void> | undefined {
    let waits: Promise<void>[] | undefined;
    for (const lease of leases) {
      const wait = this.#sessions.leave(lease);
      if (wait !== undefined) (waits ??= []).push(wait);
    }
    return waits === undefined ? undefined : Promise.all(waits).then(() => undefined);
  }
}

/** The session id that the client sent. Throws `missing_session`. */
export function sessionIdOf({ headers }: Pick<Caller, 'headers'>): string {
  const sessionId = headers['mcp-session-id'];
  if (typeof sessionId !== 'string' || sessionId === '') throw new AdapterError('missing_session');
  return sessionId;
}

/** Throws for a revision that is neither the session's nor known (MCP, Streamable HTTP, protocol version header). */
function requireRevision(
  { headers }: Pick<Caller, 'headers'>,
  { protocolVersion }: Pick<SessionRecord, 'protocolVersion'>,
): void {
  const said = headers['mcp-protocol-version'];
  if (said === undefined || said === protocolVersion || (typeof said === 'string' && KNOWN_REVISIONS.has(said))) return;
  const detail = `The MCP-Protocol-Version header says ${JSON.stringify(said)}; this session speaks ${protocolVersion}.`;
  throw new AdapterError('invalid_request', detail);
}
