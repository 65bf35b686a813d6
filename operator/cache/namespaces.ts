import type { ReflectorOptions } from './reflector.ts';
import { Reflector } from './reflector.ts';
import { NAMESPACES } from '../kubernetes/resources.ts';

/** Which namespaces the operator looks after. */
export type NamespaceScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'list'; readonly names: readonly string[] }
  | { readonly kind: 'selector'; readonly labelSelector: string };

export interface Namespaces {
  /** All of them at once: one watch for each resource instead of one for each namespace. */
  readonly all: boolean;
  /** The namespaces, when not `all`. */
  readonly names: ReadonlySet<string>;
  readonly synced: Promise<void>;
  /** Told of each namespace that comes or goes. */
  subscribe(handler: (namespace: string, here: boolean) => void): () => void;
  start(): void;
  stop(): Promise<void>;
}

/** With a selector, namespaces come and go with their labels, while we run. */
export function namespacesOf(
  scope: NamespaceScope,
  options: Pick<ReflectorOptions, 'api' | 'onError' | 'count' | 'timing'>,
): Namespaces {
  if (scope.kind !== 'selector') {
    return {
      all: scope.kind === 'all',
      names: new Set(scope.kind === 'all' ? [] : scope.names),
      synced: Promise.resolve(),
      subscribe: () => () => {},
      start: () => {},
      stop: async () => {},
    };
  }
  const reflector = new Reflector({
    ...options,
    resource: NAMESPACES,
    selection: { labelSelector: scope.labelSelector },
    // Of a namespace only its being here counts.
    transform: ({ apiVersion, kind, metadata: { name, uid } }) => ({ apiVersion, kind, metadata: { name, uid } }),
  });
  const names = new Set<string>();
  const handlers = new Set<(namespace: string, here: boolean) => void>();
  reflector.subscribe((change) => {
    const here = change.new !== undefined;
    if (here === names.has(change.key.name)) return;
    if (here) names.add(change.key.name);
    else names.delete(change.key.name);
    for (const handler of handlers) handler(change.key.name, here);
  });
  return {
    all: false,
    names,
    synced: reflector.synced,
    subscribe(handler) {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    start: () => reflector.start(),
    stop: () => reflector.stop(),
  };
}
