import { type ParseArgsConfig, parseArgs } from 'node:util';

/** The command line was wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** `parseArgs` whose complaints are `UsageError`s. */
export function readArgs<const T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** What a command prints to; standard output and standard error of the program. */
export interface Streams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/**
 * Runs a command and turns its errors into words.
 * @param failed the exit code when it fails
 * @returns the exit code: 2 when the command line was wrong
 */
export async function runCommand(
  name: string,
  streams: Streams,
  command: () => Promise<number>,
  failed = 1,
): Promise<number> {
  try {
    return await command();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    streams.err(`mcp-operator: ${message}`);
    if (!(error instanceof UsageError)) return failed;
    streams.err(`Try 'mcp-operator ${name} --help'.`);
    return 2;
  }
}

/** @throws UsageError when the value is none of the words */
export function wordOf<const T extends readonly string[]>(option: string, value: string, words: T): T[number] {
  if (words.includes(value)) return value;
  throw new UsageError(`--${option} must be one of ${words.join(', ')}, not "${value}"`);
}
