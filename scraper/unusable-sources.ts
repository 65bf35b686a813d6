import { type Problem, dottedPath } from '../crds/config/load/problem.ts';
import type { ScraperConfig, Source } from '../crds/config/scraper-file/scraper.ts';
import type { Path } from '../lib/json/tree.ts';
import { readYaml } from '../crds/config/load/yaml-source.ts';
import { prepareSource } from './window/prepared-source.ts';
import { InvalidSetting } from './records/invalid-setting.ts';
import { TokenCache } from './requests/token-cache.ts';
import { scheduleOf } from './times/next-run-time.ts';

/**
 * What only shows when sources are prepared: settings that the schema lets pass, and from which nothing can be made. Such
 * a source would not run, while the others do. `text` is the file, in which they are located.
 */
export function unusableSources({ scraper, sources }: ScraperConfig, text: string, now: Date): Problem[] {
  const file = readYaml(text);
  return sources.flatMap((source, index) => {
    const fault = faultOf(source, scraper, now);
    if (fault === undefined) return [];
    const at = ['sources', index, ...fault.at];
    return [{ path: dottedPath(at), message: fault.message, ...file.locate(at) }];
  });
}

function faultOf(
  source: Source,
  settings: ScraperConfig['scraper'],
  now: Date,
): { readonly at: Path; readonly message: string } | undefined {
  try {
    prepareSource(source, {
      settings,
      http: { send: () => Promise.reject(new Error('nothing is sent')) },
      tokens: new TokenCache(() => 0),
      now: () => now,
      warn: () => undefined,
    });
  } catch (error) {
    if (!(error instanceof InvalidSetting)) throw error;
    return { at: keysOf(error.path), message: error.message.slice(error.path.length + 2) };
  }
  return scheduleOf(source, now).next(now) === undefined
    ? { at: ['cron'], message: 'names a time that never comes' }
    : undefined;
}

/** `filters.drop[0].any` → `['filters', 'drop', 0, 'any']`. */
const keysOf = (path: string): Path =>
  [...path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, key]) =>
    index === undefined ? (key ?? '') : Number(index),
  );
