import { INVALID_REQUEST, PARSE_ERROR } from '../errors.ts';
import { isUtf8 } from 'node:buffer';

import { isObject } from '../../lib/json/json-object.ts';
import { ANSWER_LIMITS, JsonLimitError, parseJson, REQUEST_LIMITS } from '../../lib/json/json-limits.ts';
import { elements, locate, shapeProblem, type ShapeProblem } from './scanning/json-scan.ts';
import { MAX_BATCH, MAX_ID_CHARS } from '../limits.ts';
import { META } from './protocol-meta.ts';

/** JSON-RPC error codes (JSON-RPC 2.0, section 5.1; MCP 2026-07-28, error codes). */
export const METHOD_NOT_FOUND = -32601;

/** The revision that speaks without sessions; everything before it is opened by `initialize`. */
export const SESSIONLESS_REVISION = '2026-07-28';

interface Envelope {
  readonly params: Readonly<Record<string, unknown>>;
}

/** A message as far as routing needs it. `idText` is the JSON text of the id, as the sender wrote it. */
export type Message =
  | (Envelope & { readonly kind: 'request'; readonly method: string; readonly idText: string })
  | (Envelope & { readonly kind: 'notification'; readonly method: string })
  | (Envelope & { readonly kind: 'response'; readonly idText: string });

export type Request = Extract<Message, { kind: 'request' }>;

export interface Body {
  /** The bytes as they came in; what goes upstream when no step changed anything. */
  readonly bytes: Buffer;
  readonly text: string;
  readonly messages: readonly Message[];
  /** An array of messages (revision 2025-03-26 only). */
  readonly batch: boolean;
}

export interface InvalidBody {
  readonly code: number;
  readonly detail: string;
  /** JSON text of the id, `null` when it could not be read. */
  readonly idText: string;
}

const NO_PARAMS = Object.freeze({});

