import { z } from 'zod';
import { bytes } from '../values/bytes.ts';
import { duration } from '../values/duration.ts';
import { httpUrl } from '../values/network-values.ts';
import { Auth } from './auth.ts';
import { DeltaDetection, Filters } from './filters.ts';
import { Attribute, CounterReading, GaugeReading, HistogramReading, LogStatusField } from './readings.ts';
import { sourceRules } from './rules.ts';
import { Scrape } from './scrape.ts';
import { ClientTls } from './tls.ts';
import { cron } from './values.ts';
import { flag, integer, listOf, maybeEmpty, nonBlank, oneOf, text } from '../values/values.ts';

/** The fields of an entry of `sources`, as they are written. */
const Fields = z.strictObject({
  name: nonBlank().describe('Unique name of the source; every point and log record carries it as `source`.'),
  frequency: duration()
    .describe('Time between two scrapes, such as `30s`, `5m`, `1h`, `1d`. Required unless `cron` is set.')
    .nullable()
    .prefault(null),
  cron: cron()
    .describe('(new) When to scrape, in UTC: minute, hour, day of month, month, day of week. Overrides `frequency`.')
    .nullable()
    .prefault(null),
  jitter: duration({ orZero: true })
    .describe('(new) Each scrape is put off by a random time up to this one.')
    .prefault('0s'),
  baseUrl: httpUrl().describe('Base address of the API.'),
  endpoint: text('a path such as /v1/events').describe('Path below `baseUrl`, or an absolute URL.'),
  scrape: Scrape.describe('Which requests are made.'),
  auth: Auth.describe('How requests are authenticated. Null: not at all.').nullable().prefault(null),
  tls: maybeEmpty(ClientTls.prefault({})).describe('(new) TLS to the API.'),
  dataKey: text('a path such as data.items')
    .describe('Path of the list of records in the answer; `a[].b` for lists in lists. Null: the answer is the list.')
    .nullable()
    .prefault(null),
  dataKeyRequired: flag()
    .describe(
      '(new) An answer that has nothing at `dataKey`, not even an empty list, is a failure, and its window is tried again: ' +
        'for APIs that tell of errors with status 200. Otherwise such an answer has no records.',
    )
    .prefault(false),
  timestampKey: text('a path such as created_at')
    .describe('(new) Path of the time of a record, for log records and gauges (`pointTime`). Null: they have none.')
    .nullable()
    .prefault(null),
  timestampFormat: text()
    .describe(
      '(new) Format of this time: strftime, or `unix`, `unix_ms`, `unix_us`, `unix_ns`. Null: ISO 8601, or Unix time ' +
        'in seconds.',
    )
    .nullable()
    .prefault(null),
  pointTime: oneOf(['record', 'window', 'scrape'])
    .describe(
      '(new) When the points of metrics are. `window`: in their window, also when it is scraped late; what is added from ' +
        'its start to its end, gauges at the time of their latest record (`timestampKey`), or at its end. `record`: as ' +
        '`window`, and what is added ends with its latest record. `scrape`: when they are exported. Null: `window` for the ' +
        'range type, `scrape` otherwise.',
    )
    .nullable()
    .prefault(null),
  allowOverlapScans: flag().describe('Start a run also while the last one still goes on.').prefault(false),
  emitLogs: flag().describe('Emit each record as a log record as well.').prefault(true),
  runFirstScrape: flag()
    .describe('Scrape at the first start, instead of only remembering the time for the next scrape.')
    .prefault(false),
  filters: maybeEmpty(Filters.prefault({})).describe('Which records are emitted.'),
  deltaDetection: maybeEmpty(DeltaDetection.prefault({})).describe('Whether unchanged records are emitted again.'),
  gaugeReadings: maybeEmpty(listOf(GaugeReading, 'a list of readings').prefault([])).describe(
    'Values that rise and fall.',
  ),
  counterReadings: maybeEmpty(listOf(CounterReading, 'a list of readings').prefault([])).describe(
    'Values that add up. Without `dataKey`, each record adds 1.',
  ),
  histogramReadings: maybeEmpty(listOf(HistogramReading, 'a list of readings').prefault([])).describe(
    'Values whose distribution matters.',
  ),
  attributes: maybeEmpty(listOf(Attribute, 'a list of attributes').prefault([])).describe(
    'Attributes of all points and log records.',
  ),
  logStatusField: LogStatusField.describe('What decides about the severity of log records.').nullable().prefault(null),
  maxSeries: integer({ min: 1 })
    .describe('(new) Most sets of attributes of one metric; the rest is added up under `otel.metric.overflow`.')
    .prefault(10_000),
  maxSeriesBytes: bytes({ min: 1 })
    .describe(
      '(new) Most memory for the sets of attributes of all metrics of the source, about 0.5 KiB each and twice their text; ' +
        'the rest is added up as beyond `maxSeries`.',
    )
    .prefault('32Mi'),
});

/** One entry of `sources`. Shapes that only the original's documentation has come out in their usual place. */
export const Source = Fields
  // Also when fields are invalid, so that a user sees all problems at once; the rules read the value with care.
  .superRefine(sourceRules, { when: () => true })
  .transform((source) => {
    const { runFirstScrape, frequency, dateFormat, ...scrape } = source.scrape;
    const { rangeKeys } = scrape;
    return {
      ...source,
      frequency: source.frequency ?? frequency,
      pointTime: source.pointTime ?? (source.scrape.type === 'range' ? 'window' : 'scrape'),
      runFirstScrape: source.runFirstScrape || runFirstScrape === true,
      scrape: {
        ...scrape,
        rangeKeys: rangeKeys === null ? null : { ...rangeKeys, dateFormat: rangeKeys.dateFormat || dateFormat },
      },
    };
  });
export type Source = z.output<typeof Source>;
