import { parseArgs } from 'node:util';

const DEFAULT_CONFIG = './config.yaml';
const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 100_000;

export interface Options {
  readonly action: 'run' | 'validate' | 'explain' | 'once' | 'help' | 'version';
  readonly config: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** Folder of files whose change is shown in the health object. */
  readonly references: string | undefined;
  /** The pods that share the sources of this file, among those that share its state; undefined: all of them. */
  readonly shard: string | undefined;
  /** Sources that something is wrong with are left out. */
  readonly keepGoing: boolean;
  /** What to explain: the source's name, and how many of its records are shown. */
  readonly explain?: { readonly source: string; readonly limit: number };
}

export const USAGE = `Usage: otel-api-scraper [options]

Calls the HTTP APIs of its configuration file and turns their answers into OpenTelemetry metrics and logs.

Options:
  --config FILE      configuration file (else $SCRAPER_CONFIG, else ${DEFAULT_CONFIG})
  --validate         check the file, print the effective configuration without secrets, and exit (0 valid, 1 not)
  --once             scrape every source once, print a line for each, and exit (0 all of it was sent, 1 not)
  --explain SOURCE   scrape this source once and show the requests, the records and what would be sent; nothing is sent
                     or remembered (0 it would work, 1 not)
  --limit NUMBER     most records that --explain shows; default: ${DEFAULT_LIMIT}
  --host ADDRESS     bind address of health checks; default: all addresses
  --port NUMBER      TCP port instead of scraper.servicePort; 0 takes a free one
  --shard NAME       share the sources only with pods of the same NAME, where pods with other files use the same Redis
  --references DIR   watch the files below this folder and show in /healthz whether they have changed since the start
  --keep-going       leave out sources that something is wrong with, say so in the log and /healthz, and run the others
  --version          print the version and exit
  --help             print this text and exit

Environment:
  SCRAPER_CONFIG     configuration file
  SCRAPER_ADMIN_PORT, SCRAPER_ADMIN_KEY
                     both: the admin API answers at this port of 127.0.0.1 too, to who sends the key (16 characters or
                     more) as Authorization: Bearer. The operator sets them for kubectl mcpadapter
  Every \${NAME} and \${NAME:-default} in the file is taken from the environment.

The file is read again when it changes. One that cannot be used changes nothing and is reported in the log and /healthz.
`;

/** In the order in which they overrule each other. */
const ACTIONS = ['help', 'version', 'validate', 'explain', 'once'] as const;

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
        validate: { type: 'boolean' },
        once: { type: 'boolean' },
        explain: { type: 'string' },
        limit: { type: 'string' },
        host: { type: 'string' },
        port: { type: 'string' },
        references: { type: 'string' },
        shard: { type: 'string' },
        'keep-going': { type: 'boolean' },
        version: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }));
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const port = numberOf('--port', values.port, 65_535);
  const limit = numberOf('--limit', values.limit, MAX_LIMIT);
  if (limit !== undefined && values.explain === undefined) throw new UsageError('--limit goes with --explain SOURCE');
  return {
    action: ACTIONS.find((action) => values[action] !== undefined) ?? 'run',
    config: values.config ?? (env['SCRAPER_CONFIG'] || DEFAULT_CONFIG),
    host: values.host,
    port,
    references: values.references,
    shard: values.shard,
    keepGoing: values['keep-going'] === true,
    ...(values.explain === undefined ? {} : { explain: { source: values.explain, limit: limit ?? DEFAULT_LIMIT } }),
  };
}

function numberOf(option: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text) && Number(text) <= most) return Number(text);
  throw new UsageError(`${option} must be a number from 0 to ${most}, not "${text}"`);
}
