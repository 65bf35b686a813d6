import type { Environment } from '../crds/config/reference.ts';
import { watchReferences } from '../crds/runtime/references.ts';
import { ConfigFile, type LoadedConfig } from './config-file.ts';
import { healthObject, notYetScraped, type HealthObject } from './health.ts';
import { HealthServer } from './health-server.ts';
import type { Logger } from './logger.ts';

export interface ScraperOptions {
  readonly configPath: string;
  /** What the file held at the start. */
  readonly loaded: LoadedConfig;
  readonly env: Environment;
  readonly logger: Logger;
  readonly version: string;
  /** Folder with the files of referenced Secrets and ConfigMaps, whose change is shown in the health object. */
  readonly references: string | undefined;
  /** Told of every configuration that comes into use after the first. */
  readonly onConfig: (loaded: LoadedConfig) => void;
}

export interface Scraper {
  /** Opens the port of health checks and returns the URL. */
  listen(host: string | undefined, port: number): Promise<string>;
  /** Drains, and closes everything in the reverse order of opening. */
  stop(): Promise<void>;
  health(): HealthObject;
}

/** Builds the scraper from its configuration: every part is made here and given only what it needs. */
export async function createScraper(options: ScraperOptions): Promise<Scraper> {
  const { configPath, loaded, env, logger, version } = options;
  let draining = false;

  const references = options.references === undefined ? undefined : await watchReferences(options.references);
  const settings = JSON.stringify(loaded.config.scraper);
  const file = new ConfigFile(loaded, {
    path: configPath,
    env,
    onChange(next) {
      options.onConfig(next);
      logger.info({ config_hash: next.hash, sources: next.config.sources.length }, 'the configuration has changed');
      for (const { path, message } of next.warnings) logger.warn({ path }, message);
      if (JSON.stringify(next.config.scraper) !== settings) {
        logger.warn('what has changed in the section scraper applies from the next start on');
      }
    },
    onError: (problem) => logger.error({ problem }, 'the new configuration cannot be used; the last one stays'),
  });
  // The sources as configured; scraping takes its place here.
  logger.warn('this version checks its configuration and does not scrape yet: nothing is requested or emitted');

  const health = (): HealthObject =>
    healthObject({
      version,
      configHash: file.current.hash,
      configError: file.error,
      referencesChanged: references?.changed(),
      sources: file.current.config.sources.map(notYetScraped),
    });
  const server = new HealthServer({ health, notReady: () => (draining ? 'draining' : undefined) });

  return {
    health,
    listen: (host, port) => server.listen(host, port),
    async stop() {
      draining = true;
      await server.close();
      await file.stop();
      await references?.stop();
    },
  };
}
