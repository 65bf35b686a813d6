import type { AdapterError } from '../../errors.ts';
import type { Answer } from '../../exchange/answers/answer.ts';
import type { Body, Request } from '../../exchange/message.ts';
import type { Span } from '../../exchange/scanning/json-scan.ts';
import type { Outcome } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import type { FileRecord } from '../../state/file-records.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import type { ToolSource } from '../tool-source.ts';
import type { SessionTools } from './visible-catalog.ts';

/** What the adapter does to the calls of one tool, before and after the upstream. */
export interface ToolStep {
  /**
   * Whether a call makes something that must belong to a session: a file, or the permission to upload one. For a client
   * without sessions one is opened then (see workspaces.ts).
   */
  readonly needsHome: boolean | ((body: Body) => boolean);
  /** Calls of other tools come from this one, which count as in flight themselves. */
  readonly runsOthers?: true;
  prepare(call: ToolCall): Promise<PreparedCall>;
  /** A call that went on without its reply, whose response comes on a stream of this session. */
  resume?(call: Pick<ToolCall, 'caller' | 'record'>, left: DetachedCall): ResumedCall | undefined;
  /** A response with the result of a task that a call has made; `result` says where. */
  finish?(call: FinishedTask, left: DetachedCall, text: string, result: Span): Promise<FinishedAnswer>;
  /**
   * Any other message about a task that a call has made, and what the client gets; `end`: nothing has come of the task. Without
   * it, `resume` is told that the task has ended.
   */
  about?(call: FinishedTask, left: DetachedCall, text: string, end: TaskEnd | undefined): Promise<string>;
}

/** What a task has come to that has no result of the tool. */
export type TaskEnd = 'failed' | 'cancelled';

/** Who asks for the result of a task. `record`: the session that the call's file belongs to. */
export interface FinishedTask {
  readonly caller: Operation['caller'];
  readonly record: SessionRecord;
  readonly signal: AbortSignal;
}

/** What the client gets for the result of a task. */
export interface FinishedAnswer {
  readonly answer: Answer;
  /** Whether the same is to be done when it is asked for again. */
  readonly isKept: boolean;
  /** The answer has left. Never fails. */
  readonly end: () => Promise<void>;
}

/** What is kept of a call that goes on without its reply. */
export interface DetachedCall {
  readonly tool: string;
  /** Of a task: the session that its files belong to, where that is not the one of `file`. */
  readonly sessionId?: string | undefined;
  /** What it was told to write, or may have written. */
  readonly file?: FileRecord | undefined;
  /** What the step needs that has more files than one; it is kept as JSON. */
  readonly files?: unknown;
}

/** As of a forwarded call (see PreparedCall). */
export interface ResumedCall {
  readonly onResponse: (text: string) => Promise<Answer>;
  readonly onEnd: () => Promise<void>;
}

/** A single tools/call; batches never come here. `record` is that of a workspace where the client has no sessions. */
export interface ToolCall {
  readonly caller: Operation['caller'];
  readonly trace: Operation['trace'];
  /** Aborted, with an AdapterError, once nobody waits for the call any more. */
  readonly signal: Reply['signal'];
  /** The upstream's tools as this client sees them. */
  readonly source: ToolSource;
  /** All tools that this client may call. */
  readonly tools: () => Promise<SessionTools>;
  readonly record: SessionRecord;
  readonly body: Body;
  readonly request: Request;
  readonly tool: string;
  /** Milliseconds, null for none. */
  readonly timeoutMs: number | null;
}

export type PreparedCall =
  /** The call goes no further: the JSON text of its result. Parts of one must say that it is complete. */
  | { readonly kind: 'result'; readonly result: Answer }
  | { readonly kind: 'error'; readonly error: AdapterError; readonly data?: Record<string, unknown> }
  | {
      readonly kind: 'forward';
      /** What goes upstream; the client's own body where nothing was changed. */
      readonly body: Body;
      /** Sees the JSON text of the response message and says what the client gets. */
      readonly onResponse?: (text: string) => Promise<Answer> | Answer;
      /** The same with every notification and request on the way to it. Needs `onResponse`. */
      readonly onOther?: (text: string) => string;
      /**
       * Called once, when the operation is over, however it ended. `goesOn`: the call runs on, and its response comes on
       * another stream. Never fails.
       */
      readonly onEnd?: (outcome: Outcome, goesOn?: boolean) => Promise<void> | undefined;
    };
