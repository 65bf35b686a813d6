import type { ServerResponse } from 'node:http';

import type { Holder } from '../../byte-account.ts';
import { AdapterError, knownError } from '../../errors.ts';
import type { Answer } from '../../exchange/answers/answer.ts';
import { KeepAlive } from '../../exchange/answers/keep-alive.ts';
import type { Message } from '../../exchange/message.ts';
import type { Refusal } from '../../exchange/scanning/refusal.ts';
import { RunningExchanges } from '../../exchange/running.ts';
import { type Ending, failed, type Outcome } from '../../path/ending.ts';
import type { RequestAttributes } from '../../exchange/request-attributes.ts';
import { messages } from '../../path/messages.ts';
import { Operation } from '../../path/operation.ts';
import { PassedReply, type Reply } from '../../path/reply.ts';
import type { ReplyMessage } from '../../path/reply-message.ts';
import { compose, composeWire, type Step, type WireStep } from '../../path/step.ts';
import { sessionRecord } from '../../sessions/testing/session-record.ts';
import { LossWatch } from '../../steps/sessions/lost-session.ts';
import { RecordedAnswers } from '../../steps/recorded-answers.ts';
import { TimeLimit } from '../../steps/time-limit.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import type { ResponseHead, Upstream } from '../../exchange/upstream.ts';
import { HttpReply } from '../http-reply.ts';

/** What is different about an operation, and what listens to its reply. */
export interface Changes {
  readonly method?: 'POST' | 'GET';
  readonly lastEventId?: string;
  readonly idTexts?: readonly string[];
  readonly sessionId?: string | undefined;
  /** Of a session that the upstream has given no id. */
  readonly upstreamSessionId?: string | null;
  readonly timeoutMs?: number;
  readonly onTimeout?: (unanswered: readonly string[]) => string | AdapterError;
  readonly onResponse?: ((text: string) => Promise<Answer> | Answer) | undefined;
  /** In a session; without it the operation is one of a client without sessions, to whom no other responses come. */
  readonly onUnsolicited?: (text: string) => string;
  /** In a session, where nobody looks at responses that were asked for elsewhere. */
  readonly inSession?: boolean;
  readonly deferHeaders?: boolean;
  readonly again?: (status: number) => Promise<void>;
  readonly onHead?: (head: ResponseHead) => AdapterError | undefined;
  readonly onAnswered?: () => Promise<void>;
  readonly onListChanged?: () => Promise<void>;
  readonly onFinish?: (outcome: Outcome, goesOn: boolean) => Promise<void> | undefined;
  readonly dropped?: (refusal: Refusal) => void;
  readonly noted?: Partial<RequestAttributes> | undefined;
  readonly known?: (error: unknown) => AdapterError;
  readonly holder?: Holder;
  readonly running?: RunningExchanges;
  readonly keepAlive?: KeepAlive;
}

/** Sends an operation with one request of a session upstream, whose reply a real client gets. */
export function startReply(
  upstream: Upstream,
  res: ServerResponse,
  changes: Changes,
): { readonly reply: HttpReply; readonly operation: Operation } {
  const { method = 'POST', idTexts = method === 'GET' ? [] : ['1'], again, noted, onUnsolicited, inSession } = changes;
  const attributes: RequestAttributes = Object.assign(noted ?? {}, { requestId: 'request-1' });
  const holder = changes.holder ?? sampleAccount().of({ server: 's1', session: 'session-1' });
  const known = changes.known ?? ((error: unknown) => knownError(error, () => undefined));
  const operation = new Operation({
    serverId: 's1',
    method,
    ...(method === 'POST' && { body: bodyOf(idTexts) }),
    caller: { headers: {}, request: { protocol: 'http', host: 'h' }, principal: '', holder, attributes },
    trace: undefined,
    isSessionless: method === 'POST' && onUnsolicited === undefined && again === undefined && inSession !== true,
    timeoutMs: changes.timeoutMs ?? null,
    defersHead: changes.deferHeaders ?? false,
  });
  const { upstreamSessionId = 'upstream-1' } = changes;
  operation.record = sessionRecord({ serverId: 's1', sessionId: 'session-1', upstreamSessionId });
  operation.sessionId = 'sessionId' in changes ? changes.sessionId : 'session-1';
  operation.lastEventId = changes.lastEventId;
  const reply = new HttpReply(operation, res, {
    keepAlive: changes.keepAlive ?? new KeepAlive(2 ** 30),
    running: changes.running ?? new RunningExchanges(),
    known,
  });
  const steps: Step[] = [...(noted === undefined ? [] : [new RecordedAnswers()]), new Listening(changes)];
  steps.push(new TimeLimit((late) => overTime(late, changes)));
  const wire: WireStep[] =
    again === undefined ? [] : [{ ask: (op, sink, next) => next(op, new LossWatch(op, sink, next, again)) }];
  const rules = { dropped: changes.dropped ?? (() => undefined), refused: changes.onHead ?? (() => undefined) };
  const send = compose(
    steps,
    messages(
      rules,
      composeWire(wire, (op, sink) => {
        const body = op.isGet ? undefined : op.sent;
        upstream.send({ method: op.method, session: op.session, headers: [], body }, sink);
      }),
    ),
  );
  send(operation, reply);
  return { reply, operation };
}

