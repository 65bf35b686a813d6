import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, type Bench } from './bench.ts';
import type { Child } from './processes.ts';
import { startRedis } from './redis.ts';
import { scraperConfig } from './scraper-config.ts';
import type { ScrapeJob } from './scrape-job.ts';
import { onPath } from './setup.ts';
import type { Measurable } from './targets.ts';

/** Something that scrapes. */
export interface ScraperTarget extends Measurable {
  /** Returns as soon as the process is started. */
  start(bench: Bench, job: ScrapeJob, nodeFlags?: readonly string[]): Promise<RunningScraper>;
}

export interface RunningScraper {
  readonly child: Child;
  /** Unix milliseconds, with fractions, just before the process was started. */
  readonly startedAt: number;
  readonly helperPids: readonly number[];
  /**
   * When it had remembered what it exported, as Unix milliseconds; undefined when it remembers nothing after that.
   * @param exported when the collector got the last of it
   */
  committedAt(exported: number): Promise<number | undefined>;
  stop(): Promise<void>;
}

const unixMs = (): number => performance.timeOrigin + performance.now();

/** A scraper's core belongs to nobody else. */
const coreOf = (bench: Bench): number | undefined => bench.cores.targets[0];

/** `floors/json-scraper.ts`. */
export const scraperFloor: ScraperTarget = {
  name: 'json-scraper',
  absent: () => undefined,
  async start(bench, job, nodeFlags = []) {
    const command = [process.execPath, ...nodeFlags, join(bench.root, 'bench/floors/json-scraper.ts')];
    const startedAt = unixMs();
    const env = { JOB: JSON.stringify(job) };
    const child = bench.processes.start('json-scraper', command, { core: coreOf(bench), env });
    return {
      child,
      startedAt,
      helperPids: [],
      committedAt: () => Promise.resolve(undefined),
      stop: () => child.stop(),
    };
  },
};

export interface ScraperOptions {
  readonly name: string;
  readonly state: 'sqlite' | 'redis';
  readonly program?: 'source' | 'built';
}

/** The scraper itself. */
export function scraper({ name, state, program = 'source' }: ScraperOptions): ScraperTarget {
  return {
    name,
    built: program === 'built',
    absent(bench) {
      if (state === 'redis' && !onPath('redis-server')) return 'no redis-server on the PATH';
      return program === 'built' ? bench.builtAbsent : undefined;
    },
    async start(bench, job, nodeFlags) {
      const redis = state === 'redis' ? await startRedis(bench, job.folder) : undefined;
      const port = await freePort();
      const config = scraperConfig(job, port, redis?.port);
      try {
        const { child, startedAt } = await startProgram(bench, {
          name,
          program,
          config,
          folder: job.folder,
          nodeFlags,
        });
        return {
          child,
          startedAt,
          helperPids: redis === undefined ? [] : [redis.child.pid],
          committedAt: (exported) => untilCommitted(bench, `http://127.0.0.1:${port}`, exported),
          async stop() {
            await child.stop();
            await redis?.child.stop();
          },
        };
      } catch (error) {
        await redis?.child.stop();
        throw error;
      }
    },
  };
}

const COMMIT_LIMIT_MS = 20_000;
/** Clocks of two processes, and times in whole milliseconds. */
const CLOCK_MS = 5;

/** What health says of its only source: `last_success` is the time of its last commit. */
async function untilCommitted(bench: Bench, origin: string, exported: number): Promise<number> {
  const deadline = performance.now() + COMMIT_LIMIT_MS;
  while (performance.now() < deadline) {
    const signal = AbortSignal.any([bench.signal, AbortSignal.timeout(5000)]);
    const response = await fetch(`${origin}/healthz`, { signal });
    const { sources } = (await response.json()) as { sources: readonly { last_success: string | null }[] };
    const committed = Date.parse(sources[0]?.last_success ?? '');
    if (committed >= exported - CLOCK_MS) return committed;
    await sleep(20, undefined, { signal: bench.signal });
  }
  throw new Error(`nothing was committed within ${COMMIT_LIMIT_MS} ms after the export`);
}

export interface Program {
  readonly name: string;
  readonly program: 'source' | 'built';
  /** Content of its configuration file. */
  readonly config: string;
  readonly folder: string;
  readonly nodeFlags?: readonly string[] | undefined;
}

/** As bin/otel-api-scraper starts it: with many sources, most of what is young is garbage, and kept for long otherwise. */
const FLAGS = ['--max-semi-space-size=4'];

/** Starts the program and waits for nothing. */
export async function startProgram(
  bench: Bench,
  { name, program, config, folder, nodeFlags = [] }: Program,
): Promise<{ child: Child; startedAt: number }> {
  const path = join(bench.root, program === 'source' ? 'scraper/main.ts' : 'dist/scraper/main.js');
  if (!existsSync(path)) throw new Error(`${name}: there is no ${path}`);
  const file = join(folder, 'config.yaml');
  await writeFile(file, config);
  const command = [process.execPath, ...FLAGS, ...nodeFlags, path, '--config', file, '--host', '127.0.0.1'];
  const startedAt = unixMs();
  return { child: bench.processes.start(name, command, { core: coreOf(bench), cwd: folder }), startedAt };
}

/** A folder for the state of one measurement. */
export const stateFolder = (bench: Bench): Promise<string> => mkdtemp(join(bench.folder, 'scraper-'));
