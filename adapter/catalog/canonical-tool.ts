import { hash } from 'node:crypto';
import { folded, members } from '../exchange/json-scan.ts';
import { canonicalJson } from './canonical-json.ts';
import type { Meaning } from './canonical-json.ts';

/** What of a tool's definition is pinned, and what each of these fields is. */
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

export type ToolField = keyof typeof MEANINGS;

export const TOOL_FIELDS = Object.keys(MEANINGS) as readonly ToolField[];

/** Go's parser, for one, takes `Description` for `description`. */
const FIELD_OF: ReadonlyMap<string, ToolField> = new Map(TOOL_FIELDS.map((field) => [folded(field), field]));

export interface CanonicalTool {
  /** The last one, as JSON.parse has it; '' without a name. */
  readonly name: string;
  /** SHA-256 in base64url of all that is pinned: equal for definitions that say the same, and only for these. */
  readonly hash: string;
  /** The same for each field that is there, but for a name that stands there once and plainly. */
  readonly fields: ReadonlyMap<ToolField, string>;
}

/** What is pinned of a definition (JSON text); see `canonicalJson` for what makes no difference. */
export function canonicalTool(definition: string): CanonicalTool {
  const texts = new Map<ToolField, string[]>();
  let name = '';
  for (const { key, start, end } of members(definition)) {
    const field = FIELD_OF.get(folded(key));
    if (field === undefined) continue;
    const value = canonicalJson(definition, start, MEANINGS[field]);
    const text = key === field ? value : `${JSON.stringify(key)}:${value}`;
    const parts = texts.get(field);
    if (parts === undefined) texts.set(field, [text]);
    else parts.push(text);
    if (key === 'name') name = definition[start] === '"' ? (JSON.parse(definition.slice(start, end)) as string) : '';
  }
  // A `_meta` that says nothing.
  if (texts.get('_meta')?.join(',') === '{}') texts.delete('_meta');
  const joined = new Map(Array.from(texts, ([field, parts]) => [field, parts.join(',')]));
  const all = TOOL_FIELDS.map((field) => joined.get(field) ?? '').join('\n');
  // No object at all is no tool, but it is in the list.
  const whole = texts.size === 0 ? canonicalJson(definition, 0, 'data') : all;
  if (joined.get('name') === JSON.stringify(name)) joined.delete('name');
  const fields = new Map(Array.from(joined, ([field, text]) => [field, hash('sha256', text, 'base64url')]));
  return { name, hash: hash('sha256', whole, 'base64url'), fields };
}
