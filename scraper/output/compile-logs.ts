import type { AnyValue } from '@opentelemetry/api';
import { compileRecordTime } from '../records/timestamp.ts';
import { compilePath, type ValuePath } from '../records/value-path.ts';
import type { AddReadings, Measured } from './add-readings.ts';
import { logAttribute, logValue } from './attribute-value.ts';
import { compileSeverity } from './severity.ts';

/** One log record per record, with the record in its body, and its own time where it has one. */
export function compileLogs(
  source: Pick<Measured, 'name' | 'logStatusField' | 'timestampKey' | 'timestampFormat'>,
  names: readonly string[],
  paths: readonly ValuePath[],
  onCut: (name: string) => () => void,
): AddReadings {
  const tells = names.slice(1).map(onCut);
  const severityOf = compileSeverity(source.logStatusField);
  const timeKey = source.timestampKey === null ? undefined : compilePath(source.timestampKey);
  const parseTime = compileRecordTime(source.timestampFormat);
  // Without a prototype a name such as __proto__ is a name; other objects are made and read more quickly.
  const empty = names.includes('__proto__')
    ? (): Record<string, AnyValue> => Object.create(null) as Record<string, AnyValue>
    : (): Record<string, AnyValue> => ({});
  return (records, root, { logs }, { observed }) => {
    for (const record of records) {
      const time = timeKey === undefined ? undefined : parseTime(timeKey(record, root));
      const attributes = empty();
      attributes['source'] = source.name;
      for (let place = 0; place < paths.length; place += 1) {
        const value = (paths[place] as ValuePath)(record, root);
        if (value !== null) {
          attributes[names[place + 1] as string] = logAttribute(value, tells[place] as () => void);
        }
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
