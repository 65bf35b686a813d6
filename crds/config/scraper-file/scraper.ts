import { z } from 'zod';
import { scraperRules } from './rules.ts';
import { ScraperSettings } from './settings.ts';
import { Source } from './source.ts';

export { ScraperSettings } from './settings.ts';
export { Source } from './source.ts';

/**
 * The scraper's configuration file: the program, and the APIs that it scrapes. The output has every default applied,
 * and durations in milliseconds; the input is what a user may write, once references are resolved.
 */
export const ScraperConfig = z
  .strictObject({
    scraper: ScraperSettings.describe('The program itself, and where its telemetry goes.'),
    sources: z.array(Source, { error: 'a list of sources' }).describe('The APIs. The list may be empty.'),
  })
  .superRefine(scraperRules, { when: () => true });

export type ScraperConfig = z.output<typeof ScraperConfig>;
