import { randomUUID } from 'node:crypto';

import { locate } from '../../exchange/scanning/json-scan.ts';
import type { BusKey, MessageBus } from '../../state/message-bus.ts';
import { isUrlMode, type Question } from './questions.ts';

/** What came of the questions: results (JSON texts) by the server's keys, or the error (JSON text) that one was answered with. */
export type Answers =
  | { readonly results: ReadonlyMap<string, string>; readonly error?: undefined }
  | { readonly results?: undefined; readonly error: string };

const ID_PREFIX = 'mcpa-ask-';
const ELICITATION_ID = 'elicitationId';

/** Under what the bus carries the answer to a question of the adapter's own. */
export const answerCarrier = (idText: string): string => `q:${idText}`;

/** Whether an id (JSON text) is one of a question that the adapter has asked. */
export const isAskedId = (idText: string): boolean => idText.startsWith(`"${ID_PREFIX}`);

/**
 * Asks a client as older servers do, by requests on the stream of its call (MCP 2025-11-25, elicitation, sampling, roots). Its
 * answers may be posted at any replica. Questions that nobody waits for any more are cancelled. Rejects with the signal's
 * reason, and when the bus is down.
 * @param send takes the requests (JSON texts)
 */
export async function askClient(
  { bus, key, send }: { readonly bus: MessageBus; readonly key: BusKey; readonly send: (text: string) => void },
  questions: readonly Question[],
  signal: AbortSignal,
): Promise<Answers> {
  const results = new Map<string, string>();
  const stops: (() => Promise<void>)[] = [];
  const open = new Set<string>();
  const done = Promise.withResolvers<Answers>();
  const onAbort = (): void => done.reject(signal.reason as Error);
  // It may be rejected while a question is still being followed.
  done.promise.catch(() => undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    const ids = questions.map(() => JSON.stringify(ID_PREFIX + randomUUID()));
    for (const [index, question] of questions.entries()) {
      const idText = ids[index] ?? '';
      const onAnswer = ({ message }: { readonly message: string }): void => {
        if (!open.delete(idText)) return;
        const result = locate(message, ['result']);
        if (result === undefined) return done.resolve({ error: errorIn(message) });
        results.set(question.key, message.slice(result.start, result.end));
        if (results.size === questions.length) done.resolve({ results: inOrder(results, questions) });
      };
      // oxlint-disable-next-line no-await-in-loop -- A server asks few questions, and each is followed before it is asked.
      stops.push(await bus.follow(key, answerCarrier(idText), null, onAnswer));
      signal.throwIfAborted();
      open.add(idText);
      send(requestText(question, idText));
    }
    return await done.promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const idText of open) send(cancelledText(idText));
    await Promise.allSettled(stops.map((stop) => stop()));
  }
}

/** The server finds the answers in the order of its questions, whichever came first. */
function inOrder(results: ReadonlyMap<string, string>, questions: readonly Question[]): ReadonlyMap<string, string> {
  return new Map(questions.map(({ key }) => [key, results.get(key) ?? '']));
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

const cancelledText = (idText: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${idText}}}`;

/** A URL had an id of its own, by which a server could say that it was done with (MCP 2025-11-25, elicitation). */
function olderParams(method: string, params: string): string {
  if (method !== 'elicitation/create' || !isUrlMode(params)) return params;
  if (locate(params, [ELICITATION_ID]) !== undefined) return params;
  return `{"${ELICITATION_ID}":"${randomUUID()}",${params.slice(1)}`;
}
