import { watch } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Handshake, createHandshake } from '../mcp-adapter/health/handshake.ts';
import { ALL_PERMISSIONS } from '../validation/permissions.ts';
import { checkManifests } from './check-manifests.ts';
import { describeProblem } from './describe-problem.ts';
import { freePort, portIfFree } from './free-port.ts';
import { readManifests } from './manifests.ts';
import { PodRunner } from './pod-runner.ts';
import { type Health, probe } from './probe.ts';
import { type Row, table } from './table.ts';
import { type Workload, workloads } from './workload.ts';

export interface LocalOptions {
  /** Files and folders of resources. */
  readonly paths: readonly string[];
  readonly namespace: string;
  /** Where volumes are kept. */
  readonly dataDir: string;
  /** Port of the first adapter; 0 takes a free one. Undefined: that of its configuration, or a free one. */
  readonly port: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For people: tables, problems, the lines of the programs. */
  readonly print: (text: string) => void;
  /** Called with each status that differs from the last. */
  readonly onStatus?: (rows: readonly Row[]) => void;
}

const SETTLE_MS = 200;
const POLL_UNREADY_MS = 300;
const POLL_READY_MS = 5000;

interface Running {
  readonly workload: Workload;
  readonly runner: PodRunner;
  readonly url: string;
  /** What keeps it from running, and what differs from the cluster. */
  readonly remarks: readonly string[];
  /** Whether an MCP client was answered. */
  answered: boolean;
}

/**
 * Runs the resources of the files as processes of this machine, until the signal: applies what changes in the files,
 * ends what is gone, and says how each is. A resource that is invalid changes nothing: what ran goes on.
 * @throws Error when nothing can run at the start
 */
export async function runLocal(options: LocalOptions, signal: AbortSignal): Promise<void> {
  const local = new Local(options);
  try {
    await local.reconcile();
    if (local.isEmpty) throw new Error('nothing to run: the files hold no valid resource');
    using _watching = watchPaths(options.paths, local.changed);
    await local.follow(signal);
  } finally {
    await local.stop();
  }
}

class Local {
  readonly #options: LocalOptions;
  readonly #running = new Map<string, Running>();
  /** Where each was reached last, so that it is found there again. */
  readonly #ports = new Map<string, number>();
  readonly #handshake = createHandshake('local');
  #shown = '';
  #wake: () => void = () => undefined;
  #dirty = false;
  #changedAt = 0;

  constructor(options: LocalOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#running.size === 0;
  }

  readonly changed = (): void => {
    this.#dirty = true;
    this.#changedAt = performance.now();
    this.#wake();
  };

