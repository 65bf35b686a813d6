import type { ListedTool } from './listed-tool.ts';
import { cut, oneLine, quotation, shownName } from './plain-text.ts';
import { propertyLines } from './schema-text.ts';
import { isObject, own } from './schema-view.ts';
import { typeText } from './type-text.ts';
import { squashed } from './words.ts';

const MAX_BRIEF = 160;
const MAX_TITLE = 200;
const MAX_DESCRIPTION = 10_000;
/** UTF-16 units of one tool in detail. */
const MAX_DETAILED = 60_000;
const HINTS = [
  ['readOnlyHint', 'read-only'],
  ['destructiveHint', 'destructive'],
  ['idempotentHint', 'idempotent'],
] as const;

/** `- name: what it does`. */
export function briefLine(tool: ListedTool): string {
  const what = oneLine(opening(tool.description), MAX_BRIEF) || oneLine(tool.title ?? '', MAX_BRIEF);
  const about = [tool.warning ?? '', what].filter((part) => part !== '').join(' ');
  return `- ${shownName(tool.name)}${about === '' ? '' : `: ${about}`}`;
}

/** A section in Markdown: what the tool does, takes and returns. */
export function detailedText(tool: ListedTool): string {
  const { name, title, description, warning, definition } = tool;
  const head = [`### ${shownName(name)}`];
  if (warning !== undefined) head.push(warning);
  const known = [name, description].map(squashed);
  if (title !== undefined && !known.includes(squashed(title))) head.push(`Title: ${oneLine(title, MAX_TITLE)}`);
  if (description !== '') head.push(quotation(description, MAX_DESCRIPTION));
  const hints = hintsOf(own(definition, 'annotations'));
  if (hints !== '') head.push(`Hints: ${hints}`);
  const text = [head.join('\n'), parametersText(definition), returnsText(definition)].join('\n\n');
  if (text.length <= MAX_DETAILED) return text;
  const kept = cut(text, MAX_DETAILED);
  return `${kept.slice(0, kept.lastIndexOf('\n'))}\n- … (cut: the definition is too long)`;
}

function parametersText(definition: unknown): string {
  const schema = own(definition, 'inputSchema');
  const lines = propertyLines(schema);
  const others = own(schema, 'additionalProperties') ?? false;
  return lines.length === 0 ? `Parameters: ${others === false ? 'none' : 'any'}` : `Parameters:\n${lines.join('\n')}`;
}

function returnsText(definition: unknown): string {
  const schema = own(definition, 'outputSchema');
  if (!isObject(schema)) return 'Returns: text or other content';
  const lines = propertyLines(schema);
  const what = 'Returns (structuredContent)';
  return lines.length === 0 ? `${what}: ${typeText(schema, schema)}` : `${what}:\n${lines.join('\n')}`;
}

/** Destructive is what a tool is that says nothing, so only a stated one counts. */
function hintsOf(annotations: unknown): string {
  return HINTS.filter(([hint]) => own(annotations, hint) === true)
    .map(([, word]) => word)
    .join(', ');
}

/** The first line, and the next ones as long as they go on with its sentence. */
function opening(description: string): string {
  const [first = '', ...rest] = description
    .trimStart()
    .slice(0, MAX_BRIEF * 4)
    .trimEnd()
    .split(/\r?\n/);
  let text = first;
  for (const line of rest) {
    if (text.length >= MAX_BRIEF || /[.!?:。]\s*$/.test(text) || !/^\s*\p{Ll}/u.test(line)) break;
    text += ` ${line}`;
  }
  return text;
}
