#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { packageVersion } from '../lib/package-version.ts';
import { saveMemory } from '../lib/memory/trim-memory.ts';

enableCompileCache();

const version = packageVersion(import.meta.url);
const streams = {
  out: (text: string) => void process.stdout.write(`${text}\n`),
  err: (text: string) => void process.stderr.write(`${text}\n`),
};
process.exitCode = await main(process.argv.slice(2));
// Nothing that was left open keeps the process.
process.exit();

async function main([command, ...rest]: readonly string[]): Promise<number> {
  switch (command) {
    case 'local': {
      const { localCommand } = await import('./local/local-command.ts');
      return localCommand(rest, process.env, streams, untilSignal());
    }
    case 'lock': {
      const { lockCommand } = await import('./local/lock-command.ts');
      return lockCommand(rest, process.env, streams, untilSignal());
    }
    case 'render': {
      const { renderCommand } = await import('./local/render-command.ts');
      return renderCommand(rest, streams);
    }
    case 'validate': {
      const { validateCommand } = await import('./local/validate-command.ts');
      return validateCommand(rest, streams);
    }
    case 'run':
      return run(rest);
    default:
      return run(command === undefined ? [] : [command, ...rest]);
  }
}

async function run(args: readonly string[]): Promise<number> {
  const { UsageError } = await import('./command-line.ts');
  const { readOptions, USAGE } = await import('./options.ts');
  let options;
  try {
    options = readOptions(args, process.env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    streams.err(`mcp-operator: ${error.message}\nTry 'mcp-operator --help'.`);
    return 2;
  }
  if (options.action === 'help') {
    streams.out(USAGE.trimEnd());
    return 0;
  }
  if (options.action === 'version') {
    streams.out(version);
    return 0;
  }

  const { createOperator } = await import('./app.ts');
  const { createLogger } = await import('./logger.ts');
  const { loadCredentials } = await import('./kubernetes/load-credentials.ts');
  const log = createLogger(options.logLevel);
  // Without it, V8 keeps twice as much memory as thousands of resources take, also when there is nothing to do.
  saveMemory();
  try {
    const credentials = await loadCredentials(process.env, options.kubeconfig);
    const instance = process.env['POD_NAME'] || undefined;
    const operator = createOperator({ options, credentials, log, version, instance });
    const signal = untilSignal();
    const port = await operator.listen();
    log.info({ version, port, namespaces: options.namespaces }, 'started');
    await operator.run(signal);
    await operator.close();
    log.info('stopped');
    return 0;
  } catch (error) {
    log.fatal({ err: error }, 'the operator cannot go on');
    streams.err(`mcp-operator: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

/** Aborts with the first SIGTERM or SIGINT. The second one means: now. */
function untilSignal(): AbortSignal {
  const stopping = new AbortController();
  const stop = (): void => {
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return stopping.signal;
}
