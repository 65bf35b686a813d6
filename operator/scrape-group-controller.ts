import { type ControllerParts, FIELD_MANAGER } from './controller-parts.ts';
import { Lookup } from './mcp-adapter/lookup.ts';
import { Applier } from './runtime/apply.ts';
import type { Controller } from './runtime/controller.ts';
import { API_SCRAPE_SOURCES, SERVICES } from './runtime/resources.ts';
import { StatusWriter } from './runtime/status.ts';
import { createScrapeGroupController } from './scrape-group/controller.ts';
import { createAskScrapers } from './scrape-group/health.ts';
import { rememberingPrepare } from './scrape-group/prepare.ts';

const SERVICES_KEPT_MS = 60_000;

/** The controller of ApiScrapeSources, not started. Disposing it closes its connections; stop it before. */
export function scrapeGroupController(parts: ControllerParts): { readonly controller: Controller } & AsyncDisposable {
  const { api, caches, events, log, hooks, options } = parts;
  const scrapers = createAskScrapers();
  const controller = createScrapeGroupController({
    cluster: {
      sources: caches.sources,
      pods: caches.scraperPods,
      children: caches.children,
      services: new Lookup({ api, resource: SERVICES, keepMs: SERVICES_KEPT_MS }),
      applier: new Applier({ api, fieldManager: FIELD_MANAGER }),
      status: new StatusWriter({ api, resource: API_SCRAPE_SOURCES, fieldManager: FIELD_MANAGER }),
      events,
      ask: scrapers.ask,
      prepare: rememberingPrepare(),
      settings: options,
    },
    log,
    hooks,
  });
  return { controller, [Symbol.asyncDispose]: () => scrapers.close() };
}
