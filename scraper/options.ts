import { parseArgs } from 'node:util';

const DEFAULT_CONFIG = './config.yaml';

export interface Options {
  readonly action: 'run' | 'validate' | 'help' | 'version';
  readonly config: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** Folder of files whose change is shown in the health object. */
  readonly references: string | undefined;
}

export const USAGE = `Usage: otel-api-scraper [options]

Calls the HTTP APIs of its configuration file and turns their answers into OpenTelemetry metrics and logs.

Options:
  --config FILE      configuration file (else $SCRAPER_CONFIG, else ${DEFAULT_CONFIG})
  --validate         check the file, print the effective configuration without secrets, and exit (0 valid, 1 not)
  --host ADDRESS     bind address of health checks; default: all addresses
  --port NUMBER      TCP port instead of scraper.servicePort; 0 takes a free one
  --references DIR   watch the files below this folder and show in /healthz whether they have changed since the start
  --version          print the version and exit
  --help             print this text and exit

Environment:
  SCRAPER_CONFIG     configuration file
  Every \${NAME} and \${NAME:-default} in the file is taken from the environment.

The file is read again when it changes. One that cannot be used changes nothing and is reported in the log and /healthz.
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
        validate: { type: 'boolean' },
        host: { type: 'string' },
        port: { type: 'string' },
        references: { type: 'string' },
        version: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }));
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(/^\d+$/.test(values.port ?? '') && port <= 65_535)) {
    throw new UsageError(`--port must be a number from 0 to 65535, not "${values.port}"`);
  }
  return {
    action: values.help ? 'help' : values.version ? 'version' : values.validate ? 'validate' : 'run',
    config: values.config ?? (env['SCRAPER_CONFIG'] || DEFAULT_CONFIG),
    host: values.host,
    port,
    references: values.references,
  };
}
