import type { Body, Message, Request } from '../exchange/message.ts';
import type { OwnResources } from './own-resources.ts';

const ABOUT_ONE = new Set(['resources/read', 'resources/subscribe', 'resources/unsubscribe']);

/** A request about one resource of the adapter's own, whether it exists or not. */
export interface OwnResourceRequest {
  readonly request: Request;
  readonly uri: string;
  readonly resources: OwnResources;
}

/** The request of a body that is the adapter's to answer, undefined when there is none. */
export function ownResource(
  { resources }: { readonly resources: OwnResources | undefined },
  body: Body,
): OwnResourceRequest | undefined {
  if (resources === undefined) return undefined;
  for (const request of body.messages) {
    if (!isAboutOne(request)) continue;
    const { uri } = request.params;
    if (typeof uri === 'string' && resources.owns(uri)) return { request, uri, resources };
  }
  return undefined;
}

function isAboutOne(message: Message): message is Request {
  return message.kind === 'request' && ABOUT_ONE.has(message.method);
}
