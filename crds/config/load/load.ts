import type { z } from 'zod';
import { AdapterConfig } from '../adapter-file/adapter.ts';
import { ConfigError, type Problem, dottedPath } from './problem.ts';
import { type HiddenPlace, hiddenPlaces } from '../../../lib/redaction/hidden-places.ts';
import { type Environment, interpolateAll } from '../../../lib/references/reference.ts';
import { type LengthLimits, lengthProblems } from './resolved-length.ts';
import { withSpelledNumbers } from './spelled-numbers.ts';
import { type LocatedProblem, schemaProblems } from './schema-problems.ts';
import type { Path } from '../../../lib/json/tree.ts';
import { ScraperConfig } from '../scraper-file/scraper.ts';
import { type Position, readYaml } from './yaml-source.ts';

/**
 * Reads the adapter's configuration file: YAML, then references to `env`, then the schema.
 * @throws ConfigError with everything that is wrong with the file
 */
export function loadAdapterConfig(text: string, env: Environment): AdapterConfig {
  return loadAdapterFile(text, env).config;
}

/** The same, with the hosts in it that stand there as references. */
export function loadAdapterFile(text: string, env: Environment): Loaded<AdapterConfig> {
  return loadConfig(AdapterConfig, text, env);
}

export interface Loaded<Config> {
  readonly config: Config;
  readonly places: readonly HiddenPlace[];
}

/**
 * Reads the scraper's configuration file in the same way.
 * @throws ConfigError with everything that is wrong with the file
 */
export function loadScraperConfig(text: string, env: Environment): ScraperConfig {
  return loadScraperFile(text, env).config;
}

/** The same, with the hosts in it that stand there as references. */
export function loadScraperFile(text: string, env: Environment): Loaded<ScraperConfig> {
  return loadConfig(ScraperConfig, text, env, adminSecretIsSet);
}

/**
 * Reads it without the sources that something is wrong with, where that is all that is wrong with the file.
 * @returns the problems of what was left out, too
 * @throws ConfigError as `loadScraperConfig`
 */
export function loadUsableSources(text: string, env: Environment): Loaded<ScraperConfig> & { leftOut: Problem[] } {
  try {
    return { ...loadScraperFile(text, env), leftOut: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const wrong = error.problems.map(({ path }) => /^sources\[(\d+)\]/.exec(path)?.[1]);
    if (wrong.includes(undefined)) throw error;
    const without = new Set(wrong.map(Number));
    return { ...loadConfig(ScraperConfig, text, env, adminSecretIsSet, without), leftOut: [...error.problems] };
  }
}

/** What is wrong with a configuration of the adapter whose environment is not known. */
export function checkAdapterConfig(document: unknown): Problem[] {
  return checkUnresolved(AdapterConfig, document);
}

/**
 * What is wrong with a document whose references are not resolved: a problem whose value holds one is left out, because
 * only the program that resolves it can judge it.
 */
export function checkUnresolved(schema: z.ZodType, document: unknown): Problem[] {
  const references = interpolateAll(document, {}).found;
  const open = new Set(references.map(({ path }) => dottedPath(path)));
  const parsed = schema.safeParse(document);
  if (parsed.success) return [];
  return schemaProblems(parsed.error.issues, { schema, document, references })
    .map(({ problem }) => problem)
    .filter(({ path }) => !open.has(path));
}

/** The environment belongs to whoever runs the program, and may hold whole certificates. */
const LIMITS: LengthLimits = { text: 1_048_576, all: 16_777_216 };

/**
 * Reads any configuration file. All problems are found at once: syntax, unset variables, fields and rules.
 * `needs` says what the configuration lacks outside the file, once the file is valid; `without` names entries of
 * `sources` that are not read.
 * @throws ConfigError with the problems in the order of the file
 */
function loadConfig<T extends z.ZodType>(
  schema: T,
  text: string,
  env: Environment,
  needs: (config: z.output<T>, env: Environment) => LocatedProblem[] = () => [],
  without: ReadonlySet<number> = new Set(),
): Loaded<z.output<T>> {
  const source = readYaml(text);
  if (source.value === undefined) throw new ConfigError(source.problems);

  const written = withoutSources(withSpelledNumbers(source), without);
  const long = lengthProblems(
    written,
    (name) => (Object.hasOwn(env, name) ? env[name]?.length : undefined) ?? 0,
    LIMITS,
  );
  if (long.length > 0) throw new ConfigError(long.map(({ at, problem }) => ({ ...problem, ...source.locate(at) })));
  const { value: document, found: references } = interpolateAll(written, env);
  const unset = references.flatMap(({ path, unset: names }) => names.map((name) => unsetProblem(path, name)));
  const parsed = schema.safeParse(document);
  const invalid = parsed.success
    ? needs(parsed.data, env)
    : schemaProblems(parsed.error.issues, { schema, document, references });

  // What is wrong with the text of an unset reference itself is of no interest.
  const open = new Set(unset.map(({ problem }) => problem.path));
  const located = [...unset, ...invalid.filter(({ problem }) => !open.has(problem.path))];
  const problems = [...source.problems, ...located.map(({ at, problem }) => ({ ...problem, ...source.locate(at) }))];
  if (problems.length > 0 || !parsed.success) throw new ConfigError(problems.sort(byPosition));
  return { config: parsed.data, places: hiddenPlaces(references, env) };
}

function withoutSources(document: unknown, left: ReadonlySet<number>): unknown {
  if (left.size === 0 || !isMapping(document) || !Array.isArray(document['sources'])) return document;
  return { ...document, sources: document['sources'].filter((_source, index) => !left.has(index)) };
}

const isMapping = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** The admin API without its secret would be open or useless. The secret itself is not part of the configuration. */
function adminSecretIsSet({ scraper }: ScraperConfig, env: Environment): LocatedProblem[] {
  const { enableAdminApi, adminSecretEnv: name } = scraper;
  if (!enableAdminApi || name === null || (env[name] ?? '').trim() !== '') return [];
  const at = ['scraper', 'adminSecretEnv'];
  const message = 'must name an environment variable that is set; this one is unset or blank';
  return [{ at, problem: { path: dottedPath(at), message } }];
}

function unsetProblem(path: Path, name: string): LocatedProblem {
  const message = `refers to the environment variable ${name}, which is unset or empty; set it or write \${${name}:-default}`;
  return { at: path, problem: { path: dottedPath(path), message } };
}

const byPosition = (a: Partial<Position>, b: Partial<Position>): number =>
  (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
