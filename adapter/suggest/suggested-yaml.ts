import { Document, isMap, isScalar, isSeq, type Node, Scalar, visit } from 'yaml';

import { asEntries, type SuggestedEntry } from './as-entries.ts';
import type { SuggestedRoles } from './suggest-roles.ts';
import type { LeftOut, Suggestion } from './suggestion.ts';

/** Longer names are cut in comments; in the values they stand in full. */
const MAX_NAME = 100;

/**
 * `adapters:` of a server as YAML, with comments that say why. What tools are called comes from the server: it stands in
 * quotes where YAML would read it otherwise, and in comments without line breaks.
 *
 * @param head lines of the first comment
 */
export function suggestedYaml({ suggestions, leftOut }: SuggestedRoles, head: readonly string[]): string {
  const entries = asEntries(suggestions);
  const document = new Document({ adapters: entries.map(asPlain) });
  document.commentBefore = comment([...head, ...leftOutLines(leftOut)]);
  const list = document.get('adapters', true);
  if (isSeq(list)) for (const [i, item] of list.items.entries()) annotate(item as Node, entries[i]);
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && UNSEEN.test(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  // Comments have none of them, so all that is left stands in double quotes.
  return document.toString({ lineWidth: 0 }).replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;

/** As YAML writes it in double quotes. */
const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

function asPlain({ tools, arguments: all }: SuggestedEntry): unknown {
  const roles = Array.from(all, ([argument, [first]]) => {
    const { role, as } = first as Suggestion;
    return [argument, as === 'path' ? role : { role, as }] as const;
  });
  return { type: 'files', tools, arguments: Object.fromEntries(roles) };
}

/** A line of a tool names its rules, or what is unsure of it; a line of an argument says what the rules go by. */
function annotate(entry: Node, suggested: SuggestedEntry | undefined): void {
  if (!isMap(entry) || suggested === undefined) return;
  const all = [...suggested.arguments.values()].flat();
  const tools = entry.get('tools', true);
  if (isSeq(tools)) {
    for (const [i, item] of tools.items.entries()) {
      const ofTool = all.filter(({ tool }) => tool === suggested.tools[i]);
      if (isScalar(item)) item.comment = comment([ofTool.flatMap(aboutTool).join('; ')]);
    }
  }
  const roles = entry.get('arguments', true);
  if (!isMap(roles)) return;
  for (const { key, value } of roles.items) {
    const ofArgument = suggested.arguments.get(isScalar(key) ? String(key.value) : '') ?? [];
    const said = comment([aboutArgument(ofArgument)]);
    if (isScalar(value)) value.comment = said;
    else if (isMap(value)) {
      value.flow = true;
      value.comment = said;
    }
  }
}

function aboutTool({ argument, rule, unsure }: Suggestion, i: number, ofTool: readonly Suggestion[]): string[] {
  const isUnsure = ofTool.some((one) => one.unsure !== undefined);
  if (isUnsure && unsure === undefined) return [];
  return [isUnsure ? `unsure: ${argument}: ${unsure} (${rule})` : ofTool.length === 1 ? rule : `${argument}: ${rule}`];
}

function aboutArgument(suggestions: readonly Suggestion[]): string {
  const reasons = [...new Set(suggestions.map(({ rule, because }) => `${rule}: ${because}`))].join('; ');
  return suggestions[0]?.role === 'edit' ? `edit: the tool changes the file; ${reasons}` : reasons;
}

function leftOutLines(leftOut: readonly LeftOut[]): string[] {
  const lines = leftOut.map(({ tool, argument, rule, because }) => `- ${tool}, ${argument}: ${because} (${rule})`);
  return lines.length === 0 ? [] : ['Left out:', ...lines];
}

const comment = (lines: readonly string[]): string => lines.map((line) => ` ${oneLine(line)}`).join('\n');

/** Without what ends a comment, or a line of a terminal. */
const oneLine = (text: string): string =>
  text.replaceAll(/\p{C}+|\p{Zl}+|\p{Zp}+/gu, ' ').replaceAll(/\S{101,}/g, (word) => `${word.slice(0, MAX_NAME)}…`);
