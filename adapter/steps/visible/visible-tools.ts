import { AdapterError, rpcErrorText } from '../../errors.ts';
import { elements, splice } from '../../exchange/scanning/json-scan.ts';
import { type Body, isResponseTo, type Message, type Request, toolName } from '../../exchange/message.ts';
import { checked } from '../../exchange/scanning/checked.ts';
import type { ClientUpstream } from '../../mount/client-upstream.ts';
import { eachMessage } from '../../exchange/scanning/each-message.ts';
import type { VisibleCatalog } from '../../tools/visible/visible-catalog.ts';
import type { Caller } from '../../path/caller.ts';
import { ChangedReply } from '../../path/changed-reply.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import type { Send, Step } from '../../path/step.ts';

/** What is wrong with one call, and says nothing about the others. */
const OF_ONE_CALL: ReadonlySet<string> = new Set([
  'unknown_tool',
  'tool_definition_drift',
  'invalid_request',
  'insufficient_scope',
]);

/**
 * Refuses calls of tools that the client must not see as they are now: changed, or blocked. In a batch only those: pings keep
 * their places on the way to the upstream, so that each call has its answer in its turn.
 */
export class VisibleTools implements Step {
  readonly #visibleCatalog: Pick<VisibleCatalog, 'checksCalls' | 'checkCalls' | 'refusals'>;
  readonly #client: ClientUpstream;
  readonly #check: (call: Request, caller: Caller) => void;

  /** @param check throws for a call that is refused whatever the upstream lists */
  constructor(
    visibleCatalog: Pick<VisibleCatalog, 'checksCalls' | 'checkCalls' | 'refusals'>,
    client: ClientUpstream,
    check: (call: Request, caller: Caller) => void,
  ) {
    this.#visibleCatalog = visibleCatalog;
    this.#client = client;
    this.#check = check;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { calls, body } = operation;
    if (calls.length > 0 && body.batch) return this.#sendBatch(operation, reply, next);
    if (calls.length > 0 && this.#visibleCatalog.checksCalls) return this.#sendChecked(operation, reply, next);
    next(operation, reply);
    return undefined;
  }

  async #sendChecked(operation: Operation, reply: Reply, next: Send): Promise<void> {
    const source = this.#client.source(operation, reply);
    await this.#visibleCatalog.checkCalls(source, operation.session, operation.calls.map(toolName));
    next(operation, reply);
  }

  async #sendBatch(operation: Operation, reply: Reply, next: Send): Promise<void> {
    const refused = await this.#refused(operation, reply);
    if (refused.size === 0) return next(operation, reply);
    operation.sent = withPings(operation.body, refused);
    next(operation, new ChangedReply(reply, (text) => withErrors(text, refused)));
  }

  /** Why calls of a batch do not go upstream, by the ids of the calls (JSON texts). */
  async #refused(operation: Operation, reply: Reply): Promise<ReadonlyMap<string, AdapterError>> {
    const errors = new Map<string, AdapterError>();
    const allowed: Request[] = [];
    for (const call of operation.calls) {
      const error = this.#refusalOf(call, operation.caller);
      if (error === undefined) allowed.push(call);
      else errors.set(call.idText, error);
    }
    if (!this.#visibleCatalog.checksCalls || allowed.length === 0) return errors;
    const source = this.#client.source(operation, reply);
    const refused = await this.#visibleCatalog.refusals(source, operation.session, allowed.map(toolName));
    for (const call of allowed) {
      const error = refused.get(toolName(call));
      if (error === undefined) continue;
      if (!OF_ONE_CALL.has(error.code)) throw error;
      errors.set(call.idText, error);
    }
    return errors;
  }

  #refusalOf(call: Request, caller: Caller): AdapterError | undefined {
    try {
      this.#check(call, caller);
      return undefined;
    } catch (error) {
      if (error instanceof AdapterError && OF_ONE_CALL.has(error.code)) return error;
      throw error;
    }
  }
}

function withPings(body: Body, refused: ReadonlyMap<string, AdapterError>): Body {
  const isRefused = (message: Message): message is Request => message.kind === 'request' && refused.has(message.idText);
  const spans = [...elements(body.text)];
  const edits = body.messages.flatMap((message, i) => {
    const span = spans[i];
    if (span === undefined || !isRefused(message)) return [];
    return [{ ...span, with: `{"jsonrpc":"2.0","id":${message.idText},"method":"ping"}` }];
  });
  const text = splice(body.text, edits);
  const messages = body.messages.map((message) =>
    isRefused(message) ? { ...message, method: 'ping', params: {} } : message,
  );
  return { ...body, bytes: Buffer.from(text), text, messages };
}

/** An answer (JSON text) with the errors in the places of the pings. */
function withErrors(text: string, refused: ReadonlyMap<string, AdapterError>): string | Promise<string> {
  return eachMessage(checked(text), (message) => {
    for (const [idText, { code, message: reason, data }] of refused) {
      if (isResponseTo(message, idText)) return rpcErrorText(code, reason, idText, data);
    }
    return message;
  });
}
