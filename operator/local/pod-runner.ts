import { pause } from '../../lib/pause.ts';
import type { LocalContainer, LocalPod } from './local-pod.ts';
import { inherited, type Program, startProgram } from './program.ts';
import { writeVolumes } from './write-volumes.ts';

/** How long running calls may go on after the end was asked for, and how long a process may then take. */
export const GRACE_SECONDS = 5;
const STOP_MS = (GRACE_SECONDS + 5) * 1000;
const FIRST_RESTART_MS = 1000;
const LAST_RESTART_MS = 30_000;
/** A process that ran for so long starts again at once. */
const STEADY_MS = 60_000;

export interface PodState {
  readonly restarts: number;
  /** Why it does not run now. */
  readonly reason: string | undefined;
}

/** Runs the processes of one pod and starts those again that end, later each time, until it is stopped. */
export class PodRunner {
  readonly #pod: LocalPod;
  readonly #onLine: (container: string, line: string) => void;
  readonly #onChange: () => void;
  readonly #stopping = new AbortController();
  readonly #running = new Map<string, Program>();
  readonly #reasons = new Map<string, string>();
  #loops: Promise<void>[] = [];
  #restarts = 0;

  constructor(pod: LocalPod, on: { line: (container: string, line: string) => void; change: () => void }) {
    this.#pod = pod;
    this.#onLine = on.line;
    this.#onChange = on.change;
  }

  get state(): PodState {
    return { restarts: this.#restarts, reason: [...this.#reasons.values()][0] };
  }

  async start(): Promise<void> {
    await writeVolumes(this.#pod);
    this.#loops = this.#pod.containers.map((container) => this.#keepRunning(container));
  }

  /** Ends one container after the other: sidecars serve the first. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const { name } of this.#pod.containers) await this.#running.get(name)?.stop(STOP_MS);
    await Promise.all(this.#loops);
  }

  async #keepRunning(container: LocalContainer): Promise<void> {
    let waitMs = FIRST_RESTART_MS;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const started = performance.now();
      const program = startProgram({
        command: container.command,
        env: { ...inherited(), ...container.env },
        folder: container.folder,
        onLine: (line) => this.#onLine(container.name, line),
      });
      this.#running.set(container.name, program);
      this.#reasons.delete(container.name);
      const how = await program.ended;
      this.#running.delete(container.name);
      if (signal.aborted) return;
      if (performance.now() - started > STEADY_MS) waitMs = FIRST_RESTART_MS;
      this.#restarts += 1;
      this.#reasons.set(container.name, `${container.name} ended (${how}) and starts again in ${waitMs / 1000} s`);
      this.#onChange();
      await pause(waitMs, signal);
      waitMs = Math.min(waitMs * 2, LAST_RESTART_MS);
    }
  }
}
