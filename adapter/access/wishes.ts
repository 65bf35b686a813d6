import { type Message, toolName } from '../exchange/message.ts';

/**
 * What somebody wants: a method, and what it is about. Of the object there is one at most. `tools/call`, `prompts/get` and
 * `resources/read` stand also for what else concerns the same object: lists, completion, subscriptions.
 */
export interface Wish {
  readonly method: string;
  readonly tool?: string;
  readonly prompt?: string;
  readonly resource?: string;
}

/** Something that a message names; `name` is whatever stands where the name belongs. */
export interface Named {
  readonly kind: 'tool' | 'prompt' | 'resource';
  readonly name: unknown;
}

/** What a message names of that which rules are about. Completion and subscriptions name the same things. */
export function namedIn(message: Exclude<Message, { kind: 'response' }>): readonly Named[] {
  const { method, params } = message;
  if (method === 'tools/call') return [{ kind: 'tool', name: toolName(message) }];
  if (method === 'prompts/get') return [{ kind: 'prompt', name: params['name'] }];
  if (method === 'resources/read' || method === 'resources/subscribe' || method === 'resources/unsubscribe') {
    return [{ kind: 'resource', name: params['uri'] }];
  }
  if (method === 'completion/complete') {
    const ref = Object(params['ref']) as { readonly type?: unknown; readonly name?: unknown; readonly uri?: unknown };
    if (ref.type === 'ref/prompt') return [{ kind: 'prompt', name: ref.name }];
    return ref.type === 'ref/resource' ? [{ kind: 'resource', name: ref.uri }] : NOTHING;
  }
  if (method !== 'subscriptions/listen') return NOTHING;
  const { resourceSubscriptions: uris } = Object(params['notifications']) as {
    readonly resourceSubscriptions?: unknown;
  };
  return Array.isArray(uris) ? uris.map((name: unknown): Named => ({ kind: 'resource', name })) : NOTHING;
}

const NOTHING: readonly Named[] = [];

export const callOf = (tool: string): Wish => ({ method: 'tools/call', tool });
export const promptOf = (prompt: string): Wish => ({ method: 'prompts/get', prompt });
export const readingOf = (resource: string): Wish => ({ method: 'resources/read', resource });
export const UPLOAD: Wish = { method: 'files/upload' };
export const downloadOf = (resource: string): Wish => ({ method: 'files/download', resource });
