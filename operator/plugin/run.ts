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
  if (first === '__complete') {
    const { completions } = await import('./completion.ts');
    streams.out(completions(rest, commands).join('\n'));
    return 0;
  }
  const [second = '', ...afterSecond] = rest;
  const isPair = Object.hasOwn(commands, `${first} ${second}`);
  return runCommand(isPair ? `${first} ${second}` : first, isPair ? afterSecond : rest, context, commands);
}

async function runCommand(
  name: string,
  rest: readonly string[],
  context: CommandContext,
  commands: Readonly<Record<string, Command>>,
): Promise<number> {
  const { streams } = context;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    const pairs = Object.keys(commands).filter((one) => one.startsWith(`${name} `));
    const why = pairs.length > 0 ? `is it ${pairs.join(' or ')}?` : `there is no command "${visible(name)}"`;
    streams.err(`${NAME}: ${why}\nTry '${NAME} --help'.`);
    return WRONG_USE;
  }
  const own = rest.slice(0, rest.includes('--') ? rest.indexOf('--') : undefined);
  if (command.hasOwnHelp !== true && (own.includes('--help') || own.includes('-h'))) {
    streams.out(commandHelp(name, command));
    return 0;
  }
  if (own.includes('--print-role')) {
    streams.out(roleOf(name, command));
    return 0;
  }
  try {
    const run = await command.load();
    return await run(rest, context);
  } catch (error) {
    return printError(name, error, streams);
  }
}

/** Says what went wrong. @returns the exit code */
function printError(command: string, error: unknown, { err }: Streams): number {
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
  if (error instanceof ApiError) return isOfObject(error) ? PROBLEM : UNREACHABLE;
  return isOfNetwork(error) ? UNREACHABLE : PROBLEM;
}

/** Whether the API server would, and the object is not there or may not be so. Without the CRD it knows no such resource. */
function isOfObject({ code, message }: ApiError): boolean {
  return code === 409 || code === 422 || (code === 404 && !message.includes('could not find the requested resource'));
}

/** How Node, undici and OpenSSL name what goes wrong on the way. */
const OF_NETWORK =
  /^(?:ECONN\w+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE|EPROTO|UND_\w+|ERR_TLS\w+|CERT_\w+|DEPTH_\w+|SELF_\w+|UNABLE_\w+)$/;

/** What never came to an answer; a time limit of ours, too. */
function isOfNetwork(error: unknown): boolean {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  return name === 'TimeoutError' || (typeof code === 'string' && OF_NETWORK.test(code));
}
