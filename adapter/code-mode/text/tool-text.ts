import type { ListedTool } from './listed-tool.ts';
import { cut, oneLine, quotation, shownName } from './plain-text.ts';
import { propertyLines } from './schema-text.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { own, SchemaView } from './schema-view.ts';
import { typeText } from './type-text.ts';
import { squashed } from './words.ts';

const MAX_BRIEF = 160;
const MAX_TITLE = 200;
const MAX_DESCRIPTION = 10_000;
/** UTF-16 units of one tool in detail. */
const MAX_DETAILED = 60_000;
/** Looks at each of its schemas; some hundred parameters take fewer. */
const MAX_STEPS = 5_000;
const HINTS = [
  ['readOnlyHint', 'read-only'],
  ['destructiveHint', 'destructive'],
  ['idempotentHint', 'idempotent'],
] as const;

/** `- name: what it does`. */
export function briefLine(tool: ListedTool): string {
  const { description, title = '' } = tool.details();
  const what = oneLine(opening(description), MAX_BRIEF) || oneLine(title, MAX_BRIEF);
  const about = [tool.warning ?? '', what].filter((part) => part !== '').join(' ');
  return `- ${shownName(tool.name)}${about === '' ? '' : `: ${about}`}`;
}

export interface DetailedText {
  readonly text: string;
  /** What it cost to write it. */
  readonly steps: number;
}

/** A section in Markdown: what the tool does, takes and returns. */
export function detailedText(tool: ListedTool): DetailedText {
  const { name, warning } = tool;
  const { title, description, definition } = tool.details();
  const head = [`### ${shownName(name)}`];
  if (warning !== undefined) head.push(warning);
  const known = [name, description].map(squashed);
  if (title !== undefined && !known.includes(squashed(title))) head.push(`Title: ${oneLine(title, MAX_TITLE)}`);
  if (description !== '') head.push(quotation(description, MAX_DESCRIPTION));
  const hints = hintsOf(own(definition, 'annotations'));
  if (hints !== '') head.push(`Hints: ${hints}`);
  const takes = new SchemaView(own(definition, 'inputSchema'), MAX_STEPS);
  const returns = new SchemaView(own(definition, 'outputSchema'), MAX_STEPS);
  const text = [head.join('\n'), parametersText(takes), returnsText(returns)].join('\n\n');
  return { text: bounded(text), steps: takes.usedSteps + returns.usedSteps };
}

function bounded(text: string): string {
  if (text.length <= MAX_DETAILED) return text;
  const kept = cut(text, MAX_DETAILED);
  return `${kept.slice(0, kept.lastIndexOf('\n'))}\n- … (cut: the definition is too long)`;
}

function parametersText(schema: SchemaView): string {
  const lines = propertyLines(schema);
  if (lines.length > 0) return `Parameters:\n${lines.join('\n')}`;
  const others = own(schema.root, 'additionalProperties') ?? false;
  return `Parameters: ${others === false ? 'none' : 'any'}`;
}

function returnsText(schema: SchemaView): string {
  if (!isObject(schema.root)) return 'Returns: text or other content';
  const lines = propertyLines(schema);
  const what = 'Returns (structuredContent)';
  return lines.length === 0 ? `${what}: ${typeText(schema.root, schema)}` : `${what}:\n${lines.join('\n')}`;
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
