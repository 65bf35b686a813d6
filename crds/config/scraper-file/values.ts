import { z } from 'zod';
import { isCron } from '../values/cron.ts';
import { number, onText, text } from '../values/values.ts';

/** Kinds of values that only the scraper's file holds. */

/** Any byte but control characters; line breaks are the usual mistake, because secret files often end with one. */
const HEADER_VALUE = /^[\t -~\u0080-\u00FF]*$/;
/** OpenTelemetry's syntax of instrument names and units; collectors and SDKs refuse others. */
const METRIC_NAME = /^[A-Za-z][A-Za-z0-9_.\-/]{0,254}$/;
const UNIT = /^[\x20-\x7E]{0,63}$/;

const oneOrZero = (value: number | string | boolean): unknown => (typeof value === 'boolean' ? Number(value) : value);

/** Any finite number; true and false are 1 and 0. */
export function float() {
  return z.preprocess(oneOrZero, number());
}

/** The name of a metric, taken as it is. */
export function metricName() {
  const error = 'the name of a metric: a letter, then letters, digits and _ . - / (at most 255 characters)';
  return z.string({ error }).regex(METRIC_NAME, { error });
}

/** The unit of a metric, such as `1`, `ms` or `{request}`. */
export function unit() {
  const error = 'a unit such as 1, ms or By: at most 63 printable ASCII characters';
  return z.string({ error }).regex(UNIT, { error }).describe('Unit of the metric.').prefault('1');
}

/** The value of an HTTP header. Not a pattern, because that of a JSON Schema could not be one of Kubernetes. */
export function headerValue() {
  const error = 'a string without line breaks, control characters and characters above U+00FF';
  return z.string({ error }).refine((value) => HEADER_VALUE.test(value), { error });
}

/** A mapping from names to values of any kind. */
export function anyMap(allowed: string) {
  return z.record(z.string(), z.unknown(), { error: allowed });
}

/** A value of any kind, which must be there, but may be null. */
export function anyValue() {
  const error = 'a value of any kind';
  return (
    z
      .unknown()
      .refine((value) => value !== undefined, { error })
      // Null is allowed anyway; Kubernetes wants it said.
      .nullable()
  );
}

/** A text or a list of texts. The JSON Schema of what is written says nothing, because no single type fits. */
export function textOrTexts() {
  const error = 'a string or a list of strings';
  return z.unknown().pipe(z.union([z.string(), z.array(z.string())], { error }));
}

/** A cron expression of five fields. */
export function cron() {
  const error = 'a cron expression of five fields: minute, hour, day of month, month, day of week';
  return z.preprocess(
    onText((expression) => expression.trim()),
    text(error).refine(isCron, { error }),
  );
}
