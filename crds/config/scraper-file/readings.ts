import { z } from 'zod';
import { float, metricName, textOrTexts, unit } from './values.ts';
import { flag, listOf, maybeEmpty, nonBlank, oneOf, text } from '../values/values.ts';

/** What becomes of a record: sections `gaugeReadings` to `logStatusField` of a source. */

const valueKey = () => text('a path such as stats.count').nullable().prefault(null);

const Label = z.strictObject({
  name: nonBlank().describe('Name of the attribute.'),
  dataKey: text('a path such as stats.kind').describe(
    'Path of its value in the record, or in the answer with `$root.`.',
  ),
});

const shape = {
  name: metricName().describe('Name of the metric.'),
  dataKey: valueKey().describe('Path of the value in the record, or in the answer with `$root.`.'),
  fixedValue: float().describe('The value itself; takes precedence over `dataKey`.').nullable().prefault(null),
  unit: unit(),
  valueKey: valueKey().describe('Another name of `dataKey`.'),
  labels: maybeEmpty(listOf(Label, 'a list of mappings with name and dataKey').prefault([])).describe(
    'Attributes of this metric only, besides those of `attributes`.',
  ),
};

/** Puts the value of `valueKey` where it belongs. */
function renamed<T extends { dataKey: string | null; valueKey: string | null }>(
  { valueKey: alias, ...reading }: T,
  context: z.core.$RefinementCtx,
): Omit<T, 'valueKey'> {
  if (alias !== null && reading.dataKey !== null && alias !== reading.dataKey) {
    context.issues.push({
      code: 'custom',
      input: alias,
      path: ['valueKey'],
      message: 'contradicts dataKey, of which it is another name; remove one of them',
      params: { rule: true },
    });
  }
  return { ...reading, dataKey: reading.dataKey ?? alias };
}

export const GaugeReading = z.strictObject(shape).transform(renamed);
export type GaugeReading = z.output<typeof GaugeReading>;

export const CounterReading = z
  .strictObject({
    ...shape,
    cumulative: flag()
      .describe(
        '(new) The value is a running total; what it grew by is added, and a fall counts as a new start. Records of one ' +
          'answer are taken in the order of `timestampKey`, without it as they come, so then the oldest has to be first.',
      )
      .prefault(false),
  })
  .transform(renamed);
export type CounterReading = z.output<typeof CounterReading>;

const ascending = (bounds: number[]): number[] => [...new Set(bounds)].sort((a, b) => a - b);

export const HistogramReading = z
  .strictObject({
    ...shape,
    buckets: listOf(float(), 'a list of numbers')
      .transform(ascending)
      .describe('Upper bounds of the buckets; a last one without a bound is always there.'),
  })
  .transform(renamed);
export type HistogramReading = z.output<typeof HistogramReading>;

const AsMetric = z.strictObject({
  metricName: metricName().describe('Name of the metric. Null: the name of the attribute.').nullable().prefault(null),
  valueMapping: maybeEmpty(
    z.record(z.string(), float(), { error: 'a mapping from values to numbers' }).prefault({}),
  ).describe('What each value of the attribute adds to the metric; others add nothing.'),
  unit: unit(),
});

export const Attribute = z.strictObject({
  name: nonBlank().describe('Name of the attribute.'),
  dataKey: text('a path such as stats.kind').describe(
    'Path of its value in the record, or in the answer with `$root.`.',
  ),
  asMetric: AsMetric.describe('Also count the values of this attribute in a metric.').nullable().prefault(null),
});
export type Attribute = z.output<typeof Attribute>;

const StatusRule = z.strictObject({
  value: textOrTexts().describe('A text, or a list of texts.'),
  matchType: oneOf(['equals', 'in'])
    .describe('`equals`: the field is one of the texts. `in`: it is in the list, or contains the text.')
    .prefault('equals'),
});

export const LogStatusField = z.strictObject({
  name: text('a path such as stats.kind').describe(
    'Path of the value that decides about the severity. Rules are tried from `error` to `info`; none: `info`.',
  ),
  error: StatusRule.describe('When a log record is an error.').nullable().prefault(null),
  warning: StatusRule.describe('When a log record is a warning.').nullable().prefault(null),
  info: StatusRule.describe('When a log record is an information.').nullable().prefault(null),
});
export type LogStatusField = z.output<typeof LogStatusField>;
