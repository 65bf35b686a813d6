import { stringify } from 'yaml';

import { escapeLine } from '../../../lib/redaction/escape-line.ts';

/** `text` and `wide` are for people. */
export const FORMATS = ['text', 'wide', 'json', 'yaml'] as const;
export type Format = (typeof FORMATS)[number];

/** Characters that a terminal acts on. */
const UNSAFE = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;

/** What a command found, as it is asked for. @param text for people; `isWide`: with columns that are seldom wanted */
export function printed(format: Format, found: object, text: (isWide: boolean) => string): string {
  if (format === 'json') return json(found);
  if (format === 'yaml') {
    const yaml = stringify(found).trimEnd();
    // YAML has no escapes in most of its texts; JSON is YAML, and has them.
    return UNSAFE.test(yaml) ? json(found) : yaml;
  }
  return text(format === 'wide');
}

const json = (found: object): string => escapeLine(JSON.stringify(found, undefined, 2));
