import type { CodeEnd, SandboxFailure } from './sandbox-messages.ts';

/** The name of the code in the engine's stack traces. */
export const FILE = 'code.js';
/** Lines before the first of the code. */
const LINES_BEFORE = 1;
const MAX_CALLERS = 5;

const OUT_OF_MEMORY = 'the code used more memory than it may';
const OUT_OF_STACK = 'the code called itself too deeply';

/** What the code threw: `[text, stack, type]` as JSON, the first two written by code that may lie. */
export function failureOf(
  described: string,
  known: { readonly reason: 'syntax' | 'error'; readonly what: string; readonly full: boolean; readonly lines: number },
): CodeEnd {
  const [text, stack, type] = JSON.parse(described) as [string, string, string];
  const place = placeIn(stack, known.lines);
  const noMemory = type === 'unknown' || (type === 'null' && known.full);
  const reason = noMemory ? 'memory' : (engineLimit(text) ?? known.reason);
  const said = reason === 'memory' ? OUT_OF_MEMORY : reason === 'stack' ? OUT_OF_STACK : `${known.what}${text}`;
  return { kind: 'failed', reason, message: `${said}${place}` };
}

/** The engine itself failed. Whatever state it is in, it is not used again. */
export function engineFailure(error: unknown, full: boolean): CodeEnd {
  // The stack of the thread, not the engine's.
  if (error instanceof RangeError) return { kind: 'failed', reason: 'stack', message: OUT_OF_STACK };
  if (full) return { kind: 'failed', reason: 'memory', message: OUT_OF_MEMORY };
  return {
    kind: 'failed',
    reason: 'error',
    message: 'the code broke its sandbox, or failed in a way that cannot be told',
  };
}

function engineLimit(text: string): SandboxFailure | undefined {
  if (/^(InternalError|SyntaxError): stack overflow/.test(text)) return 'stack';
  if (/^(InternalError|SyntaxError): out of memory/.test(text)) return 'memory';
  return undefined;
}

/** Where in the code, if the stack says so, and from where that was called. What was never closed fails after the end. */
function placeIn(stack: string, lines: number): string {
  const frames = [...stack.matchAll(/\bcode\.js:(\d+)(?::(\d+))?/g)].map(([, line, column]) => ({
    line: Math.min(Math.max(Number(line) - LINES_BEFORE, 1), lines),
    column: Number(line) - LINES_BEFORE <= lines ? column : undefined,
  }));
  const [first, ...callers] = frames.filter(({ line }, index) => line !== frames[index - 1]?.line);
  if (first === undefined) return '';
  const column = first.column === undefined ? '' : `, column ${first.column}`;
  const from =
    callers.length === 0
      ? ''
      : `; called from line ${callers
          .slice(0, MAX_CALLERS)
          .map(({ line }) => line)
          .join(', ')}`;
  return ` (line ${first.line}${column}${from})`;
}
