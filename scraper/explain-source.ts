import type { ScraperConfig } from '../crds/config/scraper-file/scraper.ts';
import { connectRulesFrom } from '../lib/net/guarded-connect.ts';
import type { Environment } from '../lib/references/reference.ts';
import { explain, type Explained } from './explain/explain.ts';
import { proxiesFrom, UndiciClient } from './requests/undici-client.ts';

export interface ExplainSource {
  readonly config: ScraperConfig;
  readonly name: string;
  /** Most records that are shown. */
  readonly limit: number;
  readonly env: Environment;
  readonly version: string;
}

/** Explains one source over connections of its own. @throws UnknownSource */
export async function explainSource(
  { config, name, limit, env, version }: ExplainSource,
  signal: AbortSignal,
): Promise<Explained> {
  const http = new UndiciClient({
    proxies: proxiesFrom(env),
    userAgent: `otel-api-scraper/${version}`,
    rules: connectRulesFrom(env),
  });
  try {
    return await explain({ config, name, limit, http, now: () => new Date() }, signal);
  } finally {
    await http.close();
  }
}
