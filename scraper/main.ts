#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import { enableCompileCache } from 'node:module';
import { packageVersion } from '../lib/package-version.ts';
import type { LoadedConfig } from './config-file.ts';
import type { Options } from './options.ts';

enableCompileCache();

const { readOptions, USAGE, UsageError } = await import('./options.ts');

const version = packageVersion(import.meta.url);
process.exit(await main());

async function main(): Promise<number> {
  let options;
  try {
    options = readOptions(process.argv.slice(2), process.env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`otel-api-scraper: ${error.message}\nTry 'otel-api-scraper --help'.\n`);
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

  const { describeProblem, readConfigFile } = await import('./config-file.ts');
  let loaded;
  try {
    loaded = await readConfigFile(options.config, process.env, options.keepGoing);
  } catch (error) {
    process.stderr.write(`${describeProblem(error, options.config)}\n`);
    return 1;
  }
  if (options.action === 'validate') return validate(loaded, options.config);
  if (options.explain !== undefined) return explained(loaded, options.explain);
  return options.action === 'once' ? once(loaded) : run(loaded, options);
}

async function validate({ config, warnings }: LoadedConfig, path: string): Promise<number> {
  const { redactedScraperConfig } = await import('../crds/config/scraper-file/redact.ts');
  const { ConfigError } = await import('../crds/config/load/problem.ts');
  const { describeProblem } = await import('./config-file.ts');
  const { unusableSources } = await import('./unusable-sources.ts');
  const { stringify } = await import('yaml');
  for (const warning of warnings) {
    process.stderr.write(`warning: ${path}:${warning.line ?? 1}: ${warning.path} ${warning.message}\n`);
  }
  const unusable = unusableSources(config, await readFile(path, 'utf8'), new Date());
  if (unusable.length > 0) {
    process.stderr.write(`${describeProblem(new ConfigError(unusable), path)}\n`);
    return 1;
  }
  process.stdout.write(stringify(redactedScraperConfig(config)));
  return 0;
}

async function explained(loaded: LoadedConfig, options: NonNullable<Options['explain']>): Promise<number> {
  const { explainSource } = await import('./explain-source.ts');
  const { UnknownSource } = await import('./explain/known-source.ts');
  const { source: name, limit } = options;
  try {
    const asked = { config: loaded.config, name, limit, env: process.env, version };
    const { text, isFine } = await explainSource(asked, new AbortController().signal);
    process.stdout.write(text);
    return isFine ? 0 : 1;
  } catch (error) {
    if (!(error instanceof UnknownSource)) throw error;
    process.stderr.write(`otel-api-scraper: ${error.message}\n`);
    return 1;
  }
}

async function once(loaded: LoadedConfig): Promise<number> {
  const { scrapeOnce } = await import('./once.ts');
  const stopped = new AbortController();
  process.once('SIGTERM', () => stopped.abort());
  process.once('SIGINT', () => stopped.abort());
  const { lines, isFine } = await scrapeOnce({ loaded, env: process.env, version, signal: stopped.signal });
  for (const line of lines) process.stdout.write(`${line}\n`);
  const { leftOut = [] } = loaded;
  for (const { path, message } of leftOut) process.stderr.write(`left out: ${path} ${message}\n`);
  return isFine && leftOut.length === 0 ? 0 : 1;
}

async function run(loaded: LoadedConfig, options: Options): Promise<number> {
  const { createApp } = await import('./app.ts');
  const { createLogger } = await import('./logger.ts');
  const { scraperSecrets } = await import('../crds/config/scraper-file/redact.ts');
  const { withPlaceholders } = await import('../lib/redaction/hidden-places.ts');
  const { adminSettings } = await import('../lib/http/admin-settings.ts');
  const { releaseMemory } = await import('../lib/memory/release-memory.ts');
  const { logLevel, servicePort, enableAdminApi } = loaded.config.scraper;
  let admin;
  try {
    admin = adminSettings('SCRAPER', process.env);
  } catch (error) {
    process.stderr.write(`otel-api-scraper: ${(error as Error).message}\n`);
    return 2;
  }
  const configured = scraperSecrets(loaded.config);
  let secrets = (): readonly string[] => configured;
  let redact = withPlaceholders(loaded.places);
  const logger = createLogger(
    logLevel,
    () => secrets(),
    undefined,
    (line) => redact(line),
  );
  for (const { path, message } of loaded.warnings) logger.warn({ path }, message);
  for (const { path, message } of loaded.leftOut ?? []) logger.error({ path }, `this source is left out: ${message}`);

  const scraper = await createApp({
    configPath: options.config,
    loaded,
    env: process.env,
    logger,
    version,
    references: options.references,
    shard: options.shard,
    keepGoing: options.keepGoing,
    admin,
  });
  secrets = () => scraper.secrets();
  ({ redact } = scraper);
  try {
    const url = await scraper.listen(options.host, options.port ?? servicePort);
    // Said on every level, so that whoever starts it sees where it is.
    process.stdout.write(
      `${JSON.stringify({ level: 'info', time: new Date().toISOString(), msg: 'listening', url, version })}\n`,
    );
  } catch (error) {
    // The original opens no port without the admin API, so that its default, 80, need not be allowed.
    if (options.port !== undefined || enableAdminApi) {
      logger.fatal({ err: error }, 'the scraper cannot start');
      process.stderr.write(`otel-api-scraper: cannot start: ${(error as Error).message}\n`);
      await scraper.stop();
      return 1;
    }
    logger.warn({ err: error }, 'the port for health checks cannot be opened; set scraper.servicePort or --port');
  }
  await scraper.start();
  using _memory = releaseMemory();

  const { promise: signalled, resolve } = Promise.withResolvers<string>();
  process.once('SIGTERM', resolve);
  process.once('SIGINT', resolve);
  const idle = setInterval(() => undefined, 2 ** 30);
  const signal = await signalled;
  clearInterval(idle);
  // A second signal means: now.
  process.once('SIGTERM', () => process.exit(1));
  process.once('SIGINT', () => process.exit(1));
  logger.info({ signal }, 'draining');
  await scraper.stop();
  logger.info('stopped');
  return 0;
}
