import { randomUUID } from 'node:crypto';

import { parseJson, REQUEST_LIMITS } from '../../lib/json/json-limits.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import type { BusKey, MessageBus } from '../state/message-bus.ts';
import type { Asks } from './newer-request.ts';

/** A question that stands in an `input_required` result (MCP 2026-07-28, multi round-trip requests). */
export interface Question {
  readonly key: string;
  readonly method: string;
  /** JSON text. */
  readonly params: string;
}

/** What came of the questions: results (JSON texts) by the server's keys, or the error (JSON text) that one was answered with. */
export type Answers =
  | { readonly results: ReadonlyMap<string, string>; readonly error?: undefined }
  | { readonly results?: undefined; readonly error: string };

const ID_PREFIX = 'mcpa-ask-';
const ELICITATION_ID = 'elicitationId';

/** What the client would have to offer to be asked this; undefined: it does. */
export function lacking({ method, params }: Question, asks: Asks): string | undefined {
  if (method === 'sampling/createMessage') return asks.sampling ? undefined : 'sampling';
  if (method === 'roots/list') return asks.roots ? undefined : 'roots';
  if (method !== 'elicitation/create') return method;
  const isUrl = isMode(params, 'url');
  if (isUrl ? asks.elicitationUrl : asks.elicitation) return undefined;
  return isUrl ? 'elicitation.url' : 'elicitation';
}

/** Under what the bus carries the answer to a question of the adapter's own. */
export const answerCarrier = (idText: string): string => `q:${idText}`;

/** Whether an id (JSON text) is one of a question that the adapter has asked. */
export const isAskedId = (idText: string): boolean => idText.startsWith(`"${ID_PREFIX}`);

/**
 * Asks a client as older servers do, by requests on the stream of its call (MCP 2025-11-25, elicitation, sampling, roots). Its
 * answers may be posted at any replica. Rejects with the signal's reason.
 * @param say takes the requests (JSON texts)
 */
export async function askClient(
  { bus, key, say }: { readonly bus: MessageBus; readonly key: BusKey; readonly say: (text: string) => void },
  questions: readonly Question[],
  signal: AbortSignal,
): Promise<Answers> {
  const results = new Map<string, string>();
  const stops: (() => Promise<void>)[] = [];
  const failed = Promise.withResolvers<string>();
  try {
    const waits: Promise<void>[] = [];
    for (const question of questions) {
      const idText = JSON.stringify(ID_PREFIX + randomUUID());
      const answered = Promise.withResolvers<void>();
      // oxlint-disable-next-line no-await-in-loop -- A server asks few questions, and each is followed before it is asked.
      const stop = await bus.follow(key, answerCarrier(idText), null, ({ message }) => {
        const result = locate(message, ['result']);
        if (result === undefined) return failed.resolve(errorIn(message));
        results.set(question.key, message.slice(result.start, result.end));
        answered.resolve();
      });
      stops.push(stop);
      waits.push(answered.promise);
      signal.throwIfAborted();
      say(requestText(question, idText));
    }
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const all = Promise.all(waits).then(() => undefined);
      const error = await Promise.race([all, failed.promise, aborted.promise]);
      return error === undefined ? { results } : { error };
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  } finally {
    await Promise.allSettled(stops.map((stop) => stop()));
  }
}

function errorIn(message: string): string {
  const error = locate(message, ['error']);
  return error === undefined
    ? '{"code":-32603,"message":"The client gave no answer."}'
    : message.slice(error.start, error.end);
}

function requestText({ method, params }: Question, idText: string): string {
  return `{"jsonrpc":"2.0","id":${idText},"method":${JSON.stringify(method)},"params":${olderParams(method, params)}}`;
}

/** A URL had an id of its own, by which a server could say that it was done with (MCP 2025-11-25, elicitation). */
function olderParams(method: string, params: string): string {
  if (method !== 'elicitation/create' || !isMode(params, 'url')) return params;
  if (locate(params, [ELICITATION_ID]) !== undefined) return params;
  return `{"${ELICITATION_ID}":"${randomUUID()}",${params.trimStart().slice(1)}`;
}

function isMode(params: string, mode: string): boolean {
  const span = locate(params, ['mode']);
  return span !== undefined && params.slice(span.start, span.end) === JSON.stringify(mode);
}

/** What an `input_required` result (JSON text of its message) asks. @throws JsonLimitError for one that is too large to be read */
export function questionsIn(message: string): { questions: Question[]; requestState: string | undefined } {
  const requests = locate(message, ['result', 'inputRequests']);
  const state = locate(message, ['result', 'requestState']);
  const questions: Question[] = [];
  if (requests !== undefined) {
    const asked = parseJson(message.slice(requests.start, requests.end), REQUEST_LIMITS) as Record<string, unknown>;
    for (const [key, question] of Object.entries(asked ?? {})) {
      const { method, params } = (question ?? {}) as { method?: unknown; params?: unknown };
      questions.push({ key, method: String(method), params: JSON.stringify(params ?? {}) });
    }
  }
  return { questions, requestState: state && message.slice(state.start, state.end) };
}
