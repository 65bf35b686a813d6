import { type Streams, UsageError } from '../command-line.ts';
import { ApiError } from '../kubernetes/kubernetes.ts';
import { type Command, COMMANDS } from './commands.ts';
import type { CommandContext } from './commands/command.ts';
import { ProblemError, UnreachableError } from './cluster/failures.ts';
import { commandHelp, NAME, overallHelp, roleOf } from './help.ts';
import { visible } from './output/visible.ts';

/** Exit codes. */
const PROBLEM = 1;
const WRONG_USE = 2;
const UNREACHABLE = 3;

/** Runs one command line. @returns the exit code */
export async function runPlugin(
  args: readonly string[],
  context: CommandContext,
  commands: Readonly<Record<string, Command>> = COMMANDS,
): Promise<number> {
  const { streams, version } = context;
  const [first, ...rest] = args;
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    streams.out(overallHelp(commands));
    return 0;
  }
  if (first === '--version') {
    streams.out(version);
    return 0;
  }
  const command = Object.hasOwn(commands, first) ? commands[first] : undefined;
  if (command === undefined) {
    streams.err(`${NAME}: there is no command "${visible(first)}"\nTry '${NAME} --help'.`);
    return WRONG_USE;
  }
  const own = rest.slice(0, rest.includes('--') ? rest.indexOf('--') : undefined);
  if (own.includes('--help') || own.includes('-h')) {
    streams.out(commandHelp(first, command));
    return 0;
  }
  if (own.includes('--print-role')) {
    streams.out(roleOf(first, command));
    return 0;
  }
  try {
    const run = await command.load();
    return await run(rest, context);
  } catch (error) {
    return told(first, error, streams);
  }
}

/** Says what went wrong. @returns the exit code */
function told(command: string, error: unknown, { err }: Streams): number {
  const message = error instanceof Error ? error.message : String(error);
  err(`${NAME} ${command}: ${visible(message)}`);
  if (error instanceof UsageError) {
    err(`Try '${NAME} ${command} --help'.`);
    return WRONG_USE;
  }
  if (error instanceof ProblemError) return PROBLEM;
  if (error instanceof ApiError && error.code === 403) {
    // The API server's words name verb, resource and namespace.
    err(`'${NAME} ${command} --print-role' prints the Role that this command needs.`);
  }
  if (error instanceof UnreachableError) return UNREACHABLE;
  if (error instanceof ApiError) return error.code === 409 || error.code === 422 ? PROBLEM : UNREACHABLE;
  return isOfNetwork(error) ? UNREACHABLE : PROBLEM;
}

/** How Node and undici name what goes wrong on the way, and a time limit of ours. */
function isOfNetwork(error: unknown): boolean {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  return (
    name === 'TimeoutError' || (typeof code === 'string' && /^(?:E[A-Z]|UND_|CERT_|DEPTH_|SELF_|UNABLE_)/.test(code))
  );
}
