import { type Request, toolName } from '../exchange/message.ts';
import type { Caller } from '../path/caller.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { CallLimits } from '../tools/call-limits.ts';
import { LeasedReply } from './leased-reply.ts';

/**
 * Refuses tool calls that are more than `limits` allow. A call in a session takes what it needs together with its place
 * there; one without a session takes it here.
 */
export class Limits implements Step {
  readonly concerns = 'calls';
  readonly #limits: CallLimits;
  readonly #runsOthers: (tool: string) => boolean;
  readonly #sessions: Pick<SessionRegistry, 'admit' | 'leave'> | undefined;
  readonly #mayCall: ((caller: Caller, call: Request) => boolean) | undefined;

  /**
   * @param runsOthers calls of such a tool take no place while they run: each of the calls that they make does
   * @param mayCall undefined: everybody may call everything
   * @param sessions where calls have none
   */
  constructor(
    limits: CallLimits,
    runsOthers: (tool: string) => boolean,
    mayCall: ((caller: Caller, call: Request) => boolean) | undefined,
    sessions?: Pick<SessionRegistry, 'admit' | 'leave'>,
  ) {
    this.#limits = limits;
    this.#runsOthers = runsOthers;
    this.#sessions = sessions;
    this.#mayCall = mayCall;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { calls, body, caller } = operation;
    if (calls.length > 0) {
      const tools = calls.map(nameOf);
      const runs = body.batch || !this.#runsOthers(tools[0] ?? '');
      const mayCall = this.#mayCall;
      const allowed = mayCall === undefined ? tools : calls.filter((call) => mayCall(caller, call)).map(nameOf);
      operation.limits = this.#limits.of(caller, tools, runs, allowed);
      if (this.#sessions !== undefined) return this.#admit(this.#sessions, operation, reply, next);
    }
    next(operation, reply);
    return undefined;
  }

  async #admit(
    sessions: Pick<SessionRegistry, 'admit' | 'leave'>,
    operation: Operation,
    reply: Reply,
    next: Send,
  ): Promise<void> {
    const { serverId, limits } = operation;
    const lease = limits && (await sessions.admit(serverId, limits));
    next(operation, lease === undefined ? reply : new LeasedReply(operation, reply, () => sessions.leave(lease)));
  }
}

const nameOf = (call: Request): string => toolName(call) ?? '';
