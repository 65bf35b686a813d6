import { isObject } from '../../lib/json/json-object.ts';
import { CallFailure } from './sandbox/call-failure.ts';
import { elements, locate } from '../exchange/scanning/json-scan.ts';

/** A response message, as far as it is looked at. */
export interface CallResponse {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly result?: CallResult | null;
  readonly error?: { readonly message?: unknown; readonly data?: unknown } | null;
}

interface CallResult {
  readonly content?: unknown;
  readonly isError?: unknown;
  readonly resultType?: unknown;
}

interface Block {
  readonly type?: unknown;
  readonly text?: unknown;
}

/**
 * What `call_tool` resolves to in the code (JSON text): `{ text, structuredContent, content, artifacts, _meta }`. Throws with a
 * message for the code where the call has failed. Takes the response message as text and parsed: what may be large is not
 * made anew.
 */
export function resultForCode(json: string, message: CallResponse | null): string {
  const result = message?.result;
  if (typeof result !== 'object' || result === null) throw failureOf(json, message);
  const { content, isError, resultType } = result;
  const blocks = Array.isArray(content) ? (content as (Block | null)[]) : [];
  if (isError === true) {
    const text = blocks.flatMap((block) => (block?.type === 'text' ? [textOf(block)] : [])).join('\n');
    throw new Error(text === '' ? 'The tool failed and does not say why.' : text);
  }
  if (resultType !== undefined && resultType !== 'complete') {
    throw new Error('The tool asks its user for more before it goes on; it has to be called directly.');
  }
  const start = locate(json, ['result'])?.start;
  const part = (...path: string[]): string | undefined => {
    const span = locate(json, path, start);
    return span && json.slice(span.start, span.end);
  };
  const listed = Array.isArray(content) ? (part('content') ?? '[]') : '[]';
  const members = {
    text: joinedText(listed, blocks),
    structuredContent: part('structuredContent'),
    content: listed,
    artifacts: `[${part('_meta', 'artifact') ?? ''}]`,
    _meta: part('_meta'),
  };
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return `{${present.map(([name, value]) => `"${name}":${value}`).join(',')}}`;
}

/** The error of the protocol with all that it says. */
function failureOf(json: string, message: CallResponse | null): CallFailure {
  const part = (name: string): string | undefined => {
    const span = isObject(message?.error) ? locate(json, ['error', name]) : undefined;
    return span && json.slice(span.start, span.end);
  };
  return new CallFailure(reasonOf(message), { code: part('code'), data: part('data') });
}

function reasonOf(message: CallResponse | null): string {
  const { message: reason, data } = message?.error ?? {};
  const said = typeof reason === 'string' && reason !== '' ? reason : 'The call failed.';
  return [said, ...urlsOf(data)].join('\n');
}

/** What the user would be asked to open, had the client made the call (MCP 2025-11-25, error -32042). */
function urlsOf(data: unknown): readonly string[] {
  const { elicitations } = (data ?? {}) as { elicitations?: unknown };
  if (!Array.isArray(elicitations)) return [];
  return elicitations.flatMap((one: { url?: unknown } | null) => (typeof one?.url === 'string' ? [one.url] : []));
}

/** JSON text of the text blocks' texts, a line each. */
function joinedText(listed: string, blocks: readonly (Block | null)[]): string {
  const texts: string[] = [];
  let index = 0;
  for (const { start } of elements(listed)) {
    const block = blocks[index++];
    if (block?.type !== 'text') continue;
    const span = typeof block.text === 'string' ? locate(listed, ['text'], start) : undefined;
    texts.push(span === undefined ? textOf(block) : listed.slice(span.start + 1, span.end - 1));
  }
  return `"${texts.join('\\n')}"`;
}

/** A block without a text says nothing. */
function textOf({ text }: Block): string {
  return typeof text === 'string' ? text : '';
}
