import { randomUUID } from 'node:crypto';

import { AwaitedResponses } from '../exchange/awaited-responses.ts';
import { type Body, isCall, type Request } from '../exchange/message.ts';
import type { RequestTrace } from '../exchange/request-trace.ts';
import type { Taking } from '../state/call-limits.ts';
import type { SessionRecord } from '../state/state-store.ts';
import type { ResumedExchange, UpstreamSession } from '../exchange/upstream.ts';
import type { Caller } from './caller.ts';
import type { ParkedTime } from './parked-time.ts';

const NO_BODY: Body = { bytes: Buffer.alloc(0), text: '', messages: [], batch: false };

export interface OperationStart {
  readonly serverId: string;
  readonly method: 'POST' | 'GET';
  readonly body?: Body;
  readonly caller: Caller;
  readonly trace: RequestTrace | undefined;
  readonly isSessionless?: boolean;
  readonly timeoutMs: number | null;
  readonly defersHead?: boolean;
  readonly isNested?: boolean;
}

/**
 * The messages of one request of a client on their way to an upstream, or its wish for an event stream. Values only; what a
 * step finds out for those behind it is a field, set by that step.
 */
export class Operation {
  readonly serverId: string;
  readonly method: 'POST' | 'GET';
  /** As it came. */
  readonly body: Body;
  readonly caller: Caller;
  /** Undefined without traces. */
  readonly trace: RequestTrace | undefined;
  /** Of the revision without sessions (MCP 2026-07-28). */
  readonly isSessionless: boolean;
  /** How long the upstream has for its answer, in milliseconds; null: as long as the client waits. */
  readonly timeoutMs: number | null;
  /** The head of an event stream waits for the first response, which decides about a header. */
  readonly defersHead: boolean;
  /** Code has made it (code mode), and gets the reply. */
  readonly isNested: boolean;
  /** JSON texts of the ids of the requests in the body. */
  readonly idTexts: readonly string[];
  /** The tools/call requests in the body. */
  readonly calls: readonly Request[];
  readonly awaited: AwaitedResponses;
  /** What goes upstream. */
  sent: Body;
  /** Headers that go upstream, names and values in turn; undefined: those that the client's stand for. */
  sentHeaders: readonly string[] | undefined;
  /** The session; of a client without, one in which it is known by what it authenticates with, or its workspace. */
  record: SessionRecord | undefined;
  /** What limits count the calls against; undefined without any. */
  limits: Taking | undefined;
  /** The session that the client is told of. */
  sessionId: string | undefined;
  /** Tells the stream of a GET from others of its session. */
  readonly streamId: string;
  /** Where a GET takes up the stream again. */
  lastEventId: string | undefined;
  /** The upstream's side of a session that is being opened. */
  opening: UpstreamSession | undefined;
  /** The upstream speaks other revisions than the client, who has no session. */
  isBridged = false;
  /** Names the exchange with the upstream for whoever takes what that asks meanwhile; undefined: nobody does. */
  exchange: string | undefined;
  /** It goes on with a call that another replica has begun; undefined: it begins. */
  resumed: ResumedExchange | undefined;
  /** Time that counts against no limit; undefined: none so far. */
  parked: ParkedTime | undefined;
  /** A part of an answer has left; nothing but its rest can follow. */
  isLeaving = false;
  /** The rest of an answer takes as long as the client does. */
  isUntimed = false;

  constructor(start: OperationStart) {
    const { body = NO_BODY } = start;
    this.serverId = start.serverId;
    this.method = start.method;
    this.body = body;
    this.caller = start.caller;
    this.trace = start.trace;
    this.isSessionless = start.isSessionless ?? false;
    this.timeoutMs = start.timeoutMs;
    this.defersHead = start.defersHead ?? false;
    this.isNested = start.isNested ?? false;
    const idTexts: string[] = [];
    const calls: Request[] = [];
    for (const message of body.messages) {
      if (message.kind !== 'request') continue;
      idTexts.push(message.idText);
      if (isCall(message)) calls.push(message);
    }
    this.idTexts = idTexts;
    this.calls = calls;
    this.awaited = new AwaitedResponses(idTexts, start.method === 'GET');
    this.streamId = start.method === 'GET' ? randomUUID() : '';
    this.sent = body;
    this.sentHeaders = undefined;
    this.record = undefined;
    this.limits = undefined;
    this.sessionId = undefined;
    this.lastEventId = undefined;
    this.opening = undefined;
    this.exchange = undefined;
    this.resumed = undefined;
  }

  /** The session, behind the step that has found it. */
  get session(): SessionRecord {
    if (this.record === undefined) throw new Error('no session has been looked up');
    return this.record;
  }

  /** Responses that were asked for elsewhere, and arrays, reach the client too: in a session, whatever its revision. */
  get takesUnsolicited(): boolean {
    return !this.isSessionless && !this.defersHead;
  }

  get isGet(): boolean {
    return this.method === 'GET';
  }

  /** The only request of a body that is not a batch. */
  get request(): Request | undefined {
    const { batch, messages } = this.body;
    const first = messages[0];
    return !batch && first?.kind === 'request' ? first : undefined;
  }
}
