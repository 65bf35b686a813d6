import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { Door } from '../../kit/session.ts';

/** Settings of a server that stands for all its tools by five. */
export const CODE_MODE = { code_mode_enabled: true };

/** The five, in the order in which they are listed. */
export const codeTools = (prefix: string): string[] =>
  ['search', 'get_schema', 'tags', 'list_tools', 'execute'].map((tool) => `${prefix}_${tool}`);

/** What a tool of code mode has answered. */
export interface Said {
  readonly isError: boolean;
  /** What was returned, found or wrong. */
  readonly text: string;
  /** What the code has printed. */
  readonly console: string;
}

const CONSOLE = 'Console:\n';

/** Reads an answer as the client gets it; throws with it when it is no result. */
export function saidBy(result: unknown): Said {
  const { content, isError } = asObject(result);
  if (!Array.isArray(content)) throw new Error(`no result of a tool: ${JSON.stringify(result).slice(0, 2_000)}`);
  const [text = '', printed = ''] = content.map((block) => String(asObject(block).text));
  return { isError: isError === true, text, console: printed.startsWith(CONSOLE) ? printed.slice(CONSOLE.length) : '' };
}

/** Runs code by `<prefix>_execute`. Rejects when the answer is an error of the protocol. */
export async function execute(door: Door, code: string, prefix = 'up'): Promise<Said> {
  const message = await door.tool(`${prefix}_execute`, { code });
  if (message.result === undefined) throw new Error(JSON.stringify(message));
  return saidBy(message.result);
}

/** The value that code has returned; throws with what it says when it has failed. */
export async function valueOf(door: Door, code: string, prefix = 'up'): Promise<unknown> {
  return parsed(await execute(door, code, prefix));
}

/** As JSON where it is any: a string is answered as it is. */
export function parsed({ isError, text, console: printed }: Said): unknown {
  if (isError) throw new Error(`the code has failed: ${text}\n${printed}`);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The names in the answer to tools/list. */
export function namesOf(result: unknown): string[] {
  const { tools } = asObject(result);
  return (Array.isArray(tools) ? tools : []).map((tool: unknown) => String(asObject(tool).name));
}

/** What `call_tool` threw in the code, for each of these calls. */
export const failuresOf = (...calls: readonly [name: string, args: JsonObject][]): string =>
  `const failures = [];
for (const [name, args] of ${JSON.stringify(calls)}) {
  try { await call_tool(name, args); failures.push(null); } catch (error) { failures.push(error.message); }
}
return failures;`;
