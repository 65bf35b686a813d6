import { type Access, type Decision, reasonOf } from '../../access/access.ts';
import { callOf, downloadOf, type Named, namedIn, promptOf, readingOf } from '../../access/wishes.ts';
import { AdapterError, forbids, lacksScope } from '../../errors.ts';
import { isCall, type Message } from '../../exchange/message.ts';
import { noSuchResource } from '../../lists/no-such-resource.ts';
import type { Mount } from '../../mount/mount.ts';
import type { Caller } from '../../path/caller.ts';
import { failed } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import type { Send, Step } from '../../path/step.ts';

type Asked = Exclude<Message, { kind: 'response' }>;

/** A challenge (`WWW-Authenticate`) that asks for one more scope; undefined where there is no authorization server. */
export type StepUp = (caller: Caller, scope: string) => string | undefined;

/**
 * Refuses what `access` does not allow the caller: to them it does not exist. What another scope would allow is refused with
 * the way to that scope.
 */
export class Allowed implements Step {
  readonly #mount: Pick<Mount, 'visibleCatalog' | 'resources'>;
  readonly #stepUp: StepUp;

  constructor(mount: Pick<Mount, 'visibleCatalog' | 'resources'>, stepUp: StepUp) {
    this.#mount = mount;
    this.#stepUp = stepUp;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { body, caller } = operation;
    const { access } = caller;
    if (access !== undefined) {
      for (const message of body.messages) {
        // Each call of a batch has its own answer (see VisibleTools).
        if (message.kind === 'response' || (body.batch && isCall(message))) continue;
        const refused = this.#refused(caller, access, message);
        if (refused !== undefined) return this.#refuse(operation, reply, refused);
      }
    }
    next(operation, reply);
    return undefined;
  }

  /** Whether a caller may make a call; nothing is noted of it. */
  allows({ access }: Pick<Caller, 'access'>, call: Asked): boolean {
    return access === undefined || namedIn(call).every((named) => this.#decide(access, named).outcome === 'allowed');
  }

  /** Throws for a call of a batch that is not allowed. */
  check(caller: Caller, call: Asked): void {
    const refused = caller.access === undefined ? undefined : this.#refused(caller, caller.access, call);
    if (refused !== undefined) throw errorFor(refused);
  }

  #refused(caller: Caller, access: Access, message: Asked): Refused | undefined {
    const { method } = message;
    for (const named of namedIn(message)) {
      const decision = this.#decide(access, named);
      if (decision.outcome !== 'allowed') return refusal(caller, decision, method, named);
    }
    // The object has had its say; what is left is the method, for rules that name it.
    if (message.kind === 'notification' && method.startsWith('notifications/')) return undefined;
    if (OF_OBJECTS.has(method)) return undefined;
    const decision = access.decide({ method });
    return decision.outcome === 'allowed' ? undefined : refusal(caller, decision, method, undefined);
  }

  #decide(access: Access, { kind, name }: Named): Decision {
    // Other parsers might find a name there.
    if (typeof name !== 'string') return { outcome: 'denied', rule: undefined };
    if (kind === 'prompt') return access.decide(promptOf(name));
    const { visibleCatalog, resources } = this.#mount;
    if (kind === 'resource') return access.decide(resources?.owns(name) === true ? downloadOf(name) : readingOf(name));
    const { own, instead = [] } = visibleCatalog.catalog;
    const tool = [...own, ...instead].find((one) => one.name === name);
    if (tool === undefined) return access.decide(callOf(name));
    return tool.wish === undefined ? { outcome: 'allowed', rule: undefined } : access.decide(tool.wish);
  }

  #refuse(operation: Operation, reply: Reply, refused: Refused): Promise<void> | undefined {
    const { caller, body, isSessionless } = operation;
    const { decision, named } = refused;
    if (decision.scope !== undefined) {
      const challenge = this.#stepUp(caller, decision.scope);
      const more = challenge === undefined ? undefined : { headers: { 'www-authenticate': challenge } };
      return reply.end(failed(errorFor(refused), more));
    }
    if (
      named?.kind === 'resource' &&
      !body.batch &&
      (isSessionless || this.#mount.resources?.owns(String(named.name)))
    ) {
      return reply.end(noSuchResource(operation, 'unknown_resource', named.name));
    }
    throw errorFor(refused);
  }
}

/** Their objects are all that rules ask about. */
const OF_OBJECTS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

interface Refused {
  readonly decision: Decision;
  readonly method: string;
  readonly named: Named | undefined;
}

function refusal({ attributes }: Caller, decision: Decision, method: string, named: Named | undefined): Refused {
  attributes.reason = reasonOf(decision);
  return { decision, method, named };
}

const WORDS = { tool: 'unknown_tool', prompt: 'unknown_prompt', resource: 'unknown_resource' } as const;

function errorFor({ decision, method, named }: Refused): AdapterError {
  if (decision.scope !== undefined) return lacksScope(decision.scope);
  if (named === undefined) return forbids(method);
  const { kind, name } = named;
  if (kind === 'resource') return new AdapterError('unknown_resource', undefined, { data: { uri: name } });
  if (typeof name !== 'string') return new AdapterError(WORDS[kind], `The request names no ${kind}.`);
  return new AdapterError(WORDS[kind], `Unknown ${kind}: ${name}`);
}
