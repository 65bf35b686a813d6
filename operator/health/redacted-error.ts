import { getSystemErrorMap } from 'node:util';
import { redactUrl } from '../../lib/redaction/redact-url.ts';

const SYSTEM_ERRORS: ReadonlySet<string> = new Set([...getSystemErrorMap().values()].map(([name]) => name));
const CODE = /\b(?:HTTP \d{3}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)\b/g;

const isCode = (word: string): boolean =>
  SYSTEM_ERRORS.has(word) || word === 'ENOTFOUND' || /^(HTTP \d{3}|UND_ERR_[A-Z_]+|ERR_(TLS|SSL)_[A-Z_]+)$/.test(word);

/**
 * What may be told of an error about something whose place only the pods know, from a Secret or ConfigMap: codes, which
 * hold no value, and the place as it is written. Statuses and Events are read by more people than Secrets.
 */
export function redactedError(detail: string, written: string | undefined): string {
  const codes = [...new Set(detail.match(CODE))].filter(isCode);
  const what = codes.length === 0 ? 'an error that its pod logs' : codes.join(', ');
  return written === undefined ? what : `${what} at ${redactUrl(written)}`;
}
