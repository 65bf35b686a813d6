import { hash } from 'node:crypto';
import type { DeltaDetection } from '../../crds/config/scraper-file/filters.ts';
import { compareCodePoints } from './code-points.ts';
import { PythonJsonWriter, jsonString } from './python-json.ts';
import { compilePath } from './value-path.ts';

/** What makes a record the same: 64 lower-case hexadecimal digits. */
export type Fingerprint = (record: unknown, root?: unknown) => string;

/**
 * The fingerprint of records of a source: SHA-256 of `<source>:<json>`, where the JSON is Python's, of the whole record or
 * of the values at `fingerprintKeys`. Stores of the original remain valid, if the body was parsed exactly. Keys
 * count only in the mode `keys`, and none there means the whole record. New: keys may start with `$root.`.
 */
export function compileFingerprint(
  source: string,
  { fingerprintMode, fingerprintKeys }: Pick<DeltaDetection, 'fingerprintMode' | 'fingerprintKeys'>,
): Fingerprint {
  const json = new PythonJsonWriter();
  const keys = fingerprintMode === 'keys' ? [...new Set(fingerprintKeys)].sort(compareCodePoints) : [];
  if (keys.length === 0) return (record) => sha256(`${source}:${json.write(record)}`);
  const fields = keys.map((key, index) => ({
    before: `${index === 0 ? `${source}:{` : ', '}${jsonString(key)}: `,
    valueAt: compilePath(key),
  }));
  return (record, root) => {
    let text = '';
    for (const { before, valueAt } of fields) text += before + json.write(valueAt(record, root));
    return sha256(`${text}}`);
  };
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');
