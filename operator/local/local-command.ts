import { type Streams, UsageError, readArgs, runCommand } from '../command-line.ts';
import { runLocal } from './local.ts';
import { readableLine } from './log-line.ts';

export const USAGE = `Usage: mcp-operator local [options] PATH...

Runs the McpAdapters of the files, or of the files in the folders, as processes of this machine on 127.0.0.1, with
their state in files, until Ctrl-C. Changes of the files are applied at once, and what is gone from them is stopped.

Options:
  --port NUMBER     TCP port of the first adapter; 0 takes a free one (default: core.port of its configuration)
  --data DIR        where volumes are kept (default: .data, or $DATA_DIR)
  --namespace NAME  namespace of resources that name none (default: default)
  --help            this text

Sidecars run as well: their command, on this machine. Variables from Secrets and ConfigMaps need these among the files,
or a variable of the same name in the environment.
`;

/** @returns the exit code */
export function localCommand(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  streams: Streams,
  signal: AbortSignal,
): Promise<number> {
  return runCommand('local', streams, async () => {
    const { values, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        port: { type: 'string' },
        data: { type: 'string' },
        namespace: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help) {
      streams.out(USAGE.trimEnd());
      return 0;
    }
    if (positionals.length === 0) throw new UsageError('which files? Name a file or a folder');
    await runLocal(
      {
        paths: positionals,
        namespace: values.namespace ?? 'default',
        dataDir: values.data ?? (env['DATA_DIR'] || '.data'),
        port: readPort(values.port),
        env,
        print: (text) => streams.out(readableLine(text)),
      },
      signal,
    );
    return 0;
  });
}

/** @throws UsageError when it is no port */
export function readPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`--port must be a number from 0 to 65535, not "${text}"`);
}
