import { hash } from 'node:crypto';
import { folded, members } from '../exchange/scanning/json-scan.ts';
import { canonicalJson, compare } from './canonical-json.ts';
import type { Form, Meaning } from './canonical-json.ts';

/** What the protocol knows of a tool's definition, and what each of these fields is. */
const MEANINGS = {
  name: 'data',
  title: 'text',
  description: 'text',
  inputSchema: 'schema',
  outputSchema: 'schema',
  icons: 'other',
  annotations: 'other',
  execution: 'other',
  _meta: 'meta',
} as const satisfies Record<string, Meaning>;

/** All of a definition is pinned: `others` are the members that the protocol does not know, which clients get as well. */
export type ToolField = keyof typeof MEANINGS | 'others';

const KNOWN_FIELDS = Object.keys(MEANINGS) as readonly (keyof typeof MEANINGS)[];
export const TOOL_FIELDS: readonly ToolField[] = [...KNOWN_FIELDS, 'others'];

/** Go's parser, for one, takes `Description` for `description`. */
const FIELD_OF: ReadonlyMap<string, keyof typeof MEANINGS> = new Map(
  KNOWN_FIELDS.map((field) => [folded(field), field]),
);

export interface CanonicalTool {
  /** The last one, as JSON.parse has it; '' without a name. */
  readonly name: string;
  /** SHA-256 in base64url of all that is pinned: equal for definitions that say the same, and only for these. */
  readonly hash: string;
  /** The same for each field that is there, but for a name that stands there once and plainly. */
  readonly fields: ReadonlyMap<ToolField, string>;
}

/** What is pinned of a definition (JSON text); see `canonicalJson` for what makes no difference. */
export function canonicalTool(definition: string, form: Form = 'current'): CanonicalTool {
  const texts = new Map<ToolField, string[]>();
  const others: { readonly key: string; readonly value: string }[] = [];
  let name = '';
  for (const { key, start, end } of members(definition)) {
    const field = FIELD_OF.get(folded(key));
    if (field === undefined) {
      if (form === 'current') others.push({ key, value: canonicalJson(definition, start, 'data') });
      continue;
    }
    const value = canonicalJson(definition, start, MEANINGS[field], form);
    const text = key === field ? value : `${JSON.stringify(key)}:${value}`;
    const parts = texts.get(field);
    if (parts === undefined) texts.set(field, [text]);
    else parts.push(text);
    if (key === 'name') name = definition[start] === '"' ? (JSON.parse(definition.slice(start, end)) as string) : '';
  }
  if (others.length > 0) {
    // Stable: members of one name stay in their order.
    others.sort((a, b) => compare(a.key, b.key));
    texts.set(
      'others',
      others.map(({ key, value }) => `${JSON.stringify(key)}:${value}`),
    );
  }
  // A `_meta` that says nothing.
  if (texts.get('_meta')?.join(',') === '{}') texts.delete('_meta');
  const joined = new Map(Array.from(texts, ([field, parts]) => [field, parts.join(',')]));
  const fieldsOfForm = form === 'earlier' ? KNOWN_FIELDS : TOOL_FIELDS;
  const all = fieldsOfForm.map((field) => joined.get(field) ?? '').join('\n');
  // No object at all is no tool, but it is in the list.
  const whole = texts.size === 0 ? canonicalJson(definition, 0, 'data', form) : all;
  if (joined.get('name') === JSON.stringify(name)) joined.delete('name');
  const fields = new Map(Array.from(joined, ([field, text]) => [field, hash('sha256', text, 'base64url')]));
  return { name, hash: hash('sha256', whole, 'base64url'), fields };
}
