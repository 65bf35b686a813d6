import { Worker } from 'node:worker_threads';

import { ownProgram } from '../../../lib/own-program.ts';
import { workerEnvironment } from '../../../lib/worker-environment.ts';
import { compileEngine } from './compile-engine.ts';
import { Semaphore } from './semaphore.ts';
import type { SandboxLimits } from './sandbox-limits.ts';
import type { SandboxFailure, WorkerStart } from './sandbox-messages.ts';
import { type RunOptions, type SandboxOutcome, SandboxRun } from './sandbox-run.ts';
import { SpareWorker } from './spare-worker.ts';

const WORKER = ownProgram('sandbox-worker', import.meta.url);

export type { CallTool, SandboxOutcome } from './sandbox-run.ts';

/** What is asked of a run, and whose it is: of those of one owner, half of the places can be taken. */
type OwnedRun = RunOptions & { readonly owner?: string | undefined };

const MIB = 1_048_576;
/** How long a run waits for its place, in milliseconds: code that only fetches and joins has long ended then. */
const WAIT_MS = 10_000;
/** Their code is in memory meanwhile. */
const MAX_WAITING = 64;
const MAX_WAITING_OF_OWNER = 16;
/** What a worker needs for itself. */
const WORKER_HEAP_MB = 32;
/**
 * The engine's frames lie on the stack of the thread too, and are larger there than where the engine counts them:
 * measured at less than ten times.
 */
const STACK_FACTOR = 16;

/**
 * Runs JavaScript that nobody has read: QuickJS inside WebAssembly inside a thread of its own. Each run has a new one, which
 * ends with it; nothing of a run is left for another. The code has the language, `console` and `call_tool(name, args)`.
 */
export class Sandbox {
  readonly limits: SandboxLimits;
  readonly #places: Semaphore;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<SandboxOutcome>>();
  #workers: Promise<SpareWorker> | undefined;

  /**
   * Beyond `maxRunning` runs at a time, more wait for `waitMs` at most and are refused then: each may take a core and the
   * whole memory of the limits.
   */
  constructor(options: { readonly limits: SandboxLimits; readonly maxRunning: number; readonly waitMs?: number }) {
    this.limits = options.limits;
    this.#places = new Semaphore({
      places: options.maxRunning,
      ofOwner: Math.ceil(options.maxRunning / 2),
      waiting: MAX_WAITING,
      waitingOfOwner: MAX_WAITING_OF_OWNER,
      waitMs: options.waitMs ?? WAIT_MS,
    });
  }

  /** `code` is the body of an async function. Never rejects. */
  async run(options: OwnedRun): Promise<SandboxOutcome> {
    const { codeBytes } = this.limits;
    if (Buffer.byteLength(options.code) > codeBytes) {
      return refused('code_size', `the code is longer than ${codeBytes} bytes`);
    }
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    if (signal.aborted) return refused('aborted', 'the run was cancelled');
    using place = await this.#places.take(options.owner, signal);
    if (signal.aborted) return refused('aborted', 'the run was cancelled');
    if (place === undefined) return refused('busy', 'too many other runs are going on: try again later');
    const run = this.#run({ ...options, signal });
    this.#running.add(run);
    try {
      return await run;
    } catch (error) {
      return refused('error', `the sandbox does not start: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#running.delete(run);
    }
  }

  /** Ends what runs, and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    await this.#workers?.then(
      (workers) => workers.close(),
      () => {},
    );
  }

  async #run(options: RunOptions): Promise<SandboxOutcome> {
    this.#workers ??= compileEngine().then((engine) => new SpareWorker(() => startWorker(engine, this.limits)));
    const workers = await this.#workers.catch((error: unknown) => {
      this.#workers = undefined;
      throw error;
    });
    const outcome = await SandboxRun.run(workers.take(), this.limits, options);
    if (!this.#closing.signal.aborted) workers.prepare();
    return outcome;
  }
}

function startWorker(engine: object, limits: SandboxLimits): Worker {
  const start: WorkerStart = { engine, limits };
  // Texts on their way through the worker's own heap, at two bytes a character; as many again are garbage already.
  const texts = limits.parallelCalls * (limits.argumentBytes + limits.callResultBytes) + limits.outputBytes;
  return new Worker(WORKER, {
    name: 'code-mode',
    workerData: start,
    // Neither secrets nor options of this process.
    env: workerEnvironment(),
    argv: [],
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: {
      maxOldGenerationSizeMb: WORKER_HEAP_MB + Math.ceil((4 * texts) / MIB),
      stackSizeMb: Math.max(4, Math.ceil((limits.stackBytes * STACK_FACTOR) / MIB)),
    },
  });
}

function refused(reason: SandboxFailure, message: string): SandboxOutcome {
  return { kind: 'failed', reason, message, console: '', calls: 0 };
}
