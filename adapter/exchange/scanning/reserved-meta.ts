import { elements, folded, locate, members, splice } from './json-scan.ts';

const RESERVED: ReadonlySet<string> = new Set(['artifact', 'artifacts', 'artifact_error', 'artifact_errors']);
/** Whether a member of a result's `_meta` is one that only the adapter writes. */
export const isReserved = (name: string): boolean => RESERVED.has(name);

/** A response, or an array of messages, whose results' `_meta` have no reserved members. */
export function withoutReserved(text: string): string {
  if (!text.trimStart().startsWith('[')) return withoutReservedOf(text);
  const edits = [...elements(text)].map((span) => ({
    ...span,
    with: withoutReservedOf(text.slice(span.start, span.end)),
  }));
  return splice(text, edits);
}

function withoutReservedOf(message: string): string {
  const result = locate(message, ['result']);
  if (result === undefined) return message;
  const edits = [];
  for (const { key, start, end } of members(message, result.start)) {
    if (folded(key) !== '_meta') continue;
    const kept = [...members(message, start)].filter((member) => !isReserved(folded(member.key)));
    const texts = kept.map((member) => message.slice(member.keyStart, member.end));
    if (message.charAt(start) === '{') edits.push({ start, end, with: `{${texts.join(',')}}` });
  }
  return splice(message, edits);
}

/** Gives the name of a reserved member, its quotes included, to nobody, in bytes that are on their way. */
export function renameReserved(bytes: Buffer, start: number, end: number): void {
  // Every reserved name is as long, or longer; white space may follow a name.
  bytes.write('"upstream"'.padEnd(end - start), start, 'latin1');
}
