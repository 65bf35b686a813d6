import { forgetTaskCall, taskCall } from '../artifacts/task-calls.ts';
import type { Answer } from '../exchange/answers/answer.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import { toolResultIn } from '../exchange/tool-result.ts';
import { ChangedReply } from '../path/changed-reply.ts';
import type { Ending } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';
import { callerOwner, type TaskOwner } from '../sessions/session-tasks.ts';
import { workspaceRecord } from '../sessions/workspace-record.ts';
import type { StateStore } from '../state/state-store.ts';
import type { DetachedCall, FinishedTask, TaskEnd, ToolStep } from '../tools/visible/tool-step.ts';

type Store = Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder' | 'now'>;

const ABOUT_RESULTS: ReadonlySet<string> = new Set(['tasks/result', 'tasks/get', 'tasks/cancel']);
const ENDS: ReadonlyMap<string, TaskEnd> = new Map([
  ['"failed"', 'failed'],
  ['"cancelled"', 'cancelled'],
]);

/** Results of tasks, which come with requests of their own: files out, as for any call. */
export class TaskResults implements Step {
  readonly concerns = 'others';
  readonly #steps: ReadonlyMap<string, ToolStep>;
  readonly #store: Store;

  constructor(steps: ReadonlyMap<string, ToolStep>, store: Store) {
    this.#steps = steps;
    this.#store = store;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { request } = operation;
    const taskId = request !== undefined && ABOUT_RESULTS.has(request.method) ? request.params['taskId'] : undefined;
    if (typeof taskId === 'string') return this.#send(operation, reply, next, taskId);
    next(operation, reply);
    return undefined;
  }

  async #send(operation: Operation, reply: Reply, next: Send, taskId: string): Promise<void> {
    const { isSessionless, serverId, caller } = operation;
    const owner = isSessionless ? callerOwner(serverId, caller.principal) : operation.session;
    const left = await taskCall(this.#store, owner, taskId);
    const step = left === undefined ? undefined : this.#steps.get(left.tool);
    if (left === undefined || step?.finish === undefined) return next(operation, reply);
    next(
      operation,
      new ResultReply(reply, new TaskResult(operation, this.#store, { owner, taskId, left, step }, reply)),
    );
  }
}

interface Awaited {
  readonly owner: TaskOwner;
  readonly taskId: string;
  readonly left: DetachedCall;
  readonly step: ToolStep;
}

class ResultReply extends ChangedReply {
  readonly #result: TaskResult;

  constructor(next: Reply, result: TaskResult) {
    super(next, (text) => result.answer(text));
    this.#result = result;
  }

  override async end(ending: Ending): Promise<void> {
    await this.#result.end();
    return this.next.end(ending);
  }
}

class TaskResult {
  readonly #operation: Operation;
  readonly #store: Store;
  readonly #awaited: Awaited;
  readonly #reply: Pick<Reply, 'signal'>;
  #end: (() => Promise<void>) | undefined;

  constructor(operation: Operation, store: Store, awaited: Awaited, reply: Pick<Reply, 'signal'>) {
    this.#operation = operation;
    this.#store = store;
    this.#awaited = awaited;
    this.#reply = reply;
  }

  async answer(text: string): Promise<Answer> {
    const { owner, taskId, left, step } = this.#awaited;
    const result = toolResultIn(text);
    const status = locate(text, ['result', 'status']);
    const end = status && ENDS.get(text.slice(status.start, status.end));
    const isWhole = result !== undefined && locate(text, ['content'], result.start) !== undefined;
    const task = this.#task();
    if (task === undefined || step.finish === undefined) return text;
    if (end !== undefined || !isWhole) {
      if (step.about !== undefined) return step.about(task, left, text, end);
      if (end !== undefined) await this.#drop(task);
      return text;
    }
    const finished = await step.finish(task, left, text, result);
    this.#end = finished.end;
    if (!finished.isKept) await forgetTaskCall(this.#store, owner, taskId, left);
    return finished.answer;
  }

  /** Undefined where the call has left no files. */
  #task(): FinishedTask | undefined {
    const { left } = this.#awaited;
    const sessionId = left.sessionId ?? left.file?.sessionId;
    if (sessionId === undefined) return undefined;
    const { caller, isSessionless, serverId, session } = this.#operation;
    const record = isSessionless ? workspaceRecord(serverId, sessionId, caller.principal, this.#store.now()) : session;
    return { caller, record, signal: this.#reply.signal };
  }

  async end(): Promise<void> {
    await this.#end?.();
  }

  /** What a task that has failed has written goes. */
  async #drop(task: FinishedTask): Promise<void> {
    const { owner, taskId, left, step } = this.#awaited;
    await forgetTaskCall(this.#store, owner, taskId, left);
    await step.resume?.(task, left)?.onEnd();
  }
}
