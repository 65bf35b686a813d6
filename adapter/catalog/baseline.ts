import { hash } from 'node:crypto';
import { compare, type Form } from './canonical-json.ts';
import { canonicalTool, TOOL_FIELDS } from './canonical-tool.ts';
import type { ToolField } from './canonical-tool.ts';

/** The tool definitions that a session is pinned to, or that it would see now. */
export interface Baseline {
  /** With a SHA-256 in base64url: equal for lists whose definitions say the same, in whatever order, and only for these. */
  readonly fingerprint: string;
  /** What tells the changes from another list, as compact JSON; '' where only the fingerprint is known. */
  readonly text: string;
}

/** One tool of a baseline. */
export interface PinnedTool {
  readonly name: string;
  readonly hash: string;
  /** A hash for each field, just long enough to tell a change from none. */
  readonly fields: ReadonlyMap<ToolField, string>;
}

/** 132 bits: a tool is not taken for another. */
const HASH_CHARS = 22;
/** 36 bits: what changed in a tool that is known to have changed. */
const FIELD_CHARS = 6;
/** How the text names the fields. */
const LETTERS = 'ntdiocaxmz';

/**
 * What fingerprints begin with, but for those of sessions that were pinned when less of a definition counted. These are
 * compared as they were then: an upgrade is no drift.
 */
const MARK = '2.';

/** What is pinned of one definition. */
export interface Pin {
  readonly name: string;
  /** SHA-256 in base64url. */
  readonly hash: string;
  /** As in the text of a baseline. */
  readonly fields: string;
}

/** @param definition JSON text as it stands when it is pinned */
export function pinOf(definition: string, form: Form = 'current'): Pin {
  const { name, hash, fields } = canonicalTool(definition, form);
  const letters = TOOL_FIELDS.map((field, i) => {
    const ofField = fields.get(field);
    return ofField === undefined ? '' : LETTERS.charAt(i) + ofField.slice(0, FIELD_CHARS);
  });
  return { name, hash, fields: letters.join('') };
}

/** Of which form the pins are that a baseline was made from. */
export const formOf = ({ fingerprint }: Pick<Baseline, 'fingerprint'>): Form =>
  fingerprint.startsWith(MARK) ? 'current' : 'earlier';

/** The order of the tools does not matter. */
export function baselineOf(tools: readonly Pin[], form: Form = 'current'): Baseline {
  const pinned = tools.toSorted((a, b) => compare(a.name, b.name) || compare(a.hash, b.hash));
  const hashes = pinned.map((tool) => tool.hash);
  const rows = pinned.map(({ name, hash, fields }) => [name, hash.slice(0, HASH_CHARS), fields]);
  const mark = form === 'current' ? MARK : '';
  return { fingerprint: mark + hash('sha256', hashes.join('\n'), 'base64url'), text: JSON.stringify(rows) };
}

/** The tools of a baseline, ordered by name; undefined where only its fingerprint is known. */
export function pinnedTools({ text }: Baseline): readonly PinnedTool[] | undefined {
  try {
    const rows: unknown = JSON.parse(text);
    return Array.isArray(rows) ? rows.map(tool) : undefined;
  } catch {
    return undefined;
  }
}

function tool(row: unknown): PinnedTool {
  const [name, hash, letters]: unknown[] = Array.isArray(row) ? row : [];
  if (typeof name !== 'string' || typeof hash !== 'string' || typeof letters !== 'string')
    throw new TypeError('no row');
  const fields = new Map<ToolField, string>();
  for (let at = 0; at < letters.length; at += 1 + FIELD_CHARS) {
    const field = TOOL_FIELDS[LETTERS.indexOf(letters.charAt(at))];
    if (field !== undefined) fields.set(field, letters.slice(at + 1, at + 1 + FIELD_CHARS));
  }
  return { name, hash, fields };
}
