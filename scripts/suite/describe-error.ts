import { stripVTControlCharacters } from 'node:util';

/** An error as vitest hands it over from the process where it happened. */
interface ReportedError {
  readonly message: string;
  readonly name?: string;
  readonly diff?: string;
  readonly stack?: string;
  readonly cause?: unknown;
}

/** Message, difference, and the places in our own files where it came from; without colours. */
export function describeError(error: ReportedError): string {
  const { name = 'Error', message, diff, stack = '', cause } = error;
  const title = message.startsWith(name) ? message : `${name}: ${message}`;
  const places = stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line) && !/node_modules|node:|<anonymous>/.test(line));
  const parts = [title, diff, places.join('\n'), isError(cause) ? `Caused by ${describeError(cause)}` : undefined];
  return stripVTControlCharacters(parts.filter((part) => part !== undefined && part !== '').join('\n'));
}

const isError = (value: unknown): value is ReportedError =>
  typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string';
