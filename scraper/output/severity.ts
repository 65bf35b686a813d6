import { SeverityNumber } from '@opentelemetry/api';
import type { LogStatusField } from '../../crds/config/scraper-file/readings.ts';
import { compilePath } from '../records/value-path.ts';
import type { Severity } from './contribution.ts';

export const INFO: Severity = { number: SeverityNumber.INFO, text: 'INFO' };
/** The original names a member that its library does not have, and loses the batch; this is what it means. */
const WARNING: Severity = { number: SeverityNumber.WARN, text: 'WARNING' };
export const ERROR: Severity = { number: SeverityNumber.ERROR, text: 'ERROR' };

type Rule = NonNullable<LogStatusField['error']>;

/** The severity of a record: the first rule that fits, from error to info; otherwise info. */
export function compileSeverity(field: LogStatusField | null): (record: unknown, root: unknown) => Severity {
  if (field === null) return () => INFO;
  const valueOf = compilePath(field.name);
  const isError = compileRule(field.error);
  const isWarning = compileRule(field.warning);
  return (record, root) => {
    const value = valueOf(record, root);
    if (isError(value)) return ERROR;
    return isWarning(value) ? WARNING : INFO;
  };
}

function compileRule(rule: Rule | null): (value: unknown) => boolean {
  if (rule === null) return () => false;
  const { value: wanted, matchType } = rule;
  if (typeof wanted === 'object') {
    const texts = new Set<unknown>(wanted);
    return (value) => texts.has(value);
  }
  if (matchType === 'equals') return (value) => value === wanted;
  return (value) => (typeof value === 'string' || Array.isArray(value)) && value.includes(wanted);
}
