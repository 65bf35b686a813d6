import type { ScraperConfig } from '../crds/config/scraper-file/scraper.ts';
import { withPlaceholders } from '../lib/redaction/hidden-places.ts';
import type { Redact } from '../lib/redaction/redact.ts';
import type { Environment } from '../lib/references/reference.ts';
import { watchReferences } from '../lib/references/watch-references.ts';
import { ConfigFile, type LoadedConfig } from './config-file.ts';
import { explainSource } from './explain-source.ts';
import { createScraper } from './create-scraper.ts';
import { healthObject, sourceHealth, type HealthObject } from './http/health.ts';
import { adminRoutes } from './http/admin-routes.ts';
import { bearerToken } from '../lib/http/bearer-token.ts';
import { type AdminPort, openAdminPort } from '../lib/http/admin-port.ts';
import type { AdminSettings } from '../lib/http/admin-settings.ts';
import { HttpServer } from '../lib/http/http-server.ts';
import { adminToken } from './http/admin-token.ts';
import { healthRoutes } from './http/health-routes.ts';
import type { Logger } from './logger.ts';

export interface AppOptions {
  readonly configPath: string;
  /** What the file held at the start. */
  readonly loaded: LoadedConfig;
  readonly env: Environment;
  readonly logger: Logger;
  readonly version: string;
  /** Folder with the files of referenced Secrets and ConfigMaps, whose change is shown in the health object. */
  readonly references: string | undefined;
  /** Name of the pods that have the same sources; undefined: all pods that share the state. */
  readonly shard?: string | undefined;
  /** Whether sources that something is wrong with are left out of the file. */
  readonly keepGoing?: boolean;
  /** Where it answers who operates it, beside the admin API of the configuration; undefined: nowhere. */
  readonly admin?: AdminSettings | undefined;
}

export interface App {
  /** Begins to scrape. */
  start(): Promise<void>;
  /** Opens the port of health checks and the admin API, and returns the URL. */
  listen(host: string | undefined, port: number): Promise<string>;
  /** Drains, and closes everything in the reverse order of opening. */
  stop(): Promise<void>;
  health(): HealthObject;
  /** What no line of the log may hold. */
  secrets(): readonly string[];
  /** A text with hosts as the configuration writes them. */
  readonly redact: Redact;
}

/** Builds the scraper from its configuration: every part is made here and given only what it needs. */
export async function createApp(options: AppOptions): Promise<App> {
  const { loaded, env, logger, version } = options;
  let draining = false;
  let redact = withPlaceholders(loaded.places);

  /** Closed in the reverse order when something below cannot be made. */
  await using opening = new AsyncDisposableStack();
  const references = options.references === undefined ? undefined : await watchReferences(options.references);
  opening.defer(async () => references?.stop());
  const scraper = await createScraper({ config: loaded.config, env, logger, version, shard: options.shard });
  opening.defer(() => scraper.stop());
  const file = watchedConfig(options, (next) => {
    redact = withPlaceholders(next.places);
    scraper.replace(next);
  });
  opening.defer(() => file.stop());

  const health = (): HealthObject =>
    healthObject({
      version,
      configHash: file.current.hash,
      configError: file.error,
      leftOut: file.current.leftOut,
      referencesChanged: references?.changed(),
      sources: scraper.sources().map((source) => sourceHealth(source, redact)),
    });
  const token = adminToken(loaded.config.scraper, env);
  const current = (): ScraperConfig => ({ scraper: loaded.config.scraper, sources: file.current.config.sources });
  const routes = adminRoutes({
    config: current,
    scraper,
    isDraining: () => draining,
    now: () => new Date(),
    async explain(name, limit, signal) {
      const explained = await explainSource({ config: current(), name, limit, env, version }, signal);
      return { ...explained, text: redact(explained.text) };
    },
  });
  const server = new HttpServer({
    open: healthRoutes({ health, notReady: () => (draining ? 'draining' : scraper.ready()) }),
    admin:
      token === undefined
        ? undefined
        : {
            routes,
            hasToken: bearerToken(token),
            names: 'source',
          },
    logger,
  });
  let admin: AdminPort | undefined;

  opening.move();
  return {
    health,
    secrets: withToken(token, () => scraper.secrets()),
    redact: (text) => redact(text),
    async start() {
      if (options.admin !== undefined) admin = await openAdminPort(options.admin, routes, { logger });
      await scraper.start();
    },
    listen: (host, port) => server.listen(host, port),
    async stop() {
      draining = true;
      await file.stop();
      await scraper.stop();
      await server.close();
      await admin?.close();
      await references?.stop();
    },
  };
}

/** The configuration's file, from which `onChange` gets each new content, and the log what has changed. */
function watchedConfig(
  { configPath: path, loaded, env, logger, keepGoing = false }: AppOptions,
  onChange: (next: LoadedConfig) => void,
): ConfigFile {
  const settings = JSON.stringify(loaded.config.scraper);
  return new ConfigFile(loaded, {
    path,
    env,
    keepGoing,
    onChange(next) {
      onChange(next);
      logger.info({ config_hash: next.hash, sources: next.config.sources.length }, 'the configuration has changed');
      for (const { path: at, message } of next.warnings) logger.warn({ path: at }, message);
      for (const { path: at, message } of next.leftOut ?? [])
        logger.error({ path: at }, `this source is left out: ${message}`);
      if (JSON.stringify(next.config.scraper) !== settings) {
        logger.warn('what has changed in the section scraper applies from the next start on');
      }
    },
    onError: (problem) => logger.error({ problem }, 'configuration reload failed: keeping the previous one'),
  });
}

/** The secrets with one more, as the same list while nothing has changed: every line of the log asks for it. */
function withToken(token: string | undefined, others: () => readonly string[]): () => readonly string[] {
  if (token === undefined) return others;
  let known: readonly string[] | undefined;
  let all: readonly string[] = [];
  return () => {
    const now = others();
    if (now !== known) [known, all] = [now, [token, ...now]];
    return all;
  };
}
