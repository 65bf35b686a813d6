import type { Path } from '../../../lib/json/tree.ts';

/** One thing that is wrong with a configuration file. */
export interface Problem {
  /** Dotted path such as `servers[0].upstream.url`; empty for the document as a whole. */
  path: string;
  /** What is wrong, what is allowed and what may be meant: a sentence whose subject is the path. */
  message: string;
  /** The offending value for display: shortened, and `<redacted>` where it may be a secret. */
  value?: string;
  /** What would be allowed instead, as a phrase that completes "must be …". */
  allowed?: string;
  /** What was probably meant: the nearest known key or word. */
  suggestion?: string;
  /** Where it stands in the file, both counted from 1. */
  line?: number;
  column?: number;
}

/** A configuration that cannot be used, with everything that is wrong with it. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ path, message }) => (path === '' ? message : `${path} ${message}`)).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** The problems as text for people: a headline, then one line for each, in the order of the file. */
export function formatProblems(error: ConfigError, file: string): string {
  const count = error.problems.length;
  const lines = error.problems.map(({ path, message, line, column }) => {
    const place = line === undefined ? file : `${file}:${line}${column === undefined ? '' : `:${column}`}`;
    return `  ${place}: ${path === '' ? '' : `${path} `}${message}`;
  });
  return [`${file} cannot be used: ${count} problem${count === 1 ? '' : 's'}`, ...lines].join('\n');
}

/** `['servers', 0, 'upstream', 'url']` → `servers[0].upstream.url`; keys that are no plain words stand in brackets. */
export function dottedPath(path: Path): string {
  return path
    .map((key, index) => {
      if (typeof key === 'number') return `[${key}]`;
      if (!/^[A-Za-z_][\w-]*$/.test(key)) return `[${JSON.stringify(key)}]`;
      return index === 0 ? key : `.${key}`;
    })
    .join('');
}
