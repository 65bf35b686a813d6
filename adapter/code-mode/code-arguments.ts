import { z } from 'zod';
import { type CodeTool, DETAILS, MAX_RESULTS } from './text/definitions.ts';
import { cut } from './text/plain-text.ts';

/** Models write null for what they leave out, and one name where a list of names is asked for. */
const absent = (value: unknown): unknown => (value === null ? undefined : value);
const listed = (value: unknown): unknown => (typeof value === 'string' ? [value] : absent(value));
const atMost = (value: unknown): unknown =>
  typeof value === 'number' && value > MAX_RESULTS ? MAX_RESULTS : absent(value);

/** Their number is looked at before the names are. */
const names = z.array(z.unknown()).min(1).max(MAX_RESULTS).pipe(z.array(z.string()));
const anyNames = z.array(z.unknown()).max(MAX_RESULTS).pipe(z.array(z.string()));
const detail = (byDefault: (typeof DETAILS)[number]) => z.preprocess(absent, z.enum(DETAILS).default(byDefault));

/** What the tools of code mode take. Their inputSchemas say the same in fewer bytes than zod would. */
const SCHEMAS = {
  search: z.strictObject({
    query: z.string(),
    tags: z.preprocess(listed, anyNames.optional()),
    detail: detail('brief'),
    limit: z.preprocess(atMost, z.int().min(1).default(MAX_RESULTS)),
  }),
  get_schema: z.strictObject({ tools: z.preprocess(listed, names), detail: detail('detailed') }),
  tags: z.strictObject({ detail: z.preprocess(absent, z.enum(['brief', 'full']).default('brief')) }),
  list_tools: z.strictObject({ detail: detail('brief') }),
  execute: z.strictObject({ code: z.string() }),
};

const ALLOWED = {
  search: `query (string), tags (list of up to ${MAX_RESULTS} strings), detail (brief, detailed or full), limit (1 to ${MAX_RESULTS})`,
  get_schema: `tools (list of up to ${MAX_RESULTS} names), detail (brief, detailed or full)`,
  tags: 'detail (brief or full)',
  list_tools: 'detail (brief, detailed or full)',
  execute: 'code (string)',
};

const MAX_PROBLEM = 1_000;
/** Roughly what JSON takes. What is wrong in more would take long to say; code has a limit of its own. */
const MAX_CHARS = 32 << 10;

export type CodeArguments<T extends CodeTool> = z.output<(typeof SCHEMAS)[T]>;
export type ReadArguments<T extends CodeTool> =
  | { readonly ok: true; readonly args: CodeArguments<T> }
  /** What is wrong, and what is allowed, for the model that wrote them. */
  | { readonly ok: false; readonly problem: string };

export function readCodeArguments<T extends CodeTool>(tool: T, args: unknown): ReadArguments<T> {
  if (!isShort(args, tool === 'execute' ? 'code' : '')) {
    return { ok: false, problem: `The arguments are longer than ${MAX_CHARS >> 10} KiB. Allowed: ${ALLOWED[tool]}.` };
  }
  const read = SCHEMAS[tool].safeParse(args ?? {});
  if (read.success) return { ok: true, args: read.data as CodeArguments<T> };
  const problems = read.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join('.')}: ${message}` : message,
  );
  return { ok: false, problem: `${cut(problems.join('; '), MAX_PROBLEM)}. Allowed: ${ALLOWED[tool]}.` };
}

/** Looks no further than the limit, however much there is. */
function isShort(args: unknown, unlimited: string): boolean {
  let left = MAX_CHARS;
  const open: unknown[] = [args];
  while (open.length > 0) {
    const value = open.pop();
    left -= typeof value === 'string' ? value.length + 3 : 2;
    if (Array.isArray(value)) {
      if (value.length > left) return false;
      open.push(...(value as unknown[]));
    } else if (typeof value === 'object' && value !== null) {
      for (const name in value) {
        if (value === args && name === unlimited) continue;
        left -= name.length + 3;
        if (left < 0) return false;
        open.push((value as Record<string, unknown>)[name]);
      }
    }
    if (left < 0) return false;
  }
  return true;
}
