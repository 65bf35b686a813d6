import { elements, locate, members, type Span, splice } from '../exchange/scanning/json-scan.ts';

/**
 * Stands in the JSON text of a content block for what is streamed into it. No JSON text has this character: within
 * strings it is escaped.
 */
export const OPEN_PLACE = '\0';

/** What is added to a tool's result; all as JSON texts. */
export interface ResultAdditions {
  /** Content blocks before the tool's own. */
  readonly first?: readonly string[];
  /** Content blocks after the tool's own. */
  readonly last?: readonly string[];
  /** Members of `_meta`; others of the same name are replaced. */
  readonly meta?: Readonly<Record<string, string>>;
  readonly isError?: true;
}

type Edit = Span & { with: string };

/** The message with a result to which something was added. All other bytes stay, those of large numbers too. */
export function withAdditions(
  message: string,
  additions: ResultAdditions,
  result: Span | undefined = locate(message, ['result']),
): string {
  if (result === undefined) return message;
  const edits: Edit[] = [];
  const missing: [key: string, value: string][] = [];
  const { first = [], last = [], meta, isError } = additions;
  if (first.length + last.length > 0) {
    const content = locate(message, ['content'], result.start);
    if (content === undefined) missing.push(['content', `[${[...first, ...last].join(',')}]`]);
    else edits.push(...blocks(message, content, first, last));
  }
  if (meta !== undefined) {
    const own = locate(message, ['_meta'], result.start);
    if (own === undefined) missing.push(['_meta', objectText(Object.entries(meta))]);
    else edits.push(...merged(message, own, meta));
  }
  if (isError) {
    const own = locate(message, ['isError'], result.start);
    if (own === undefined) missing.push(['isError', 'true']);
    else edits.push({ ...own, with: 'true' });
  }
  edits.push(...inserted(message, result, missing));
  return splice(
    message,
    edits.sort((a, b) => a.start - b.start),
  );
}

function blocks(message: string, content: Span, first: readonly string[], last: readonly string[]): Edit[] {
  if (message.charAt(content.start) !== '[') return [{ ...content, with: `[${[...first, ...last].join(',')}]` }];
  const isEmpty = elements(message, content.start).next().done === true;
  const start = content.start + 1;
  const end = content.end - 1;
  if (isEmpty) return [{ start, end: start, with: [...first, ...last].join(',') }];
  return [
    { start, end: start, with: first.map((block) => `${block},`).join('') },
    { start: end, end, with: last.map((block) => `,${block}`).join('') },
  ];
}

function merged(message: string, own: Span, meta: Readonly<Record<string, string>>): Edit[] {
  if (message.charAt(own.start) !== '{') return [{ ...own, with: objectText(Object.entries(meta)) }];
  const edits: Edit[] = [];
  const missing: [string, string][] = [];
  for (const [key, value] of Object.entries(meta)) {
    const there = locate(message, [key], own.start);
    if (there === undefined) missing.push([key, value]);
    else edits.push({ ...there, with: value });
  }
  return [...inserted(message, own, missing), ...edits];
}

/** Members of an object that has none of these names, put before its own. */
function inserted(message: string, object: Span, added: readonly (readonly [string, string])[]): Edit[] {
  if (added.length === 0) return [];
  const isEmpty = members(message, object.start).next().done === true;
  const start = object.start + 1;
  return [{ start, end: start, with: objectText(added).slice(1, -1) + (isEmpty ? '' : ',') }];
}

const objectText = (entries: readonly (readonly [string, string])[]): string =>
  `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
