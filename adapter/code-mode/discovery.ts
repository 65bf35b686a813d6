import { bounded } from './bounded.ts';
import { type CodeArguments, readCodeArguments } from './code-arguments.ts';
import type { CodeTool, Detail } from './text/definitions.ts';
import type { ListedTool } from './text/listed-tool.ts';
import { cut, oneLine, shownName } from './text/plain-text.ts';
import { SearchBudget } from './search/search-budget.ts';
import { tagGroups } from './search/tag-groups.ts';
import type { ToolIndex } from './search/tool-index.ts';
import { briefLine, detailedText } from './text/tool-text.ts';

export interface DiscoveryAnswer {
  readonly text: string;
  readonly isError: boolean;
}

const MAX_QUOTED = 200;
/** Looks at schemas for one answer: about 50 ms. Hundreds of usual tools take fewer. */
const MAX_STEPS = 50_000;
/** Names and tags that are named in a sentence. */
const MAX_NAMED = 20;

type Discovery = Exclude<CodeTool, 'execute'>;
type Answering = Generator<void, DiscoveryAnswer>;

const ANSWERS: { readonly [T in Discovery]: (args: CodeArguments<T>, index: ToolIndex) => Answering } = {
  search,
  get_schema: getSchema,
  tags,
  list_tools: listTools,
};

/**
 * Answers the tools of code mode that only look at definitions. Whatever the arguments are, there is an answer; whoever
 * runs this to its end lets others go on where it yields.
 */
export function* answerDiscovery(tool: Discovery, args: unknown, index: ToolIndex): Answering {
  const read = readCodeArguments(tool, args);
  if (!read.ok) return wrong(read.problem);
  const answer = ANSWERS[tool] as (args: unknown, index: ToolIndex) => Answering;
  return yield* answer(read.args, index);
}

function* search({ query, tags, detail, limit }: CodeArguments<'search'>, index: ToolIndex): Answering {
  const wanted = (tags ?? []).map((tag) => index.tagged(tag));
  const unknown = (tags ?? []).filter((_tag, i) => wanted[i]?.size === 0);
  const accepts = (tool: ListedTool): boolean => wanted.length === 0 || wanted.some((tools) => tools.has(tool));
  const ranked = yield* index.search(query, accepts);
  const found = ranked ?? (wanted.length === 0 ? undefined : index.tools.filter(accepts));
  if (found === undefined) return wrong('query: no words to look for. Say in a few words what you want to do.');
  const notes = unknown.length === 0 ? [] : [`${noTag(unknown)}${tagsHint(index)}`];
  if (found.length === 0) {
    notes.unshift(`No tool matches "${oneLine(query, MAX_QUOTED)}". Try other or fewer words, or list all tools.`);
    return right(notes.join('\n'));
  }
  return right(yield* toolsText(found.slice(0, limit), detail, { index, isPart: true, notes }));
}

function* getSchema({ tools, detail }: CodeArguments<'get_schema'>, index: ToolIndex): Answering {
  const names = [...new Set(tools)];
  const found = names.flatMap((name) => index.named(name));
  const missing = names.filter((name) => index.named(name).length === 0);
  const notes = missing.length === 0 ? [] : [yield* missingText(missing, index)];
  if (found.length === 0) return wrong(notes.join('\n'));
  return right(yield* toolsText(found, detail, { index, isPart: false, notes }));
}

function* listTools({ detail }: CodeArguments<'list_tools'>, index: ToolIndex): Answering {
  if (index.tools.length === 0 && detail !== 'full') return right('This server has no tools.');
  return right(yield* toolsText(index.tools, detail, { index, isPart: true, notes: [] }));
}

function* tags({ detail }: CodeArguments<'tags'>, index: ToolIndex): Answering {
  if (index.tools.length === 0) return right('This server has no tools.');
  const groups = tagGroups(index.tools);
  const lines = groups.flatMap(([tag, tools]): (string | ListedTool)[] => {
    const count = `${shownTag(tag)} (${tools.length})`;
    return detail === 'brief' ? [`- ${count}`] : [`\n### ${count}`, ...tools];
  });
  const { text, shown } = yield* bounded(lines, (line) => (typeof line === 'string' ? line : briefLine(line)), '\n');
  return right(together([index.warning ?? '', text.trimStart(), ...leftOut(lines.length - shown, 'lines')]));
}

/** Definitions in the detail that was asked for; full ones hold their warnings. A header tells how many of all they are. */
function* toolsText(
  tools: readonly ListedTool[],
  detail: Detail,
  { index, isPart, notes }: { readonly index: ToolIndex; readonly isPart: boolean; readonly notes: readonly string[] },
): Generator<void, string> {
  const separator = detail === 'full' ? ',' : detail === 'detailed' ? '\n\n' : '\n';
  const { text, shown } = yield* bounded(tools, writer(detail), separator);
  const tail = [...leftOut(tools.length - shown, 'tools'), ...notes];
  if (detail === 'full') return [`[${text}]`, ...tail].join('\n\n');
  const total = index.tools.length;
  const header = isPart && shown < total ? `${shown} of ${total} tools:` : '';
  return together([index.warning ?? '', header, text, ...tail]);
}

function together(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Writes one tool after the other, until schemas that lead in circles have cost too much. */
function writer(detail: Detail): (tool: ListedTool) => string | undefined {
  if (detail === 'full') return ({ text }) => text;
  if (detail === 'brief') return briefLine;
  let left = MAX_STEPS;
  return (tool) => {
    if (left <= 0) return undefined;
    const { text, steps } = detailedText(tool);
    left -= steps;
    return text;
  };
}

function leftOut(count: number, what: 'tools' | 'lines'): readonly string[] {
  return count === 0
    ? []
    : [`${count} more ${what} left out: the answer would be too long. Ask for fewer, or for less detail.`];
}

/** Names that are like the ones that do not exist are looked for until that has cost too much. */
function* missingText(names: readonly string[], index: ToolIndex): Generator<void, string> {
  const budget = new SearchBudget();
  const lines: string[] = [];
  for (const name of names.slice(0, MAX_NAMED)) {
    const near = budget.isSpent ? [] : (yield* index.nearest(name, budget)).map(shownName);
    lines.push(`- ${cut(shownName(name), MAX_QUOTED)}${near.length === 0 ? '' : ` (similar: ${near.join(', ')})`}`);
  }
  if (names.length > MAX_NAMED) lines.push(`- and ${names.length - MAX_NAMED} more`);
  return `Not found:\n${lines.join('\n')}`;
}

function noTag(unknown: readonly string[]): string {
  return `No tool has the tag ${unknown.slice(0, MAX_NAMED).map(shownTag).join(', ')}. `;
}

function tagsHint(index: ToolIndex): string {
  const groups = tagGroups(index.tools).map(([tag]) => shownTag(tag));
  return `Tags: ${groups.slice(0, MAX_NAMED).join(', ')}${groups.length > MAX_NAMED ? ', …' : ''}.`;
}

function shownTag(tag: string): string {
  return oneLine(tag, MAX_QUOTED);
}

function right(text: string): DiscoveryAnswer {
  return { text, isError: false };
}

function wrong(text: string): DiscoveryAnswer {
  return { text, isError: true };
}
