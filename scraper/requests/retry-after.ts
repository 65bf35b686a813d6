const IMF_DATE = /^[A-Z][a-z]{2,8},? \d{1,2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/;
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/**
 * The header `Retry-After` (RFC 9110, 10.2.3) in milliseconds from now: seconds, or a date in one of the three formats
 * of HTTP. A date in the past means at once; undefined when there is none or it is neither.
 */
export function retryAfter(header: string | string[] | undefined, now: Date): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  if (/^\d{1,10}(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const date = IMF_DATE.test(text) ? Date.parse(text) : ASCTIME.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}
