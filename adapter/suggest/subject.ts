import type { FileRole } from './suggestion.ts';
import type { ListedTool } from './listed-tool.ts';
import { argumentNames, type ToolArgument } from './tool-arguments.ts';
import { wordsOf } from './words.ts';

/** Characters. Descriptions say what a thing is in their beginning; what follows is about other things. */
const LOOKED_AT = 200;

/** An argument of a tool, as the rules look at it. */
export interface Subject {
  /** The tool's name. */
  readonly tool: string;
  readonly argument: ToolArgument;
  /** Words of the argument's name. */
  readonly words: readonly string[];
  /** Beginning of what is said of the argument. */
  readonly says: string;
  /** Words of the tool's name, without the one that all tools of the server begin with. */
  readonly toolWords: readonly string[];
  /** Beginning of what is said of the tool. */
  readonly toolSays: string;
  readonly readOnly: boolean | undefined;
  /** Names of the tool's other arguments, whatever they are. */
  readonly others: readonly string[];
  /** Roles of the tool's other arguments, as far as they are known already. */
  readonly besides: readonly FileRole[];
}

/** The word that the names of all tools of a server begin with, as `browser_`: it says nothing of one of them. */
export function commonPrefix(tools: readonly ListedTool[]): string | undefined {
  const [first, ...others] = new Set(tools.map(({ name }) => wordsOf(name)[0]));
  return others.length === 0 && tools.length > 1 ? first : undefined;
}

export function subjectOf(
  tool: ListedTool,
  argument: ToolArgument,
  prefix: string | undefined,
  besides: readonly FileRole[],
): Subject {
  return {
    tool: tool.name.slice(0, LOOKED_AT),
    argument,
    words: wordsOf(argument.key),
    says: argument.description.trim().slice(0, LOOKED_AT),
    toolWords: wordsOf(tool.name).slice(prefix === undefined ? 0 : 1),
    toolSays: (tool.description ?? '').trim().slice(0, LOOKED_AT),
    readOnly: tool.annotations?.readOnlyHint,
    others: argumentNames(tool.inputSchema).filter((name) => name !== argument.path),
    besides,
  };
}
