import { Worker } from 'node:worker_threads';
import { ownProgram } from '../../lib/own-program.ts';
import type { Problem } from '../../crds/config/load/problem.ts';
import { workerEnvironment } from '../../lib/worker-environment.ts';
import { BudgetError } from './budget.ts';
import { RefusedError, problemOf } from './refused-error.ts';
import type { TaskRunner, Subject, Task } from './task.ts';

/** What the thread gets, and what it sends back. */
export interface TaskRequest {
  readonly task: string;
  /** As JSON. */
  readonly input: string;
  readonly path: string;
}
export type TaskReply = { readonly output: string } | { readonly problem: Problem };

export interface TaskLimits {
  /** Longest input, as JSON, that is worked on by the event loop: what takes the most in it takes 50 ms. */
  readonly smallInput: number;
  /** Wall time of one task in the thread. */
  readonly taskMs: number;
  readonly heapMb: number;
}

const LIMITS: TaskLimits = { smallInput: 16_384, taskMs: 10_000, heapMb: 128 };
const PROGRAM = ownProgram('task-worker', import.meta.url);
/** A thread that nobody needs gives its memory back. */
const IDLE_MS = 60_000;
/** How long a refusal is remembered: a busy machine may have been the reason. */
const REFUSED_MS = 5 * 60_000;
const MAX_REFUSED = 1000;

/**
 * Small inputs are worked on at once; large ones, and those for which the budget of the event loop is not enough, in
 * one thread, one after the other. The thread is ended when it takes too long, whatever it is at, or too much memory.
 */
export class WorkerTaskRunner implements TaskRunner, AsyncDisposable {
  readonly #limits: TaskLimits;
  /** Tasks that this thread has done: before, it also compiles them. */
  readonly #warm = new Set<string>();
  readonly #refused = new Map<string, { readonly error: RefusedError; readonly until: number }>();
  #worker: Promise<Worker> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(limits: Partial<TaskLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  async run<Input, Output>(task: Task<Input, Output>, input: Input, subject: Subject): Promise<Output> {
    const known = this.#refused.get(subject.id);
    if (known !== undefined && performance.now() < known.until) throw known.error;
    try {
      return await this.#run(task, input, subject);
    } catch (error) {
      if (error instanceof RefusedError) this.#remember(subject.id, error);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  async #run<Input, Output>(
    task: Task<Input, Output>,
    input: Input,
    { path, budget, signal }: Subject,
  ): Promise<Output> {
    const text = refusing(path, () => JSON.stringify(input));
    if (text.length <= this.#limits.smallInput) {
      try {
        return refusing(path, () => this.#here(task, input, budget));
      } catch (error) {
        if (!(error instanceof BudgetError)) throw error;
      }
    }
    const output = this.#last.then(() => this.#there({ task: task.name, input: text, path }, signal));
    this.#last = output.catch(() => {});
    return JSON.parse(await output) as Output;
  }

  #here<Input, Output>(task: Task<Input, Output>, input: Input, budget: Subject['budget']): Output {
    const isWarm = this.#warm.has(task.name);
    this.#warm.add(task.name);
    try {
      return budget.during(() => task.run(input, budget));
    } catch (error) {
      if (isWarm || !(error instanceof BudgetError)) throw error;
      return budget.anew().during(() => task.run(input, budget));
    }
  }

  /** @returns the output as JSON */
  async #there(request: TaskRequest, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    const worker = await this.#started();
    const { taskMs, heapMb } = this.#limits;
    const reply = await new Promise<TaskReply>((resolve, reject) => {
      const limit = setTimeout(() => {
        void this.#end();
        settle(() => resolve({ problem: new BudgetError(taskMs, request.path).problem }));
      }, taskMs);
      const onMessage = (message: TaskReply): void => settle(() => resolve(message));
      const onError = (error: Error & { code?: string }): void => {
        void this.#end();
        const problem = { path: request.path, message: `takes the operator more than ${heapMb} MiB of memory` };
        settle(() => (error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? resolve({ problem }) : reject(error)));
      };
      const onExit = (): void => settle(() => reject(new Error('the thread has ended')));
      const onAbort = (): void => {
        void this.#end();
        settle(() => reject(signal.reason as Error));
      };
      const settle = (done: () => void): void => {
        clearTimeout(limit);
        signal.removeEventListener('abort', onAbort);
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
        // Of a thread that is being ended nobody hears more.
        worker.on('error', () => {});
        done();
      };
      signal.addEventListener('abort', onAbort);
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(request);
    });
    this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
    if ('problem' in reply) throw new RefusedError(reply.problem.path, reply.problem.message);
    return reply.output;
  }

  /** Its start does not count: it says when it has loaded its program. */
  #started(): Promise<Worker> {
    if (this.#isClosed) return Promise.reject(new Error('the operator stops'));
    this.#worker ??= new Promise((resolve, reject) => {
      const worker = new Worker(PROGRAM, {
        name: 'taskRunner',
        env: workerEnvironment(),
        argv: [],
        resourceLimits: { maxOldGenerationSizeMb: this.#limits.heapMb },
      });
      const failed = (error: Error): void => {
        this.#worker = undefined;
        reject(error);
      };
      worker.unref();
      worker.once('error', failed);
      worker.once('message', () => {
        worker.off('error', failed);
        resolve(worker);
      });
    });
    return this.#worker;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await (await worker?.catch(() => undefined))?.terminate();
  }

  #remember(id: string, error: RefusedError): void {
    this.#refused.delete(id);
    this.#refused.set(id, { error, until: performance.now() + REFUSED_MS });
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > MAX_REFUSED && oldest !== undefined) this.#refused.delete(oldest);
  }
}

function refusing<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    const problem = problemOf(error, path);
    throw new RefusedError(problem.path, problem.message);
  }
}
