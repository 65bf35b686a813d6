import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Bench } from './bench.ts';
import type { Child } from './processes.ts';

/** What `loadgen run` reports; times are milliseconds unless the name says otherwise. */
const LoadResult = z.object({
  calls: z.number(),
  errors: z.number(),
  firstError: z.string().optional(),
  seconds: z.number(),
  perSecond: z.number(),
  p50: z.number(),
  p99: z.number(),
  max: z.number(),
  /** Unix times of the measured part. */
  from: z.number(),
  to: z.number(),
  /** CPU seconds of the watched processes, by id. */
  cpu: z.record(z.string(), z.number()),
  ownCpu: z.number(),
  machine: z.object({ busy: z.number(), niced: z.number(), steal: z.number() }),
});
export type LoadResult = z.output<typeof LoadResult>;

const Listening = z.object({ url: z.url() });

export interface Load {
  /** Endpoints that each session's calls go to in turn. */
  readonly urls: readonly string[];
  readonly scenario: 'echo' | 'list' | 'large' | 'session' | 'idle' | 'huge' | 'write';
  readonly connections: number;
  /** Seconds; with `count` the limit. */
  readonly seconds: number;
  readonly warmUp: number;
  /** Stop after so many calls. */
  readonly count?: number;
  /** Further flags of the generator. */
  readonly flags?: readonly string[];
  /** Processes whose CPU time matters. */
  readonly watch: readonly number[];
}

const program = (bench: Bench): string => join(bench.root, 'bench/loadgen/bin/loadgen');

/**
 * Runs the load generator.
 * @throws when it cannot start its sessions, or reports nothing in time
 */
export async function generateLoad(bench: Bench, load: Load): Promise<LoadResult> {
  const flags = ['-scenario', load.scenario, '-c', String(load.connections), '-watch', load.watch.join(',')];
  flags.push('-time', `${load.seconds}s`, '-warm-up', `${load.warmUp}s`, '-count', String(load.count ?? 0));
  for (const url of load.urls) flags.push('-url', url);
  flags.push(...(load.flags ?? []));
  const child = bench.processes.start('loadgen', [program(bench), 'run', ...flags], {
    core: bench.cores.load,
    output: 'pipe',
  });
  // The generator bounds each exchange at 30 s, and itself by its times; this is for the case that it is stuck.
  const limit = setTimeout(() => child.process.kill('SIGKILL'), (load.seconds + load.warmUp + 90) * 1000);
  try {
    return LoadResult.parse(JSON.parse(await firstLine(child, bench.signal)));
  } finally {
    clearTimeout(limit);
    await child.stop();
  }
}

/** The MCP server behind the targets. */
export interface Upstream {
  readonly origin: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts the upstream on a core and waits until it listens. */
export async function startUpstream(bench: Bench, core: number | undefined): Promise<Upstream> {
  const child = bench.processes.start('upstream', [program(bench), 'upstream'], { core, output: 'pipe' });
  const { url } = Listening.parse(JSON.parse(await firstLine(child, bench.signal)));
  return { origin: url, pid: child.pid, stop: () => child.stop() };
}

/** The first line that a process writes; an error when it ends before. */
async function firstLine(child: Child, signal: AbortSignal): Promise<string> {
  if (child.process.stdout === null) throw new Error(`${child.name}: its output is not piped`);
  const lines = createInterface(child.process.stdout);
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  const line = once(lines, 'line', { signal: either }).then(([text]) => String(text));
  const end = once(lines, 'close', { signal: either }).then(async () => {
    await child.untilEnd();
    throw new Error(child.fate);
  });
  try {
    return await Promise.race([line, end]);
  } finally {
    done.abort();
  }
}
