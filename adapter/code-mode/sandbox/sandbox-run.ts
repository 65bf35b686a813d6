import type { Worker } from 'node:worker_threads';

import { isObject } from '../../../lib/json/json-object.ts';
import { failureText } from './call-failure.ts';
import type { SandboxLimits } from './sandbox-limits.ts';
import type { CodeEnd, FromWorker, SandboxFailure, ToWorker } from './sandbox-messages.ts';

/**
 * Makes a call for the code. Resolves with the JSON text of what the code gets; an error is thrown in the code with its
 * message and, of a CallFailure, its code and data. `signal` aborts when the run ends, for whatever reason.
 */
export type CallTool = (name: string, args: Record<string, unknown>, signal: AbortSignal) => Promise<string>;

export type SandboxOutcome =
  /** `value` is JSON text; undefined if the code returned nothing that JSON knows. */
  | { readonly kind: 'returned'; readonly value: string | undefined; readonly console: string; readonly calls: number }
  | {
      readonly kind: 'failed';
      readonly reason: SandboxFailure;
      /** For who wrote the code: what happened and, where it is known, in which line. */
      readonly message: string;
      readonly console: string;
      readonly calls: number;
    };

export interface RunOptions {
  readonly code: string;
  readonly callTool: CallTool;
  /** Ends the run at once: `aborted`. */
  readonly signal: AbortSignal;
}

/**
 * How much longer than its CPU time the code may seem to compute. The worker itself ends it in time unless the machine is
 * busy or the engine sits in one operation of its own, such as `indexOf` in an array-like of 2^53 elements.
 */
const hardComputeMs = (computeMs: number): number => 2 * computeMs + 1_000;

type Call = Extract<FromWorker, { kind: 'call' }>;

/** One run on this side: it answers the worker's calls and watches its time. Only strings come from there. */
export class SandboxRun {
  readonly #worker: Worker;
  readonly #limits: SandboxLimits;
  readonly #callTool: CallTool;
  readonly #calling = new AbortController();
  readonly #ended = Promise.withResolvers<CodeEnd>();
  #computing: NodeJS.Timeout | undefined;
  #console = '';
  #calls = 0;
  #answered = 0;

  private constructor(worker: Worker, limits: SandboxLimits, callTool: CallTool) {
    this.#worker = worker;
    this.#limits = limits;
    this.#callTool = callTool;
  }

  /** Uses the worker up. */
  static async run(worker: Worker, limits: SandboxLimits, options: RunOptions): Promise<SandboxOutcome> {
    const run = new SandboxRun(worker, limits, options.callTool);
    return await run.#run(options.code, options.signal);
  }

  async #run(code: string, signal: AbortSignal): Promise<SandboxOutcome> {
    const { totalMs } = this.#limits;
    const abort = (): void => this.#fail('aborted', 'the run was cancelled');
    const total = setTimeout(() => this.#fail('total_time', `the run took longer than ${totalMs / 1000} s`), totalMs);
    signal.addEventListener('abort', abort, { once: true });
    this.#worker.on('message', (message: FromWorker) => this.#receive(message));
    this.#worker.on('error', (error: NodeJS.ErrnoException) => this.#broke(error));
    this.#worker.on('exit', () => this.#fail('error', 'the sandbox ended by itself'));
    if (signal.aborted) abort();
    else this.#post({ kind: 'run', code });

    const end = await this.#ended.promise;
    signal.removeEventListener('abort', abort);
    clearTimeout(total);
    clearTimeout(this.#computing);
    this.#calling.abort();
    await this.#worker.terminate();
    return { ...end, console: this.#console, calls: this.#calls };
  }

  #fail(reason: SandboxFailure, message: string): void {
    this.#ended.resolve({ kind: 'failed', reason, message });
  }

  #broke(error: NodeJS.ErrnoException): void {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') this.#fail('memory', 'the code used more memory than it may');
    else this.#fail('error', `the sandbox failed: ${error.message}`);
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case 'started':
        return this.#computes();
      case 'console':
        this.#console += message.text;
        return;
      case 'call':
        void this.#call(message);
        return;
      case 'waiting':
        // Unless answers are on their way to it.
        if (message.settled === this.#answered) clearTimeout(this.#computing);
        return;
      case 'end':
        return this.#ended.resolve(message.end);
    }
  }

  #computes(): void {
    clearTimeout(this.#computing);
    const { computeMs } = this.#limits;
    const message = `the code computed for longer than ${computeMs / 1000} s`;
    this.#computing = setTimeout(() => this.#fail('compute_time', message), hardComputeMs(computeMs));
  }

  /** Never rejects. */
  async #call({ id, name, args }: Call): Promise<void> {
    this.#calls++;
    const { signal } = this.#calling;
    const answer = await this.#answer(name, args, signal).catch((error: unknown) => ({
      ok: false,
      text: failureText(error, this.#limits.callResultBytes),
    }));
    if (signal.aborted) return;
    this.#answered++;
    this.#computes();
    this.#post({ kind: 'settle', id, ...answer });
  }

  async #answer(name: string, args: string, signal: AbortSignal): Promise<{ ok: boolean; text: string }> {
    const parsed: unknown = JSON.parse(args);
    if (!isObject(parsed)) throw new Error('call_tool(name, args): the arguments must be an object');
    const text = await this.#callTool(name, parsed, signal);
    const { callResultBytes } = this.#limits;
    const bytes = Buffer.byteLength(text);
    if (bytes <= callResultBytes) return { ok: true, text };
    throw new Error(`the answer of ${name} has ${bytes} bytes, more than the ${callResultBytes} that code may get`);
  }

  #post(message: ToWorker): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A worker's has none.
    this.#worker.postMessage(message);
  }
}
