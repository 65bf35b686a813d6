import { AdapterError } from '../errors.ts';
import { type Message, type Request, toolName } from '../exchange/message.ts';
import type { ClientUpstream } from '../mount/client-upstream.ts';
import type { Mount } from '../mount/mount.ts';
import { completeCall } from '../exchange/answers/own-result.ts';
import { withParameters } from '../tools/parameter-headers.ts';
import type { ToolParameters } from '../tools/tool-parameters.ts';
import type { PreparedCall, ToolStep } from '../tools/visible/tool-step.ts';
import type { VisibleCatalog } from '../tools/visible/visible-catalog.ts';
import { answer } from '../path/answer.ts';
import { ChangedReply } from '../path/changed-reply.ts';
import { ANSWERED, type Ending, failed } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import { PassedReply, type Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';

type Forwarded = Extract<PreparedCall, { kind: 'forward' }>;

/**
 * Calls of tools that the adapter does something to: files in and out, and tools of its own.
 *
 *     prepare ─┬─ result, error ──────────────────────▶ the client has its answer, the upstream hears nothing
 *              └─ forward ─ upstream ─┬─ onResponse ─▶ client
 *                                     └─ time out, error, client gone
 *                                     … and in every case onEnd, once
 */
export class ToolSteps implements Step {
  readonly concerns = 'calls';
  readonly #steps: ReadonlyMap<string, ToolStep>;
  readonly #visibleCatalog: Pick<VisibleCatalog, 'tools'>;
  readonly #client: ClientUpstream;
  readonly #headers: Mount['headers'];
  readonly #toolParameters: Pick<ToolParameters, 'of'>;

  constructor(
    { steps, visibleCatalog, headers }: Pick<Mount, 'steps' | 'visibleCatalog' | 'headers'>,
    client: ClientUpstream,
    toolParameters: Pick<ToolParameters, 'of'>,
  ) {
    this.#steps = steps;
    this.#visibleCatalog = visibleCatalog;
    this.#client = client;
    this.#headers = headers;
    this.#toolParameters = toolParameters;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { calls, body } = operation;
    const [call] = calls;
    const step = call === undefined || body.batch ? undefined : this.of(call, false);
    if (call !== undefined && step !== undefined) return this.#run(operation, reply, next, call, step);
    next(operation, reply);
    return undefined;
  }

  /**
   * What is done to a call. Throws for one that would get past it: one in a batch, and one whose name only some parsers would
   * find.
   */
  of(call: Message, isInBatch: boolean): ToolStep | undefined {
    if (this.#steps.size === 0) return undefined;
    const name = toolName(call);
    if (name === undefined) throw new AdapterError('unknown_tool', 'The tool call names no tool.');
    const step = this.#steps.get(name);
    if (step === undefined || !isInBatch) return step;
    throw new AdapterError('invalid_request', `Calls of ${name} cannot be part of a batch; send one message.`);
  }

  async #run(operation: Operation, reply: Reply, next: Send, request: Request, step: ToolStep): Promise<void> {
    const { caller, trace, session, body, timeoutMs, isSessionless } = operation;
    const tool = toolName(request) ?? '';
    const source = this.#client.source(operation, reply);
    const declared = isSessionless ? await this.#toolParameters.of(this.#client.listing(operation), tool) : undefined;
    const prepared = await step.prepare({
      caller,
      trace,
      get signal() {
        return reply.signal;
      },
      source,
      tools: () => this.#visibleCatalog.tools(source, session, timeoutMs),
      record: session,
      body,
      request,
      tool,
      timeoutMs,
    });
    if (prepared.kind === 'error') {
      const { error, data } = prepared;
      const shown = data === undefined ? error : new AdapterError(error.code, error.message, { data });
      await reply.end(failed(shown));
      return undefined;
    }
    if (prepared.kind === 'result') {
      const { result } = prepared;
      const complete = isSessionless && typeof result === 'string' ? completeCall(result) : result;
      return answer(reply, request.idText, complete, ANSWERED);
    }
    operation.sent = prepared.body;
    if (declared !== undefined && prepared.body !== body) {
      const headers = this.#headers.forward('POST', caller.headers, true);
      operation.sentHeaders = withParameters(headers, declared, prepared.body.messages[0]?.params['arguments']);
    }
    const { onResponse, onOther, onEnd } = prepared;
    const ended = onEnd === undefined ? reply : new EndedReply(reply, onEnd);
    next(operation, onResponse === undefined ? ended : new ChangedReply(ended, onResponse, onOther));
  }
}

class EndedReply extends PassedReply {
  readonly #onEnd: NonNullable<Forwarded['onEnd']>;

  constructor(next: Reply, onEnd: NonNullable<Forwarded['onEnd']>) {
    super(next);
    this.#onEnd = onEnd;
  }

  override end(ending: Ending): Promise<void> | undefined {
    const ended = this.#onEnd(ending.outcome, ending.goesOn);
    return ended === undefined ? this.next.end(ending) : ended.then(() => this.next.end(ending));
  }
}
