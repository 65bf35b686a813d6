import { compare } from '../catalog/canonical-json.ts';
import { members } from '../exchange/scanning/json-scan.ts';
import { canonical } from './canonical.ts';
import { LOCK_KINDS, type LockKind } from '../../crds/config/lock-file/lock-document.ts';

/** A definition as a lock reads it. */
export interface Definition {
  /** The last one, as JSON.parse has it; undefined where there is none. */
  readonly name: string | undefined;
  /** RFC 8785 of all of it; undefined where it has none. */
  readonly text: string | undefined;
  /** RFC 8785 of each field that is there and has one. */
  readonly fields: ReadonlyMap<string, string>;
  /** Why it cannot be locked, by field or by the member that names it; empty where it can. */
  readonly problems: ReadonlyMap<string, string>;
}

interface Part {
  readonly key: string;
  readonly text: string;
}

const TWICE = 'stands in the definition twice';

/**
 * @param definition the upstream's own, JSON text that JSON.parse accepts. Members count by their exact names:
 * `Description` is one of the others
 */
export function readDefinition(kind: LockKind, definition: string): Definition {
  const { id, fields: known } = LOCK_KINDS[kind];
  const fields = new Map<string, string>();
  const problems = new Map<string, string>();
  const all: Part[] = [];
  const others: Part[] = [];
  let name: string | undefined;
  for (const { key, start } of members(definition)) {
    const isOther = key === 'other' || (key !== id && !known.includes(key));
    const field = isOther ? 'other' : key;
    const value = canonical(definition, start);
    if ('why' in value) {
      problems.set(field, isOther ? `${JSON.stringify(key)}: ${value.why}` : value.why);
      continue;
    }
    const part = { key, text: `${JSON.stringify(key)}:${value.text}` };
    all.push(part);
    if (isOther) others.push(part);
    else if (key === id) name = definition.charAt(start) === '"' ? (JSON.parse(value.text) as string) : undefined;
    else fields.set(field, value.text);
    if (!key.isWellFormed()) problems.set(field, 'has half of a surrogate pair in a key');
  }
  if (name === undefined && !problems.has(id)) problems.set(id, 'is missing, or no string');
  all.sort((a, b) => compare(a.key, b.key));
  for (const [i, { key }] of all.entries()) {
    if (i === 0 || all[i - 1]?.key !== key) continue;
    const isKnown = key === id || fields.has(key);
    problems.set(isKnown ? key : 'other', isKnown ? TWICE : `${JSON.stringify(key)} ${TWICE}`);
  }
  if (others.length > 0) fields.set('other', written(others.sort((a, b) => compare(a.key, b.key))));
  for (const field of problems.keys()) fields.delete(field);
  return { name, text: problems.size === 0 ? written(all) : undefined, fields, problems };
}

const written = (parts: readonly Part[]): string => `{${parts.map(({ text }) => text).join(',')}}`;
