import { AdapterError } from '../errors.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import type { Body, Request } from '../exchange/message.ts';
import type { SessionKey, StateStore } from '../state/state-store.ts';
import { MAX_KEPT_PARAMS_CHARS } from '../limits.ts';

/**
 * Keeps what a new upstream session would have to be told again, once the upstream has agreed to it: gets the response
 * before the client does. Undefined: there is nothing of that kind in the body.
 */
export function remembering(
  store: Pick<StateStore, 'setLogLevel' | 'setSubscription'>,
  session: SessionKey,
  body: Body,
): ((text: string) => Promise<void>) | undefined {
  const changes = body.messages.flatMap((message) => {
    const change = message.kind === 'request' ? changeOf(store, session, body, message) : undefined;
    return change === undefined ? [] : [{ idText: (message as Request).idText, change }];
  });
  if (changes.length === 0) return undefined;
  return async (text) => {
    const agreed = agreedIds(text);
    for (const { idText, change } of changes) if (agreed.has(JSON.parse(idText))) await change();
  };
}

/** The parameters as the client wrote them, so that they are replayed as they were. Throws when they are too long. */
export function keptParams(body: Body, request: Request): string {
  const span = body.batch ? undefined : locate(body.text, ['params']);
  const text = span === undefined ? JSON.stringify(request.params) : body.text.slice(span.start, span.end);
  if (text.length <= MAX_KEPT_PARAMS_CHARS) return text;
  const detail = `The parameters of ${request.method} are longer than ${MAX_KEPT_PARAMS_CHARS} characters; sessions keep no more.`;
  throw new AdapterError('invalid_request', detail);
}

function changeOf(
  store: Pick<StateStore, 'setLogLevel' | 'setSubscription'>,
  session: SessionKey,
  body: Body,
  request: Request,
): (() => Promise<void>) | undefined {
  const { method, params } = request;
  if (method === 'logging/setLevel') {
    const text = keptParams(body, request);
    return () => store.setLogLevel(session, text);
  }
  const { uri } = params;
  const subscribed = method === 'resources/subscribe';
  if (typeof uri !== 'string' || !(subscribed || method === 'resources/unsubscribe')) return undefined;
  return () => store.setSubscription(session, uri, subscribed);
}

/** The ids of the results in a response, or in an array of them. */
function agreedIds(text: string): Set<unknown> {
  try {
    const value: unknown = JSON.parse(text);
    const responses = (Array.isArray(value) ? value : [value]) as { id?: unknown; result?: unknown }[];
    return new Set(responses.flatMap((one) => (one?.result === undefined ? [] : [one.id])));
  } catch {
    return new Set(); // No message: the client can make nothing of it either.
  }
}
