import { AdapterError } from '../../errors.ts';
import { locate, members } from '../../exchange/scanning/json-scan.ts';
import { MAX_QUESTIONS, MAX_QUESTIONS_CHARS, MAX_REQUEST_STATE_CHARS } from '../../limits.ts';
import type { Asks } from '../wire/newer-request.ts';

/** A question that stands in an `input_required` result (MCP 2026-07-28, multi round-trip requests). */
export interface Question {
  readonly key: string;
  readonly method: QuestionMethod;
  /** JSON text of an object, as the server wrote it. */
  readonly params: string;
}

export type QuestionMethod = 'elicitation/create' | 'sampling/createMessage' | 'roots/list';

const METHODS: ReadonlySet<string> = new Set<QuestionMethod>([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
]);
/** Whose results may be questions. */
const MAY_ASK = new Set(['tools/call', 'prompts/get', 'resources/read']);
/** Names of capabilities are shown to models. */
const CAPABILITY = /^[\w.:/-]{1,80}$/;
const MAX_CAPABILITIES = 8;

/** What the server wants to know, and what it wants to be told again with the answers. */
export interface Asked {
  readonly questions: readonly Question[];
  /** JSON text as the server wrote it. */
  readonly requestState: string | undefined;
}

/**
 * What an answer to a request of this method asks (JSON text of a message); undefined where it asks nothing.
 * @throws AdapterError for questions that cannot be asked
 */
export function questionsIn(message: string, method: string): Asked | undefined {
  const type = locate(message, ['result', 'resultType']);
  const kind = type === undefined ? COMPLETE : message.slice(type.start, type.end);
  if (kind === COMPLETE) return undefined;
  if (kind !== INPUT_REQUIRED) throw malformed('a result of an unknown type');
  if (!MAY_ASK.has(method)) throw malformed(`questions, which ${method} has none of`);
  return { questions: asked(message), requestState: stateIn(message) };
}

const COMPLETE = '"complete"';
const INPUT_REQUIRED = '"input_required"';

function asked(message: string): Question[] {
  const requests = locate(message, ['result', 'inputRequests']);
  if (requests === undefined) return [];
  if (message.charAt(requests.start) !== '{') throw malformed('inputRequests that are no object');
  if (requests.end - requests.start > MAX_QUESTIONS_CHARS) throw malformed('questions that are too long');
  const found = new Map<string, Question>();
  for (const { key, start, end } of members(message, requests.start)) {
    if (found.size === MAX_QUESTIONS) throw malformed(`more than ${MAX_QUESTIONS} questions`);
    found.set(key, questionOf(key, message.slice(start, end)));
  }
  return [...found.values()];
}

function questionOf(key: string, text: string): Question {
  const at = locate(text, ['method']);
  const method: unknown = at === undefined ? undefined : JSON.parse(text.slice(at.start, at.end));
  if (!isQuestion(method)) throw malformed('a request that is no question');
  const params = locate(text, ['params']);
  if (params === undefined) return { key, method, params: '{}' };
  if (text.charAt(params.start) !== '{') throw malformed('a question whose params are no object');
  return { key, method, params: text.slice(params.start, params.end) };
}

const isQuestion = (method: unknown): method is QuestionMethod => typeof method === 'string' && METHODS.has(method);

function stateIn(message: string): string | undefined {
  const state = locate(message, ['result', 'requestState']);
  if (state === undefined) return undefined;
  if (message.charAt(state.start) !== '"') throw malformed('a requestState that is no string');
  if (state.end - state.start > MAX_REQUEST_STATE_CHARS) throw malformed('a requestState that is too long');
  return message.slice(state.start, state.end);
}

const malformed = (what: string): AdapterError =>
  new AdapterError('upstream_failed', `The upstream server answered with ${what}.`);

/** What the client would have to offer to be asked this; undefined: it does. */
export function lacking(
  { method, params }: { readonly method: string; readonly params: string },
  asks: Asks,
): string | undefined {
  if (method === 'sampling/createMessage') return asks.sampling ? undefined : 'sampling';
  if (method === 'roots/list') return asks.roots ? undefined : 'roots';
  if (method !== 'elicitation/create') return method;
  if (isUrlMode(params)) return asks.elicitationUrl ? undefined : 'elicitation.url';
  return asks.elicitation ? undefined : 'elicitation';
}

/** Whether the user is asked to open a URL (JSON text of the parameters of `elicitation/create`). */
export function isUrlMode(params: string): boolean {
  const span = locate(params, ['mode']);
  return span !== undefined && JSON.parse(params.slice(span.start, span.end)) === 'url';
}

/** The names of the capabilities that the server misses (MCP 2026-07-28, -32021; JSON text of the response). */
export function missingIn(message: string): string {
  const span = locate(message, ['error', 'data', 'requiredCapabilities']);
  const names: string[] = [];
  if (span !== undefined) {
    for (const { key } of members(message, span.start)) {
      if (names.length === MAX_CAPABILITIES) break;
      if (CAPABILITY.test(key)) names.push(key);
    }
  }
  return names.length === 0 ? 'a capability' : names.join(', ');
}