  /** observe → check → build → apply, as the operator does it with a cluster. */
  async reconcile(): Promise<void> {
    const { paths, namespace, dataDir, env, print } = this.#options;
    const read = await readManifests(paths, namespace);
    const invalid = checkManifests(read.manifests, ALL_PERMISSIONS);
    for (const problem of [...read.problems, ...invalid]) print(describeProblem(problem));
    const broken = new Set(invalid.map(({ file }) => file));
    const desired = new Map(workloads(read.manifests, resolve(dataDir), env).map((one) => [one.key, one]));
    for (const [key, running] of this.#running) {
      const wanted = desired.get(key);
      // An invalid edit changes nothing, and in a file that cannot be read, anything may stand.
      if (
        wanted === undefined &&
        (read.problems.length > 0 || running.workload.files.some((file) => broken.has(file)))
      ) {
        continue;
      }
      if (wanted?.hash !== running.workload.hash) await this.#end(key, running, wanted === undefined);
    }
    for (const [key, workload] of desired) if (!this.#running.has(key)) await this.#begin(key, workload);
  }

  async follow(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    while (!signal.aborted) {
      if (this.#dirty && performance.now() - this.#changedAt >= SETTLE_MS) {
        this.#dirty = false;
        await this.reconcile();
      }
      const allReady = await this.#observe(signal);
      await this.#pause(this.#dirty ? SETTLE_MS : allReady ? POLL_READY_MS : POLL_UNREADY_MS);
    }
  }

  async stop(): Promise<void> {
    for (const { runner } of [...this.#running.values()].toReversed()) await runner.stop();
    this.#running.clear();
    await this.#handshake.close();
  }

  async #begin(key: string, workload: Workload): Promise<void> {
    const port = await this.#port(workload);
    this.#ports.set(key, port);
    const ports = new Map([[workload.port, port]]);
    const wanted: number[] = [];
    workload.pod((one) => {
      wanted.push(one);
      return one;
    });
    for (const one of wanted) if (!ports.has(one)) ports.set(one, await freePort(one));
    const pod = workload.pod((one) => ports.get(one) ?? one);
    await mkdir(workload.folder, { recursive: true, mode: 0o700 });
    const runner = new PodRunner(pod, {
      line: (container, line) => this.#options.print(container === workload.container ? line : `${container}: ${line}`),
      change: () => this.#wake(),
    });
    const url = `http://127.0.0.1:${port}`;
    this.#running.set(key, { workload, runner, url, remarks: [...pod.problems, ...workload.notes], answered: false });
    if (pod.problems.length === 0) await runner.start();
  }

  async #port({ key, port }: Workload): Promise<number> {
    const { port: given } = this.#options;
    const before = this.#ports.get(key);
    if (before !== undefined) return freePort(before);
    if (given === undefined || this.#running.size > 0) return freePort(port);
    const free = await portIfFree(given);
    if (free === undefined) throw new Error(`Port ${given} of 127.0.0.1 is in use.`);
    return free;
  }

  async #end(key: string, { workload, runner }: Running, gone: boolean): Promise<void> {
    this.#options.print(
      `${workload.kind} ${workload.name} ${gone ? 'is gone: stopping it' : 'changed: starting it anew'}`,
    );
    await runner.stop();
    this.#running.delete(key);
    if (gone && !workload.retained) await rm(workload.folder, { recursive: true, force: true });
  }

  /** Prints the table when it differs from the last one. @returns whether all is well */
  async #observe(signal: AbortSignal): Promise<boolean> {
    const rows: Row[] = [];
    for (const running of this.#running.values()) {
      const health = await probe(running.url);
      rows.push(rowOf(running, health, health.ready ? await this.#probeHandshake(running, signal) : undefined));
    }
    const text = table(rows);
    if (text !== this.#shown) {
      this.#shown = text;
      this.#options.print(`\n${text}\n`);
      this.#options.onStatus?.(rows);
    }
    return rows.every(({ ready }) => ready === 'True');
  }

  /** As in a cluster, an adapter is ready only when a client was answered: its upstreams may need a moment more. */
  async #probeHandshake(running: Running, signal: AbortSignal): Promise<Handshake> {
    const [mountPath] = running.workload.mountPaths;
    if (running.answered || mountPath === undefined) return { ok: true };
    try {
      const handshake = await this.#handshake.probeHandshake({ origin: running.url, mountPath }, signal);
      running.answered = handshake.ok;
      return handshake;
    } catch (error) {
      if (!signal.aborted) throw error;
      return { ok: false, message: 'stopping' };
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((wake) => {
      const timer = setTimeout(wake, ms);
      this.#wake = () => {
        clearTimeout(timer);
        wake();
      };
    });
  }
}

function rowOf({ workload, runner, url, remarks }: Running, health: Health, handshake: Handshake | undefined): Row {
  const { kind, name, mountPaths } = workload;
  const { restarts, reason } = runner.state;
  const failing = reason === undefined ? [] : [reason];
  const unanswered = handshake?.ok === false && failing.length === 0 ? [handshake.message] : [];
  return {
    kind,
    name,
    ready: failing.length > 0 ? 'False' : handshake?.ok === true ? 'True' : 'Unknown',
    upstreams: health.upstreams,
    restarts,
    url: mountPaths.length === 1 ? `${url}${mountPaths[0]}` : url,
    message: [...failing, ...unanswered, ...health.problems, ...remarks].join('; '),
  };
}

function watchPaths(paths: readonly string[], changed: () => void): Disposable {
  const watchers = paths.map((path) => watch(path, changed).on('error', changed));
  return {
    [Symbol.dispose]() {
      for (const watcher of watchers) watcher.close();
    },
  };
}