/** Parses the body of a POST once, for routing. Nothing of it is ever serialised again. */
export function parseBody(bytes: Buffer, limits = REQUEST_LIMITS): Body | InvalidBody {
  if (!isUtf8(bytes)) return invalid(PARSE_ERROR, 'The body is not valid UTF-8.');
  const text = bytes.toString('utf8');
  const batch = /^\s*\[/.test(text);
  let problem: ShapeProblem | undefined;
  let value: unknown;
  try {
    problem = shapeProblem(text, limits, batch ? 1 : 0);
    // Not parsed: millions of values or levels would take seconds, and hundreds of megabytes.
    if (problem !== undefined && !('key' in problem)) {
      const most =
        problem.kind === 'depth'
          ? `is nested deeper than ${limits.depth} levels`
          : `has more than ${limits.values} values`;
      return invalid(INVALID_REQUEST, `The message ${most}.`);
    }
    value = JSON.parse(text);
  } catch (error) {
    return invalid(PARSE_ERROR, `The body is not valid JSON: ${(error as Error).message.slice(0, 120)}.`);
  }
  if (problem !== undefined) {
    const key = problem.key.slice(0, 64);
    return invalid(
      INVALID_REQUEST,
      problem.kind === 'duplicate'
        ? `The member "${key}" occurs more than once.`
        : `The member "${key}" must be written exactly so.`,
    );
  }
  if (!batch) {
    const message = readMessage(value, text, 0);
    return 'code' in message ? message : { bytes, text, messages: [message], batch };
  }
  const values = value as unknown[];
  if (values.length === 0) return invalid(INVALID_REQUEST, 'The batch is empty.');
  if (values.length > MAX_BATCH) return invalid(INVALID_REQUEST, `A batch holds at most ${MAX_BATCH} messages.`);
  const messages: Message[] = [];
  let index = 0;
  for (const span of elements(text)) {
    const message = readMessage(values[index++], text, span.start);
    if ('code' in message) return message;
    messages.push(message);
  }
  return { bytes, text, messages, batch };
}

function readMessage(value: unknown, text: string, at: number): Message | InvalidBody {
  if (!isObject(value)) return invalid(INVALID_REQUEST, 'A message must be a JSON object.');
  const { jsonrpc, id, method, params } = value;
  let idText = 'null';
  if (id !== undefined) {
    if (typeof id !== 'string' && !(typeof id === 'number' && Number.isInteger(id))) {
      return invalid(INVALID_REQUEST, 'The member "id" must be a string or an integer.');
    }
    idText = textOfId(id, text, at);
  }
  if (jsonrpc !== '2.0') return invalid(INVALID_REQUEST, 'The member "jsonrpc" must be "2.0".', idText);
  if (method === undefined) {
    const hasResult = 'result' in value || 'error' in value;
    if (id === undefined || !hasResult) return invalid(INVALID_REQUEST, 'The message has no "method".', idText);
    return { kind: 'response', idText, params: NO_PARAMS };
  }
  if (typeof method !== 'string' || method === '') {
    return invalid(INVALID_REQUEST, 'The member "method" must be a non-empty string.', idText);
  }
  if (params !== undefined && !isObject(params)) {
    return invalid(INVALID_REQUEST, 'The member "params" must be an object.', idText);
  }
  const known = params ?? NO_PARAMS;
  if (id === undefined) {
    // Some upstreams would run it all the same, past everything that is done to calls.
    if (method === 'tools/call') return invalid(INVALID_REQUEST, 'tools/call needs an "id".');
    return { kind: 'notification', method, params: known };
  }
  if (isLongId(id, idText)) {
    return invalid(INVALID_REQUEST, `The member "id" has more than ${MAX_ID_CHARS} characters.`);
  }
  return { kind: 'request', method, params: known, idText };
}

/** Ids are kept, compared and sent to other replicas. */
const isLongId = (id: unknown, idText: string): boolean => (typeof id === 'string' ? id : idText).length > MAX_ID_CHARS;

/** The id as its sender wrote it: a number over 2^53 has lost digits by now. */
function textOfId(id: string | number, text: string, at: number): string {
  if (typeof id === 'string') return JSON.stringify(id);
  if (Number.isSafeInteger(id)) return String(id);
  const span = locate(text, ['id'], at);
  return span === undefined ? String(id) : text.slice(span.start, span.end);
}

function invalid(code: number, detail: string, idText = 'null'): InvalidBody {
  return { code, detail, idText };
}

/**
 * The id that a notifications/cancelled names, as the text that requests are known by (`idText`). Undefined for any other
 * message, and for an id that no request can have.
 */
export function cancelledRequest({ batch, messages: [message], text }: Body): string | undefined {
  if (batch || message?.kind !== 'notification' || message.method !== 'notifications/cancelled') return undefined;
  const { requestId } = message.params;
  // One string can be written with and without escapes.
  const span = typeof requestId === 'string' ? undefined : locate(text, ['params', 'requestId']);
  const idText = typeof requestId === 'string' ? JSON.stringify(requestId) : span && text.slice(span.start, span.end);
  return idText === undefined || isLongId(requestId, idText) ? undefined : idText;
}

/** The revision that a message of the revisions without sessions names in its `_meta`; undefined for all earlier ones. */
export function modernRevision(message: Message): string | undefined {
  const meta = message.params['_meta'];
  if (typeof meta !== 'object' || meta === null) return undefined;
  const revision = (meta as Record<string, unknown>)[META.protocolVersion];
  return typeof revision === 'string' ? revision : undefined;
}

/** Whether a message is a tool call. */
export const isCall = (message: Message): message is Request =>
  message.kind === 'request' && message.method === 'tools/call';

/** `params.name` of a tools/call, undefined when it is no string. */
export function toolName(message: Message): string | undefined {
  const name = message.params['name'];
  return typeof name === 'string' ? name : undefined;
}

/**
 * JSON text of the request's progress token; null when it asked for no progress, or by a token that is too long to be kept
 * and sent to other replicas.
 */
export function progressToken(message: Message): string | null {
  const meta = message.params['_meta'];
  if (typeof meta !== 'object' || meta === null) return null;
  const token = (meta as Record<string, unknown>)['progressToken'];
  const isToken = typeof token === 'number' || (typeof token === 'string' && token.length <= MAX_ID_CHARS);
  return isToken ? JSON.stringify(token) : null;
}

/**
 * Ids of the responses (results and errors) in JSON text, one or an array of them; empty for any other message.
 * Undefined when the text is no JSON.
 * @throws JsonLimitError
 */
export function responseIds(text: string): readonly (string | number)[] | undefined {
  let value: unknown;
  try {
    value = parseJson(text, ANSWER_LIMITS);
  } catch (error) {
    if (error instanceof JsonLimitError) throw error;
    return undefined;
  }
  return (Array.isArray(value) ? value : [value]).flatMap((one: unknown) => {
    if (typeof one !== 'object' || one === null || 'method' in one) return [];
    const { id } = one as { id?: unknown };
    return typeof id === 'string' || typeof id === 'number' ? [id] : [];
  });
}

/** Whether JSON text is the response to the request with this id. */
export const isResponseTo = (text: string, idText: string): boolean =>
  responseIds(text)?.some((id) => isId(id, idText)) ?? false;

/** Whether an id is the one that is written like this. */
export function isId(id: string | number, idText: string): boolean {
  return typeof id === 'string' ? JSON.stringify(id) === idText : id === Number(idText);
}
