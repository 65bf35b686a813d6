import { AdapterError, rpcErrorText } from '../errors.ts';
import type { Body, Message, Request } from '../exchange/message.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { sendJson, sendResult } from './answers.ts';
import type { OwnResources } from './own-resources.ts';
import type { Mount, Turn } from './turn.ts';

const ABOUT_ONE = new Set(['resources/read', 'resources/subscribe', 'resources/unsubscribe']);

/** A request about one resource of the adapter's own, whether it exists or not. */
export interface OwnResourceRequest {
  readonly request: Request;
  readonly uri: string;
  readonly resources: OwnResources;
}

/** The request of a body that is the adapter's to answer, undefined when there is none. */
export function ownResource({ resources }: Mount, body: Body): OwnResourceRequest | undefined {
  if (resources === undefined) return undefined;
  for (const request of body.messages) {
    if (!isAboutOne(request)) continue;
    const { uri } = request.params;
    if (typeof uri === 'string' && resources.owns(uri)) return { request, uri, resources };
  }
  return undefined;
}

export async function answerOwnResource(
  { incoming, admitted }: Turn,
  record: SessionRecord,
  body: Body,
  { request, uri, resources }: OwnResourceRequest,
): Promise<void> {
  if (body.batch) {
    throw new AdapterError('invalid_request', 'Resources of the adapter cannot be part of a batch; send one message.');
  }
  // They never change once they are there, so nothing has to be remembered for a subscription.
  const result = request.method === 'resources/read' ? await resources.read(record, uri) : '{}';
  admitted.finished('ok');
  if (result === undefined) {
    // Not the status of the table: HTTP 404 would tell the client that its session is gone.
    incoming.facts.outcome = 'artifact_not_found';
    const error = new AdapterError('artifact_not_found', 'There is no such resource.');
    const text = rpcErrorText(error.code, error.message, request.idText, { uri });
    sendJson(incoming, 200, text, record.sessionId);
    return;
  }
  incoming.facts.outcome = 'answered';
  await sendResult(incoming, request.idText, result, record.sessionId);
}

function isAboutOne(message: Message): message is Request {
  return message.kind === 'request' && ABOUT_ONE.has(message.method);
}
