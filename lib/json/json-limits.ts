import { JsonTally } from './json-tally.ts';

/**
 * What JSON text may cost before anybody parses it. Bytes say little: 16 MiB of `{}` become 370 MB of heap, and 58 KB of
 * gzip as many. So values and levels are counted first, in one pass that jumps over strings and builds nothing.
 */
export interface JsonLimits {
  readonly values: number;
  readonly depth: number;
}

/** Deep enough for any schema in use, far below what recursive parsers survive. */
const MAX_DEPTH = 512;

/** A message that a client sends. */
export const REQUEST_LIMITS: JsonLimits = { values: 200_000, depth: MAX_DEPTH };
/** What is answered by an upstream, an API or a pod, where it has to be read. */
export const ANSWER_LIMITS: JsonLimits = { values: 1_000_000, depth: MAX_DEPTH };

/** The text has more values or levels than its reader allows; its message names the limit. */
export class JsonLimitError extends Error {
  override readonly name = 'JsonLimitError';
  readonly kind: keyof JsonLimits;

  constructor(kind: keyof JsonLimits, limits: JsonLimits) {
    super(
      kind === 'values'
        ? `the JSON has more than ${limits.values} values`
        : `the JSON is nested deeper than ${limits.depth} levels`,
    );
    this.kind = kind;
  }
}

/**
 * Which limit the text exceeds, if any. Never counts fewer values than JSON.parse would make; in text that is no JSON the
 * count means nothing, but it ends.
 */
export function exceeded(text: string, limits: JsonLimits): keyof JsonLimits | undefined {
  if (text.length < limits.values && text.length <= limits.depth) return undefined;
  const tally = new JsonTally();
  for (let goesOn = true; goesOn;) {
    goesOn = tally.read(text);
    if (tally.deepest > limits.depth) return 'depth';
    if (tally.values > limits.values) return 'values';
  }
  return undefined;
}

/**
 * JSON.parse with limits.
 * @throws JsonLimitError before anything is parsed
 * @throws SyntaxError
 */
export function parseJson(text: string, limits: JsonLimits): unknown {
  requireReadable(text, limits);
  return JSON.parse(text);
}

/** @throws JsonLimitError where the text exceeds a limit */
export function requireReadable(text: string, limits: JsonLimits): void {
  const kind = exceeded(text, limits);
  if (kind !== undefined) throw new JsonLimitError(kind, limits);
}