function bodyOf(idTexts: readonly string[]) {
  const requests = idTexts.map((idText): Message => ({ kind: 'request', method: 'ping', params: {}, idText }));
  const notification: Message = { kind: 'notification', method: 'notifications/progress', params: {} };
  const all = requests.length === 0 ? [notification] : requests;
  return { bytes: Buffer.from('{}'), text: '{}', messages: all, batch: all.length > 1 };
}

function overTime(operation: Operation, { onTimeout }: Changes): Ending {
  const late = onTimeout?.(operation.awaited.unanswered) ?? new AdapterError('upstream_timeout');
  return typeof late === 'string' ? { outcome: 'timeout', text: late } : failed(late);
}

/** A step that listens to what the test wants to hear. */
class Listening implements Step {
  readonly #changes: Changes;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  send(...[operation, reply, next]: Parameters<Step['send']>): void {
    next(operation, new ListeningReply(operation, reply, this.#changes));
  }
}

class ListeningReply extends PassedReply {
  readonly #operation: Operation;
  readonly #changes: Changes;

  constructor(operation: Operation, next: Reply, changes: Changes) {
    super(next, changes.onResponse !== undefined);
    this.#operation = operation;
    this.#changes = changes;
  }

  override message(message: ReplyMessage): Promise<void> | undefined {
    const { onListChanged, onAnswered } = this.#changes;
    if (onListChanged !== undefined && message.saysListChanged) {
      return onListChanged().then(() => this.next.message(message));
    }
    const shown = this.#shown(message);
    if (shown instanceof Promise) return shown.then((one) => this.#answered(message.with(one)));
    const changed = shown === undefined ? message : message.with(shown);
    return onAnswered === undefined ? this.next.message(changed) : this.#answered(changed);
  }

  override end(ending: Ending): Promise<void> | undefined {
    const finished = this.#changes.onFinish?.(ending.outcome, ending.goesOn ?? false);
    return finished === undefined ? this.next.end(ending) : finished.then(() => this.next.end(ending));
  }

  #shown(message: ReplyMessage): Promise<Answer> | Answer | undefined {
    const { onResponse, onUnsolicited } = this.#changes;
    if (message.kind === 'response') return onResponse?.(message.text());
    return message.kind === 'unsolicited' ? onUnsolicited?.(message.text()) : undefined;
  }

  async #answered(message: ReplyMessage): Promise<void> {
    const { onAnswered } = this.#changes;
    if (onAnswered === undefined || message.kind !== 'response' || !this.#operation.awaited.isSeen) {
      return this.next.message(message);
    }
    const { streamed } = message;
    if (streamed !== undefined) {
      return this.next.message(message.with({ ...streamed, parts: followed(streamed.parts, onAnswered) }));
    }
    await onAnswered();
    return this.next.message(message);
  }
}

async function* followed<T>(parts: AsyncIterable<T>, then: () => Promise<void>): AsyncGenerator<T> {
  yield* parts;
  await then();
}
