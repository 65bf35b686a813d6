import { parseArgs } from 'node:util';
import { isObject } from '../../lib/json/json-object.ts';

const DEFAULT_CONFIG = '/etc/remote-mcp-adapter/config.yaml';
const LEVELS = ['debug', 'info', 'warning', 'error', 'critical'] as const;

/** Whose rights are asked about. */
export interface AskedCaller {
  readonly principal: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly scopes: readonly string[];
}

export interface Options {
  readonly action: 'run' | 'check-config' | 'explain-access' | 'help' | 'version';
  /** With `explain-access`. */
  readonly caller: AskedCaller | undefined;
  /** What the adapter only warns of counts as an error. */
  readonly strict: boolean;
  readonly config: string;
  /** The effective configuration is wanted. */
  readonly print: boolean;
  /** The servers are to be asked for their tools. */
  readonly connect: boolean;
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** Folder of files whose change is shown in the health object. */
  readonly references: string | undefined;
  readonly logLevel: (typeof LEVELS)[number] | undefined;
}

export const USAGE = `Usage: mcp-adapter [options]
       mcp-adapter suggest URL [options]
       mcp-adapter lock create|diff|approve [options]

Runs the MCP adapter: a gateway in front of the MCP servers of its configuration file.

Commands:
  suggest URL        print which arguments of a server's tools are files, for the configuration; see suggest --help
  lock WORD          write down what the servers' tools are, and compare them with it; see lock --help

Options:
  --config FILE      configuration file (else $MCP_ADAPTER_CONFIG, else ${DEFAULT_CONFIG})
  --check-config     check the file, and the tool lock that it names, and exit (0 valid, 1 not)
  --print            with --check-config: print the effective configuration, defaults included and secrets left out
  --strict           with --check-config: exit with 1 also for what the adapter only warns of
  --connect          with --check-config: ask each server for its tools, for up to 10 seconds, and compare them with the
                     file; the credentials of the file are sent, no tool is called. Exit with 1 where entries of adapters
                     name tools or arguments that their server does not have, else with 3 where a server did not say
                     which tools it has. With --print, what is found goes to the standard error
  --explain-access   print what a caller may do at each server, tool by tool with the rule that decided, and exit (0; 1
                     where an upstream does not say which tools it has); with:
    --principal NAME     user:SUBJECT, client:ID or token:NAME
    --scopes LIST        scopes of the caller's token, with spaces or commas between them
    --claims JSON        claims of the caller's token, as a JSON object
  --host ADDRESS     bind address instead of core.host
  --port NUMBER      TCP port instead of core.port; 0 takes a free one
  --references DIR   watch the files below this folder and show in /healthz whether they have changed since the start
  --log-level LEVEL  ${LEVELS.join(', ')}; instead of core.log_level
  --version          print the version and exit
  --help             print this text and exit

Environment:
  MCP_ADAPTER_CONFIG                    configuration file
  MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS  how long running calls may go on after SIGTERM, instead of
                                        core.shutdown_grace_seconds
  MCP_ADAPTER_NAME                      name of this adapter, the same at all replicas: with a Redis that several
                                        adapters use, it tells their replicas apart
  MCP_ADAPTER_ADMIN_PORT, MCP_ADAPTER_ADMIN_KEY
                                        both: kubectl mcpadapter is answered at this port of 127.0.0.1, and who sends
                                        this key (at least 16 characters) as Authorization: Bearer
  Every \${NAME} and \${NAME:-default} in the file is taken from the environment.
`;

/** The command line was wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function readOptions(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Options {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        config: { type: 'string' },
        'check-config': { type: 'boolean' },
        strict: { type: 'boolean' },
        print: { type: 'boolean' },
        connect: { type: 'boolean' },
        'explain-access': { type: 'boolean' },
        principal: { type: 'string' },
        scopes: { type: 'string' },
        claims: { type: 'string' },
        host: { type: 'string' },
        port: { type: 'string' },
        references: { type: 'string' },
        'log-level': { type: 'string' },
        version: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }));
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const level = values['log-level']?.toLowerCase();
  const logLevel = LEVELS.find((known) => known === level);
  if (level !== undefined && logLevel === undefined) {
    throw new UsageError(`--log-level must be one of ${LEVELS.join(', ')}, not "${level}"`);
  }
  const port = values.port === undefined ? undefined : numberOf(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw new UsageError(`--port must be a number from 0 to 65535, not "${values.port}"`);
  }
  const action = values.help
    ? 'help'
    : values.version
      ? 'version'
      : values['check-config']
        ? 'check-config'
        : values['explain-access']
          ? 'explain-access'
          : 'run';
  const { principal, scopes, claims } = values;
  if (action === 'run' && (principal ?? scopes ?? claims) !== undefined) {
    throw new UsageError('--principal, --scopes and --claims go with --explain-access only');
  }
  for (const name of ['strict', 'print', 'connect'] as const) {
    if (values[name] && !values['check-config']) throw new UsageError(`--${name} goes with --check-config only`);
  }
  return {
    action,
    caller: action === 'explain-access' ? askedCaller(principal, scopes, claims) : undefined,
    strict: values.strict ?? false,
    print: values.print ?? false,
    connect: values.connect ?? false,
    config: configPath(values.config, env),
    host: values.host,
    port,
    references: values.references,
    logLevel,
  };
}

/** Where the configuration file is. */
export const configPath = (given: string | undefined, env: Readonly<Record<string, string | undefined>>): string =>
  given ?? (env['MCP_ADAPTER_CONFIG'] || DEFAULT_CONFIG);

function askedCaller(principal = '', scopes = '', claims = '{}'): AskedCaller {
  if (!/^(user|client|token):./.test(principal)) {
    throw new UsageError(
      `--explain-access needs --principal user:SUBJECT, client:ID or token:NAME, not "${principal}"`,
    );
  }
  let said: unknown;
  try {
    said = JSON.parse(claims);
  } catch (error) {
    throw new UsageError(`--claims must be a JSON object: ${(error as Error).message}`);
  }
  if (!isObject(said)) {
    throw new UsageError('--claims must be a JSON object');
  }
  return { principal, claims: { ...said }, scopes: scopes.split(/[\s,]+/).filter((one) => one !== '') };
}

/** How many seconds running calls may go on after SIGTERM: what the environment says, if that is a time. */
export function shutdownGrace(env: Readonly<Record<string, string | undefined>>, configured: number): number {
  const seconds = numberOf(env['MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS'] ?? '');
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : configured;
}

/** NaN for blank text too, such as a variable of the shell that is not set. */
const numberOf = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text));
