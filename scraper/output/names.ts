const METRIC_NAME = /^[a-z][a-z0-9_./-]{0,254}$/i;
const UNIT = /^[\x20-\x7e]{0,63}$/;

/** Why OpenTelemetry would refuse a metric; undefined: it would not. */
export function refusal(name: string, unit: string): string | undefined {
  if (!METRIC_NAME.test(name)) {
    return `${JSON.stringify(name)} is no name for a metric: a letter, then letters, digits and _ . - / (at most 255)`;
  }
  return UNIT.test(unit) ? undefined : `the unit of ${name} is not made of at most 63 ASCII characters`;
}
