import { z } from 'zod';
import { ScraperSettings, Source } from '../config/scraper-file/scraper.ts';
import { kubernetes, newClaim, type ObjectMeta, podFields } from './api.ts';
import { Condition } from './conditions.ts';

/** What a user writes: one source, the group that it runs in, and settings of that group. */
export const ApiScrapeSourceSpec = z.strictObject({
  group: z
    .string()
    .min(1)
    .max(40)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, { error: 'a lower-case name of letters, digits and -' })
    .optional()
    .describe('Sources of one namespace and group run in the same pods. Default: `default`.'),
  source: Source.describe('The source, exactly as it would stand in `sources` of the scraper’s file.'),
  scraper: ScraperSettings.partial()
    .optional()
    .describe(
      'Settings of the group, as in `scraper` of the file. They need to stand in one source of the group only; the ' +
        'oldest source that sets a field decides, and a source that contradicts it is not accepted.',
    ),
  replicas: z
    .int()
    .min(0)
    .max(100)
    .optional()
    .describe('Number of pods of the group. More than 1 needs the `valkey` store. Default: 1.'),
  storage: z
    .strictObject({
      claim: newClaim('Access modes. Default: `[ReadWriteOnce]`.')
        .optional()
        .describe('A PersistentVolumeClaim that the operator makes, one for each shard.'),
      deletionPolicy: z
        .enum(['Retain', 'Delete'])
        .optional()
        .describe('Whether the claim outlives the last source of the group. Default: `Retain`.'),
    })
    .optional()
    .describe(
      'Where the `sqlite` store is kept: what has been exported, and what is still to be. Without a claim it goes with ' +
        'its pod, and what happens until the next pod begins is not scraped. Of no use with `valkey`. Default: a ' +
        'temporary folder.',
    ),
  networkPolicy: z
    .strictObject({
      extraEgress: z
        .array(kubernetes())
        .max(64)
        .optional()
        .describe('More rules for connections of the pods, such as one to a proxy.'),
    })
    .optional()
    .describe('The NetworkPolicy of the group.'),
  ...podFields,
});
export type ApiScrapeSourceSpec = Omit<z.output<typeof ApiScrapeSourceSpec>, 'source' | 'scraper'> & {
  readonly source: z.input<typeof Source>;
  readonly scraper?: Partial<z.input<typeof ScraperSettings>>;
};

export const ApiScrapeSourceStatus = z.strictObject({
  observedGeneration: z.int().optional().describe('Generation of the spec that this status is about.'),
  conditions: z.array(Condition).optional().describe('What holds, and why.'),
  group: z.string().optional().describe('The group that runs the source.'),
  lastScrapeTime: z.iso
    .datetime()
    .optional()
    .describe(
      'When the last scrape began whose outcome was another than before; the times of every scrape are in the metrics.',
    ),
  lastSuccessTime: z.iso.datetime().optional().describe('When the last successful scrape ended, as of lastScrapeTime.'),
  watermark: z.iso
    .datetime()
    .optional()
    .describe(
      'Everything before this time was exported, as far back as the store of the group reaches; as of lastScrapeTime.',
    ),
  records: z.int().optional().describe('Number of records of the scrape of lastScrapeTime.'),
  lastError: z.string().optional().describe('Why the last scrape failed; absent after a success.'),
  deadWindows: z
    .int()
    .optional()
    .describe('Windows of a range source that were set aside after too many attempts; absent when there are none.'),
});
export type ApiScrapeSourceStatus = z.output<typeof ApiScrapeSourceStatus>;

/** A resource as the API server gives it. Its spec is unchecked but for what the CRD's schema refuses. */
export interface ApiScrapeSource {
  readonly apiVersion: string;
  readonly kind: 'ApiScrapeSource';
  readonly metadata: ObjectMeta;
  readonly spec: ApiScrapeSourceSpec;
  readonly status?: ApiScrapeSourceStatus;
}
