import { z } from 'zod';
import { bytes } from '../values/bytes.ts';
import { duration } from '../values/duration.ts';
import { headerMap } from '../values/network-values.ts';
import { Pagination } from './pagination.ts';
import { anyMap } from './values.ts';
import { flag, integer, maybeEmpty, oneOf, text } from '../values/values.ts';

/** Section `scrape` of a source: which requests are made. */

const RangeKeys = z.strictObject({
  startKey: text().describe('Parameter that takes the start of the window.').nullable().prefault(null),
  endKey: text().describe('Parameter that takes the end of the window.').nullable().prefault(null),
  firstScrapeStart: text()
    .describe(
      'Where the first scrape starts, with `runFirstScrape`: ISO 8601, or in the format of the window times, such as ' +
        '`1767225600` for `unix`. Null: one `frequency` before now.',
    )
    .nullable()
    .prefault(null),
  unit: oneOf(['minutes', 'hours', 'days', 'weeks', 'months'])
    .describe('With it the parameters `unit` and `value` are sent instead of a start and an end.')
    .nullable()
    .prefault(null),
  value: z
    .union([z.int({ error: 'an integer or a string' }), text('an integer or a string')], {
      error: 'an integer or a string',
    })
    .describe(
      'What `value` is. `from-config`: as many units as `frequency` has; after an outage or a failure, and with `cron`, as ' +
        'many as reach back to the last scrape. A number is always sent as it is; what it does not reach back to after an ' +
        'outage is lost, which is logged and counted.',
    )
    .nullable()
    .prefault('from-config'),
  takeNegative: flag().describe('Make the value of `from-config` negative.').prefault(false),
  dateFormat: text().describe('Format of window times, as `timeFormat`, before all others.').nullable().prefault(null),
});

const ParallelWindow = z.strictObject({
  unit: oneOf(['minutes', 'hours', 'days']).describe('Unit of `value`.'),
  value: integer({ min: 1 }).describe('Size of a window.'),
});

const Retry = z.strictObject({
  maxAttempts: integer({ min: 1 })
    .describe('How often a window is tried before it is set aside, which health and the admin API show.')
    .prefault(10),
  initialDelay: duration().describe('Wait after the first failure. It doubles each time, and varies.').prefault('1s'),
  maxDelay: duration().describe('Longest wait, but for a longer one that the API asks for.').prefault('5min'),
});

const RateLimit = z.strictObject({
  requests: integer({ min: 1 }).describe('Most requests in this time.'),
  per: duration().describe('The time.').prefault('1s'),
  burst: integer({ min: 1 })
    .describe('Most requests at once after a pause. Null: as `requests`.')
    .nullable()
    .prefault(null),
});

export const Scrape = z.strictObject({
  type: oneOf(['range', 'instant']).describe(
    '`range`: a window of time, for events and logs. `instant`: how things are now.',
  ),
  httpMethod: oneOf(['GET', 'POST'])
    .describe('With `POST`, all parameters are sent as one JSON object.')
    .prefault('GET'),
  timeFormat: text()
    .describe(
      'Format of window times, in UTC: strftime, or (new) `unix`, `unix_ms`, `unix_us`, `unix_ns`. Null: ' +
        '`scraper.defaultTimeFormat`.',
    )
    .nullable()
    .prefault(null),
  maxConcurrency: integer({ min: 1 })
    .describe('Most windows at a time. Null: `scraper.defaultSourceConcurrency`.')
    .nullable()
    .prefault(null),
  parallelWindow: ParallelWindow.describe('Splits a long range into windows of this size. Range type only.')
    .nullable()
    .prefault(null),
  rangeKeys: RangeKeys.describe('How the window is sent. Required for the range type.').nullable().prefault(null),
  urlEncodeTimeKeys: flag().describe('Encode the times of the window in the URL.').prefault(false),
  extraHeaders: maybeEmpty(headerMap().prefault({})).describe('Extra request headers.'),
  extraArgs: maybeEmpty(anyMap('a mapping from parameters to values').prefault({})).describe(
    'Extra parameters. A mapping `{noEncodeValue: x}` as the value sends x as it is. Numbers are sent as they are ' +
      'written; in a custom resource, where Kubernetes writes them anew, put `"1.0"` in quotes.',
  ),
  pagination: Pagination.describe('(new) How an answer leads to the next one. Null: there is one answer.')
    .nullable()
    .prefault(null),
  timeout: duration().describe('(new) Time limit of one request.').prefault('60s'),
  maxResponseBytes: bytes({ min: 1 }).describe('(new) Largest answer that is read.').prefault('64Mi'),
  minBytesPerSecond: bytes({ min: 0 })
    .describe(
      '(new) Least rate of an answer, over 10 s and from its first byte on: one that comes more slowly fails, so that it ' +
        'keeps no other source from being asked. 0: none.',
    )
    .prefault('1Ki'),
  maxWindowBytes: bytes({ min: 1 })
    .describe(
      '(new) Most bytes of all pages of a window. With more, the window fails rather than lose records. A single page may ' +
        'have as many as `maxResponseBytes`.',
    )
    .prefault('32Mi'),
  retry: maybeEmpty(Retry.prefault({})).describe('(new) What follows the failure of a window.'),
  rateLimit: RateLimit.describe(
    '(new) Most requests to the host of this source, counted over all sources and pods; the strictest limit of the ' +
      'sources of a host applies. Null: no limit.',
  )
    .nullable()
    .prefault(null),
  lag: duration({ orZero: true })
    .describe('(new) How far windows stay behind now, for APIs that show records late. Range type only.')
    .prefault('0s'),
  overlap: duration({ orZero: true })
    .describe('(new) How far a window reaches back into the one before it. Range type only.')
    .prefault('0s'),
  maxCatchUp: duration()
    .describe(
      '(new) How far back scraping goes after an outage; what is older is left out and reported. Null: to where it ' +
        'stopped. Range type only.',
    )
    .nullable()
    .prefault(null),
  maxConcurrentWindows: integer({ min: 1 })
    .describe('(new) Most windows that are begun and not yet committed. Null: as `maxConcurrency`. Range type only.')
    .nullable()
    .prefault(null),
  runFirstScrape: flag().describe('Also accepted here; belongs to the source.').nullable().prefault(null),
  frequency: duration().describe('Also accepted here; belongs to the source.').nullable().prefault(null),
  dateFormat: text().describe('Also accepted here; belongs to `rangeKeys`.').nullable().prefault(null),
});
