/**
 * How many patterns, paths and expressions a resource may have, and how long they may be. They are compiled and searched,
 * in the operator for everybody, so what one author may ask for is bounded. Files of a program are not: they belong to
 * whoever runs it.
 */
import { type Problem, dottedPath } from '../config/load/problem.ts';
import { type Path, stepsOf } from '../../lib/json/tree.ts';

/** `entries` of a list, `characters` of a text or of each text of a list. */
export interface Limit {
  readonly entries?: number;
  readonly characters?: number;
}
/** By the path of the field, such as `servers[].disabled_tools`. */
export type Limits = Readonly<Record<string, Limit>>;

/** Characters of a regular expression. */
export const MAX_PATTERN = 256;
const DATA_PATH = 512;

/** Of `spec.config`. */
export const CONFIG_LIMITS: Limits = {
  'core.auth.tokens': { entries: 200 },
  'core.auth.tokens[].name': { characters: 64 },
  'servers[].disabled_tools': { entries: 200, characters: MAX_PATTERN },
  'servers[].adapters': { entries: 200 },
  'servers[].adapters[].tools': { entries: 200, characters: 256 },
  'servers[].adapters[].file_path_argument': { characters: DATA_PATH },
  'servers[].adapters[].output_locator.output_path_key': { characters: DATA_PATH },
  'servers[].adapters[].output_locator.output_path_regexes': { entries: 20, characters: MAX_PATTERN },
  'servers[].adapters[].found': { entries: 20 },
  'servers[].adapters[].found[].pattern': { characters: MAX_PATTERN },
  'servers[].adapters[].found[].path_key': { characters: DATA_PATH },
  'servers[].adapters[].found[].relative_to': { characters: 1024 },
  'core.cors.allowed_origins': { entries: 100, characters: 512 },
  'storage.artifact_locator_allowed_roots': { entries: 50, characters: 1024 },
};

/** Of `spec.source`. */
export const SOURCE_LIMITS: Limits = {
  cron: { characters: 256 },
  dataKey: { characters: DATA_PATH },
  timestampKey: { characters: DATA_PATH },
  timestampFormat: { characters: MAX_PATTERN },
  'filters.drop': { entries: 50 },
  'filters.drop[].any': { entries: 50 },
  'filters.drop[].any[].field': { characters: DATA_PATH },
  'filters.keep': { entries: 50 },
  'filters.keep[].all': { entries: 50 },
  'filters.keep[].all[].field': { characters: DATA_PATH },
  'deltaDetection.fingerprintKeys': { entries: 100, characters: DATA_PATH },
  gaugeReadings: { entries: 500 },
  'gaugeReadings[].dataKey': { characters: DATA_PATH },
  'gaugeReadings[].labels': { entries: 100 },
  counterReadings: { entries: 500 },
  'counterReadings[].dataKey': { characters: DATA_PATH },
  'counterReadings[].labels': { entries: 100 },
  histogramReadings: { entries: 500 },
  'histogramReadings[].dataKey': { characters: DATA_PATH },
  'histogramReadings[].labels': { entries: 100 },
  'histogramReadings[].buckets': { entries: 500 },
  attributes: { entries: 500 },
  'attributes[].dataKey': { characters: DATA_PATH },
  'auth.tokenKey': { characters: DATA_PATH },
  'scrape.timeFormat': { characters: MAX_PATTERN },
};

/** Of a value of any kind, which the CRD cannot say: `value` of a rule of `filters`, a regular expression or not. */
const PREDICATE_LIMITS: Limits = {
  'filters.drop[].any[].value': { entries: 1000, characters: 1024 },
  'filters.keep[].all[].value': { entries: 1000, characters: 1024 },
};

export const configLimitProblems = (config: unknown): Problem[] => limitProblems(config, CONFIG_LIMITS);
export const sourceLimitProblems = (source: unknown): Problem[] =>
  limitProblems(source, { ...SOURCE_LIMITS, ...PREDICATE_LIMITS });

/** What of a document of any shape is longer than it may be. Reads it once; never throws. */
function limitProblems(document: unknown, limits: Limits): Problem[] {
  return Object.entries(limits).flatMap(([path, limit]) =>
    [...found(document, stepsOf(path), [])].flatMap(({ at, value }) => tooLong(at, value, limit)),
  );
}

function* found(node: unknown, [step, ...rest]: readonly string[], at: Path): Generator<{ at: Path; value: unknown }> {
  if (step === undefined) yield { at, value: node };
  else if (typeof node !== 'object' || node === null) return;
  else if (step !== '[]')
    yield* found(Object.hasOwn(node, step) ? Reflect.get(node, step) : undefined, rest, [...at, step]);
  else if (Array.isArray(node)) for (const [index, item] of node.entries()) yield* found(item, rest, [...at, index]);
}

function tooLong(at: Path, value: unknown, { entries = Infinity, characters = Infinity }: Limit): Problem[] {
  const path = dottedPath(at);
  if (typeof value === 'string') {
    if (value.length <= characters) return [];
    return [{ path, message: `has ${value.length} characters; at most ${characters} are allowed in a resource` }];
  }
  if (!Array.isArray(value)) return [];
  if (value.length > entries) {
    return [{ path, message: `has ${value.length} entries; at most ${entries} are allowed in a resource` }];
  }
  return value.flatMap((item: unknown, index) =>
    typeof item === 'string' ? tooLong([...at, index], item, { characters }) : [],
  );
}
