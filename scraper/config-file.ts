import { createHash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { HiddenPlace } from '../lib/redaction/hidden-places.ts';
import { loadScraperFile, loadUsableSources } from '../crds/config/load/load.ts';
import { ConfigError, type Problem, formatProblems } from '../crds/config/load/problem.ts';
import type { Environment } from '../lib/references/reference.ts';
import { scraperWarnings } from '../crds/config/scraper-file/warnings.ts';
import type { ScraperConfig } from '../crds/config/scraper-file/scraper.ts';
import { saveMemory } from '../lib/memory/trim-memory.ts';

/** Where the file system reports no changes, as on some network file systems. */
const POLL_MS = 3_000;
/** A change is often several events. */
const SETTLE_MS = 100;
/** Some hundreds of sources: what they hold for ever matters more than how fast each of them is. */
const LARGE_BYTES = 256 << 10;

export interface LoadedConfig {
  readonly config: ScraperConfig;
  /** The first 16 hexadecimal digits of the SHA-256 of the file. */
  readonly hash: string;
  readonly warnings: readonly Problem[];
  /** What is wrong with sources that are left out, with `--keep-going`. */
  readonly leftOut?: readonly Problem[];
  /** Hosts in it that are told as they are written. */
  readonly places?: readonly HiddenPlace[];
}

/**
 * @param keepGoing leaves out sources that something is wrong with, rather than refuse the file
 * @throws ConfigError, or an error of the file system
 */
export async function readConfigFile(path: string, env: Environment, keepGoing = false): Promise<LoadedConfig> {
  const bytes = await readFile(path);
  // Before it is parsed, which takes the most.
  if (bytes.length > LARGE_BYTES) saveMemory();
  return load(bytes, env, keepGoing);
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex').slice(0, 16);

function load(bytes: Buffer, env: Environment, keepGoing: boolean): LoadedConfig {
  const text = bytes.toString('utf8');
  const { config, places, leftOut } = keepGoing
    ? loadUsableSources(text, env)
    : { ...loadScraperFile(text, env), leftOut: [] };
  // Where sources are left out, the others do not stand in the file where warnings would look for them.
  const warnings = leftOut.length > 0 ? [] : scraperWarnings(config, text, env);
  return { config, places, hash: hashOf(bytes), warnings, leftOut };
}

export interface ConfigFileOptions {
  readonly path: string;
  readonly env: Environment;
  readonly keepGoing?: boolean;
  /** A new configuration that is valid. */
  readonly onChange: (loaded: LoadedConfig) => void;
  /** The file has become unusable; called once for each different reason. */
  readonly onError: (problem: string) => void;
  readonly pollMs?: number;
}

/**
 * Follows a configuration file: the last valid content counts, whatever the file becomes. A mounted ConfigMap changes
 * by a link in its folder being replaced, so it is the content that is compared.
 */
export class ConfigFile {
  readonly #options: ConfigFileOptions;
  #current: LoadedConfig;
  #error: string | undefined;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the next look is due; it never moves to a later time, however many events come. */
  #dueAt = Number.POSITIVE_INFINITY;
  #look: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(first: LoadedConfig, options: ConfigFileOptions) {
    this.#current = first;
    this.#options = options;
    try {
      this.#watcher = watch(dirname(options.path), { persistent: false }, () => this.#schedule(SETTLE_MS));
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch {
      // Without events there is still the clock.
    }
    this.#schedule(this.#pollMs);
  }

  get current(): LoadedConfig {
    return this.#current;
  }

  /** Why the file as it is now cannot be used; undefined when it can. */
  get error(): string | undefined {
    return this.#error;
  }

  /** Resolves when the last look has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watcher?.close();
    clearTimeout(this.#timer);
    await this.#look;
  }

  get #pollMs(): number {
    return this.#options.pollMs ?? POLL_MS;
  }

  #schedule(delayMs: number): void {
    const dueAt = performance.now() + delayMs;
    if (this.#stopped || dueAt >= this.#dueAt) return;
    this.#dueAt = dueAt;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#dueAt = Number.POSITIVE_INFINITY;
      this.#look = this.#look.then(() => this.#refresh()).then(() => this.#schedule(this.#pollMs));
    }, delayMs);
    this.#timer.unref();
  }

  async #refresh(): Promise<void> {
    if (this.#stopped) return;
    const { path, env, keepGoing = false, onChange, onError } = this.#options;
    try {
      const bytes = await readFile(path);
      if (hashOf(bytes) !== this.#current.hash) {
        this.#current = load(bytes, env, keepGoing);
        onChange(this.#current);
      }
      this.#error = undefined;
    } catch (error) {
      const problem = describeProblem(error, path);
      const isNew = problem !== this.#error;
      this.#error = problem;
      if (isNew) onError(problem);
    }
  }
}

/** Why a configuration file cannot be used, for people. */
export function describeProblem(error: unknown, path: string): string {
  if (error instanceof ConfigError) return formatProblems(error, path).trimEnd();
  return `${path} cannot be read: ${(error as Error).message}`;
}
