import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { mounts } from '../floors/mounts.ts';
import type { Mount } from '../floors/mounts.ts';
import { adapterConfig } from './adapter-config.ts';
import type { StateType } from './adapter-config.ts';
import { collectGarbage, inspectorUrl } from './collect-garbage.ts';
import { freePort, untilHealthy } from './bench.ts';
import type { Bench } from './bench.ts';
import { startUpstream } from './loadgen.ts';
import { stateMismatch } from './effective-state.ts';
import type { Upstream } from './loadgen.ts';
import type { Child } from './processes.ts';
import { startRedis } from './redis.ts';
import { onPath } from './setup.ts';

/** Something that can be measured. */
export interface Measurable {
  readonly name: string;
  /** It is a program that `npm run build` makes. */
  readonly built?: boolean;
  /** Why it cannot be measured on this machine, or undefined. */
  absent(bench: Bench): string | undefined;
}

/** Something that stands between clients and an upstream. */
export interface Target extends Measurable {
  /** @throws when it does not become healthy */
  start(bench: Bench, upstream: Upstream, nodeFlags?: readonly string[]): Promise<RunningTarget>;
}

export interface RunningTarget {
  readonly name: string;
  /** The endpoints of a mount, one for each replica. */
  urls(mount: Mount): string[];
  /** Processes whose CPU time and memory are the target's. */
  readonly pids: readonly number[];
  /** What the target needs beside itself, such as Redis. */
  readonly helperPids: readonly number[];
  /** Collects the garbage of all replicas; they must have been started with `inspectorFlag`. */
  collectGarbage(): Promise<void>;
  /** From starting the first process to its first 200 of /livez. */
  readonly startSeconds: number;
  /** Unix time at which the first process was started. */
  readonly startedAt: number;
  stop(): Promise<void>;
}

/** The upstream without anything before it. It needs one of its own, on the targets' core. */
export const direct: Target = {
  name: 'direct',
  absent: () => undefined,
  async start(bench) {
    const upstream = await startUpstream(bench, bench.cores.targets[0]);
    return {
      name: 'direct',
      urls: (mount) => [`${upstream.origin}${mounts.get(`/mcp/${mount}`)}`],
      pids: [upstream.pid],
      helperPids: [],
      collectGarbage: () => Promise.reject(new Error('direct: not a Node program')),
      startSeconds: 0,
      startedAt: Date.now(),
      stop: () => upstream.stop(),
    };
  },
};

/** One of the programs in `floors/`. */
export function floor(name: 'node-dispatch' | 'fastify-dispatch' | 'file-stream'): Target {
  return {
    name,
    absent: () => undefined,
    async start(bench, upstream, nodeFlags = []) {
      const port = await freePort();
      const origin = `http://127.0.0.1:${port}`;
      const command = [process.execPath, ...nodeFlags, join(bench.root, `bench/floors/${name}.ts`)];
      const folder = await mkdtemp(join(bench.folder, `${name}-`));
      const env = { PORT: String(port), UPSTREAM: upstream.origin, FOLDER: folder };
      return await startNode(bench, name, [{ command, env, origin }]);
    },
  };
}

export interface AdapterOptions {
  readonly name: string;
  readonly state: StateType;
  /** `source` runs the TypeScript files as they are, `built` what `npm run build` makes of them. */
  readonly program?: 'source' | 'built';
  readonly replicas?: number;
  /** More fields of its configuration, by their sections. */
  readonly extra?: Readonly<Record<string, object>>;
  /** Puts files into the storage before the start. */
  readonly prepare?: (storage: string) => Promise<void>;
}

/** The adapter, with one or more replicas that share storage and state. */
export function adapter(options: AdapterOptions): Target {
  const { name, state, program = 'source', replicas = 1, extra } = options;
  const path = program === 'source' ? 'adapter/main.ts' : 'dist/adapter/main.js';
  return {
    name,
    built: program === 'built',
    absent(bench) {
      if (state === 'redis' && !onPath('redis-server')) return 'no redis-server on the PATH';
      if (!existsSync(join(bench.root, 'adapter/main.ts'))) return 'there is no adapter/main.ts';
      return program === 'built' ? bench.builtAbsent : undefined;
    },
    async start(bench, upstream, nodeFlags = []) {
      const folder = await mkdtemp(join(bench.folder, `${name}-`));
      const storage = join(folder, 'storage');
      mkdirSync(storage);
      await options.prepare?.(storage);
      const redis = state === 'redis' ? await startRedis(bench, folder) : undefined;
      try {
        const instances = [];
        for (let i = 0; i < replicas; i++) {
          const port = await freePort();
          const file = join(folder, `config-${i}.yaml`);
          writeFileSync(
            file,
            adapterConfig({ port, storage, state, redisPort: redis?.port, upstream: upstream.origin, extra }),
          );
          const command = [process.execPath, ...nodeFlags, join(bench.root, path), '--config', file];
          instances.push({ command, env: {}, origin: `http://127.0.0.1:${port}` });
        }
        const running = await startNode(bench, name, instances, redis?.child);
        try {
          for (const { origin } of instances) await requireState(bench, name, origin, state);
        } catch (error) {
          await running.stop();
          throw error;
        }
        return running;
      } catch (error) {
        await redis?.child.stop();
        throw error;
      }
    },
  };
}

/** @throws when the adapter keeps its state elsewhere than configured: its numbers would be another state type's */
async function requireState(bench: Bench, name: string, origin: string, state: StateType): Promise<void> {
  const signal = AbortSignal.any([bench.signal, AbortSignal.timeout(5000)]);
  const response = await fetch(`${origin}/healthz`, { signal });
  const mismatch = stateMismatch(await response.json(), state);
  if (mismatch !== undefined) throw new Error(`${name}: ${mismatch}`);
}

interface Instance {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly origin: string;
}

/** Starts the instances of a target one after the other; when one fails, those before it are stopped. */
async function startNode(
  bench: Bench,
  name: string,
  instances: readonly Instance[],
  helper?: Child,
): Promise<RunningTarget> {
  const children: Child[] = [];
  let startSeconds = 0;
  const startedAt = Date.now();
  try {
    for (const [i, { command, env, origin }] of instances.entries()) {
      const core = bench.cores.targets[i % bench.cores.targets.length];
      const from = performance.now();
      const child = bench.processes.start(name, command, { core, env, cwd: bench.folder });
      children.push(child);
      await untilHealthy(`${origin}/livez`, child, bench.signal);
      if (i === 0) startSeconds = (performance.now() - from) / 1000;
      await untilHealthy(`${origin}/healthz`, child, bench.signal);
    }
  } catch (error) {
    await Promise.all(children.map((child) => child.stop()));
    throw error;
  }
  return {
    name,
    urls: (mount) => instances.map(({ origin }) => `${origin}/mcp/${mount}`),
    pids: children.map(({ pid }) => pid),
    helperPids: helper === undefined ? [] : [helper.pid],
    async collectGarbage() {
      for (const child of children) {
        const url = inspectorUrl(child.log);
        if (url === undefined) throw new Error(`${name}: its inspector does not listen`);
        await collectGarbage(url, bench.signal);
      }
    },
    startSeconds,
    startedAt,
    async stop() {
      await Promise.all(children.map((child) => child.stop()));
      await helper?.stop();
    },
  };
}
