import type { AnyValue } from '@opentelemetry/api';
import { compileRecordTime } from '../records/timestamp.ts';
import { compilePath, type ValuePath } from '../records/value-path.ts';
import { logValue } from './attribute-value.ts';
import type { AddReadings, Measured } from './compile-readings.ts';
import { compileSeverity } from './severity.ts';

/** One log record per record, with the record in its body, and its own time where it has one. */
export function compileLogs(
  source: Pick<Measured, 'name' | 'logStatusField' | 'timestampKey' | 'timestampFormat'>,
  names: readonly string[],
  paths: readonly ValuePath[],
): AddReadings {
  const severityOf = compileSeverity(source.logStatusField);
  const timeKey = source.timestampKey === null ? undefined : compilePath(source.timestampKey);
  const parseTime = compileRecordTime(source.timestampFormat);
  return (records, root, { logs }, { observed }) => {
    for (const record of records) {
      const time = timeKey === undefined ? undefined : parseTime(timeKey(record, root));
      const attributes = Object.create(null) as Record<string, AnyValue>;
      attributes['source'] = source.name;
      for (const [place, path] of paths.entries()) {
        const value = path(record, root);
        if (value !== null) attributes[names[place + 1] ?? ''] = logValue(value);
      }
      logs.push({
        logger: source.name,
        time: time ?? observed,
        observed,
        severity: severityOf(record, root),
        body: { source: source.name, record: logValue(record) },
        attributes,
      });
    }
  };
}
