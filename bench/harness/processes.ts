import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onPath } from './setup.ts';

export interface StartOptions {
  /** The core that the process is held to; undefined: any. */
  readonly core?: number | undefined;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** A process that the benchmark started. Its standard error is a log file; so is its output unless it is read. */
export class Child {
  readonly name: string;
  readonly pid: number;
  readonly process: ChildProcess;
  readonly #log: string;

  constructor(name: string, process: ChildProcess, log: string) {
    if (process.pid === undefined) throw new Error(`${name} could not be started`);
    this.name = name;
    this.pid = process.pid;
    this.process = process;
    this.#log = log;
  }

  get ended(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  /** All that it wrote. */
  get log(): string {
    return readFileSync(this.#log, 'utf8');
  }

  /** How it ended and the last that it said. */
  get fate(): string {
    const how = this.process.signalCode ?? `exit code ${this.process.exitCode}`;
    return `${this.name} ended (${how})\n${this.log.slice(-2000)}`.trimEnd();
  }

  async untilEnd(): Promise<void> {
    if (!this.ended) await once(this.process, 'exit');
  }

  /** Asks it to end and, after the grace, ends it. */
  async stop(graceMs = 10_000): Promise<void> {
    if (this.ended) return;
    const end = this.untilEnd();
    this.process.kill('SIGTERM');
    const timer = setTimeout(() => this.process.kill('SIGKILL'), graceMs);
    await end;
    clearTimeout(timer);
  }
}

/** All processes of a run, so that none outlives it. */
export class Processes {
  readonly #folder: string;
  readonly #running = new Set<Child>();
  /** The kernel ends them when this process dies without a chance to do so itself. */
  readonly #bound = onPath('setpriv');
  #count = 0;

  /** @param folder for the log files */
  constructor(folder: string) {
    this.#folder = folder;
    process.on('exit', () => this.#killAll());
  }

  /** Starts a program. `output: 'pipe'` leaves its standard output to the caller and holds its input open. */
  start(name: string, command: readonly string[], options: StartOptions & { readonly output?: 'pipe' } = {}): Child {
    const pinned = options.core === undefined ? command : ['taskset', '-c', String(options.core), ...command];
    const [program, ...args] = this.#bound ? ['setpriv', '--pdeathsig', 'KILL', ...pinned] : pinned;
    if (program === undefined) throw new Error(`${name}: no command`);
    const log = join(this.#folder, `${name}-${++this.#count}.log`);
    const file = openSync(log, 'w');
    try {
      const pipe = options.output === 'pipe';
      const started = spawn(program, args, {
        cwd: options.cwd,
        env: { ...process.env, ...options.env },
        stdio: [pipe ? 'pipe' : 'ignore', pipe ? 'pipe' : file, file],
      });
      started.on('error', () => {}); // a missing program shows as a missing process id
      const child = new Child(name, started, log);
      this.#running.add(child);
      child.process.once('exit', () => this.#running.delete(child));
      return child;
    } finally {
      closeSync(file);
    }
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map((child) => child.stop(5000)));
  }

  #killAll(): void {
    for (const child of this.#running) child.process.kill('SIGKILL');
  }
}
