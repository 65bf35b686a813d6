import { elements, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { type DefinitionData, definitionTexts } from './definition-texts.ts';
import { removals } from './removals.ts';
import type { DefinitionKind } from './text-meanings.ts';
import { holdsUnseen, mayHoldUnseen } from './visible-text.ts';

export interface WithoutUnseen {
  readonly text: string;
  /** Paths of what was, or would have to be, taken out. */
  readonly places: readonly string[];
  /** Something that cannot be taken out holds what nobody sees. */
  readonly isUnfit: boolean;
}

/** Data that is a choice of several, each of which can be missing. */
const LISTS: ReadonlySet<string> = new Set(['enum', 'examples', 'icons']);

/**
 * A definition (JSON text) without data that holds what nobody sees, for a model reads schemas as they are written:
 * entries of `enum`, `examples` and `icons` go one by one, any other member as a whole. What calls depend on stays, and
 * makes the definition unfit: names of properties, `const`, `required`, references, and an `enum` of nothing else. Texts
 * are left alone.
 */
export function withoutUnseen(definition: string, kind: DefinitionKind): WithoutUnseen {
  const places: string[] = [];
  const gone: Span[] = [];
  let isUnfit = false;
  if (!mayHoldUnseen(definition)) return { text: definition, places, isUnfit };
  const isBad = ({ start, end }: Span): boolean => holdsUnseen(definition.slice(start, end));
  definitionTexts(definition, kind, (data) => {
    // No model reads what an upstream agrees on with its clients.
    if (kind === 'greeting' && data.what === 'fixed') return;
    if (!isBad(data)) return;
    places.push(data.path);
    const bad = data.what === 'data' ? badParts(definition, data, isBad) : undefined;
    if (bad === undefined) isUnfit = true;
    else gone.push(...bad);
  });
  return { text: gone.length === 0 ? definition : splice(definition, removals(definition, gone)), places, isUnfit };
}

/** What of a member must go; undefined where it must not. */
function badParts(text: string, data: DefinitionData, isBad: (part: Span) => boolean): readonly Span[] | undefined {
  const isList = LISTS.has(data.key) && text.charAt(data.valueStart) === '[';
  const all = isList ? [...elements(text, data.valueStart)] : [];
  const bad = all.filter(isBad);
  if (bad.length < all.length) return bad;
  return data.key === 'enum' ? undefined : [data];
}
