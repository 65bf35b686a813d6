#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { packageVersion } from '../lib/package-version.ts';

enableCompileCache();

const { readOptions, shutdownGrace, USAGE, UsageError } = await import('./commands/options.ts');

const version = packageVersion(import.meta.url);
process.exit(await main());

async function main(): Promise<number> {
  if (process.argv[2] === 'suggest') return suggest(process.argv.slice(3));
  if (process.argv[2] === 'lock') return lock(process.argv.slice(3));
  let options;
  try {
    options = readOptions(process.argv.slice(2), process.env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`mcp-adapter: ${error.message}\nTry 'mcp-adapter --help'.\n`);
    return 2;
  }
  if (options.action === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  if (options.action === 'version') {
    process.stdout.write(`${version}\n`);
    return 0;
  }

  const { loadAdapterFile } = await import('../crds/config/load/load.ts');
  const { ConfigError, formatProblems } = await import('../crds/config/load/problem.ts');
  let loaded;
  try {
    loaded = loadAdapterFile(readFileSync(options.config, 'utf8'), process.env);
  } catch (error) {
    if (error instanceof ConfigError) process.stderr.write(`${formatProblems(error, options.config).trimEnd()}\n`);
    else {
      const { message } = error as Error;
      process.stderr.write(
        `mcp-adapter: cannot read the configuration file ${options.config}: ${message}; give --config FILE\n`,
      );
    }
    return 1;
  }
  const { config } = loaded;
  if (options.action === 'check-config') {
    const { checkedConfig } = await import('./commands/checked-config.ts');
    const { checkedLock } = await import('./lock/check-lock.ts');
    const lock = await checkedLock(config);
    const { text, warnings, isFit } = checkedConfig(config, { ...options, lock }, process.env);
    for (const problem of lock.problems) process.stderr.write(`${options.config}: ${problem}\n`);
    for (const warning of warnings) process.stderr.write(`${options.config}: warning: ${warning}\n`);
    process.stdout.write(text);
    const code = options.connect ? await connect(loaded, options) : 0;
    return isFit ? code : 1;
  }
  if (options.caller !== undefined) return explain(loaded, options.caller);
  return run(loaded, options);
}

type Loaded = import('../crds/config/load/load.ts').Loaded<
  import('../crds/config/adapter-file/adapter.ts').AdapterConfig
>;

async function suggest(args: readonly string[]): Promise<number> {
  const { suggestCommand } = await import('./commands/suggest-command.ts');
  const { exitCode, stdout, stderr } = await suggestCommand(args, process.env, version);
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  return exitCode;
}

async function lock(args: readonly string[]): Promise<number> {
  const { lockProgram } = await import('./commands/lock-program.ts');
  const isTerminal = process.stdout.isTTY;
  const { exitCode, stdout, stderr } = await lockProgram(args, { env: process.env, version, isTerminal });
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  return exitCode;
}

async function connect({ config, places }: Loaded, options: import('./commands/options.ts').Options): Promise<number> {
  const { connectCommand } = await import('./commands/connect-command.ts');
  const { createLogger } = await import('./telemetry/logs/logger.ts');
  const { redactionOf } = await import('../crds/config/adapter-file/redact-config.ts');
  const redaction = redactionOf(config, process.env, places);
  const logger = createLogger('error', redaction, process.stderr);
  const found = await connectCommand(config, { redaction, logger, env: process.env, version });
  const output = options.print ? process.stderr : process.stdout;
  for (const line of found.lines) output.write(`${line}\n`);
  for (const warning of found.warnings) process.stderr.write(`${options.config}: warning: ${warning}\n`);
  for (const problem of found.problems) process.stderr.write(`${options.config}: ${problem}\n`);
  if (found.problems.length > 0 || (options.strict && found.warnings.length > 0)) return 1;
  return found.allAnswered ? 0 : 3;
}

async function explain(
  { config, places }: Loaded,
  caller: import('./commands/options.ts').AskedCaller,
): Promise<number> {
  const { explainAccess } = await import('./commands/explain-access.ts');
  const { createLogger } = await import('./telemetry/logs/logger.ts');
  const { redactionOf } = await import('../crds/config/adapter-file/redact-config.ts');
  const redaction = redactionOf(config, process.env, places);
  const logger = createLogger('error', redaction, process.stderr);
  const { text, problems } = await explainAccess({ config, caller, redaction, logger, env: process.env, version });
  process.stdout.write(text);
  for (const problem of problems) process.stderr.write(`mcp-adapter: ${redaction.text(problem)}\n`);
  return problems.length > 0 ? 1 : 0;
}

async function run({ config, places }: Loaded, options: import('./commands/options.ts').Options): Promise<number> {
  const { createAdapter } = await import('./app.ts');
  const { createLogger } = await import('./telemetry/logs/logger.ts');
  const { LogOutput } = await import('./telemetry/logs/log-output.ts');
  const { redactionOf } = await import('../crds/config/adapter-file/redact-config.ts');
  const { timerMs } = await import('../lib/timer-ms.ts');
  const { releaseMemory } = await import('../lib/memory/release-memory.ts');
  const { adminSettings } = await import('../lib/http/admin-settings.ts');
  const redaction = redactionOf(config, process.env, places);
  const logOutput = new LogOutput();
  const logger = createLogger(options.logLevel ?? config.core.log_level, redaction, logOutput);

  let adapter: import('./app.ts').Adapter | undefined;
  let url;
  try {
    adapter = await createAdapter({
      config,
      logger,
      redaction,
      logOutput,
      env: process.env,
      version,
      references: options.references,
      admin: adminSettings('MCP_ADAPTER', process.env),
      shutdownGraceMs: timerMs(shutdownGrace(process.env, config.core.shutdown_grace_seconds)),
      exit: () => process.exit(1),
    });
    url = await adapter.listen(options.host ?? config.core.host, options.port ?? config.core.port);
  } catch (error) {
    if (adapter === undefined) logger.fatal({ err: error }, 'the adapter cannot start');
    process.stderr.write(`mcp-adapter: cannot start: ${redaction.text((error as Error).message)}\n`);
    return 1;
  }
  using _memory = releaseMemory();
  const running = adapter;
  const exitNow = async (): Promise<void> => {
    await running.terminate();
    process.exit(1);
  };
  process.once('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'the adapter ends: something failed that nobody expected');
    void exitNow();
  });
  const { enabled, path } = config.telemetry.audit_log;
  if (enabled && path !== null) process.on('SIGHUP', () => running.reopenLogs());

  // Said on every level, so that whoever starts it sees where it is.
  process.stdout.write(
    `${JSON.stringify({ level: 'info', time: new Date().toISOString(), msg: 'listening', url, version })}\n`,
  );

  const { promise: signalled, resolve } = Promise.withResolvers<string>();
  process.once('SIGTERM', resolve);
  process.once('SIGINT', resolve);
  const signal = await signalled;
  // A second signal means: now. Telemetry may take its time even then; a third does not wait for it.
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.once(name, () => {
      process.once(name, () => process.exit(1));
      void exitNow();
    });
  }
  logger.info({ signal }, 'draining');
  await adapter.stop();
  logger.info('stopped');
  return 0;
}
