import { locate } from '../../exchange/scanning/json-scan.ts';
import type { MessageBus, UnannouncedChange } from '../../state/message-bus.ts';
import { isObject, objectOf } from '../../../lib/json/json-object.ts';
import type { Discovery } from './discoveries.ts';
import type { OfferedChanges } from './older-greeting.ts';

/** Parts of a filter of `subscriptions/listen` (MCP 2026-07-28, subscriptions). */
const CHANGES = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged', 'resourceSubscriptions'] as const;

export type ChangeFilter = OfferedChanges & { readonly resourceSubscriptions?: readonly string[] };

const ACKNOWLEDGED = '"notifications/subscriptions/acknowledged"';
/** A server may be another release by then. */
const TTL_MS = 60 * 60_000;
/** The capability that offers each, and the member of it that says so. */
const OFFERED: Readonly<Record<UnannouncedChange, readonly [string, string]>> = {
  toolsListChanged: ['tools', 'listChanged'],
  promptsListChanged: ['prompts', 'listChanged'],
  resourcesListChanged: ['resources', 'listChanged'],
  resourceSubscriptions: ['resources', 'subscribe'],
};

/** What of the filter a server does not take; undefined where the message (JSON text) is no acknowledgement. */
export function leftOut(filter: ChangeFilter, message: string): UnannouncedChange[] | undefined {
  const method = locate(message, ['method']);
  if (method === undefined || message.slice(method.start, method.end) !== ACKNOWLEDGED) return undefined;
  const span = locate(message, ['params', 'notifications']);
  const taken = span === undefined ? {} : objectOf(JSON.parse(message.slice(span.start, span.end)));
  return CHANGES.filter((change) => {
    if (filter[change] === undefined) return false;
    return change === 'resourceSubscriptions' ? !Array.isArray(taken[change]) : taken[change] !== true;
  });
}

export interface UnannouncedChangesDeps {
  readonly serverId: string;
  readonly bus: Pick<MessageBus, 'publish'>;
  /** It was found here that the server offers to tell of these, and does not. */
  readonly onFound: (changes: readonly UnannouncedChange[]) => void;
}

/** Changes that a server offers to tell of, and was found not to: clients are not offered them for an hour, at any replica. */
export class UnannouncedChanges {
  readonly #deps: UnannouncedChangesDeps;
  readonly #until = new Map<UnannouncedChange, number>();

  constructor(deps: UnannouncedChangesDeps) {
    this.#deps = deps;
  }

  found(changes: readonly UnannouncedChange[]): void {
    const fresh = changes.filter((change) => !this.#isUnannounced(change));
    if (fresh.length === 0) return;
    const { serverId, bus, onFound } = this.#deps;
    this.heard(fresh);
    onFound(fresh);
    bus.publish({ type: 'changes-untold', serverId, sessionId: '', changes: fresh }).catch(() => {
      // The others find out by themselves.
    });
  }

  /** Another replica has found it. */
  heard(changes: readonly UnannouncedChange[]): void {
    for (const change of changes) this.#until.set(change, Date.now() + TTL_MS);
  }

  /** What a server says of itself, without them. */
  without(discovery: Discovery): Discovery {
    const unannounced = CHANGES.filter((change) => this.#isUnannounced(change));
    if (unannounced.length === 0) return discovery;
    const capabilities: Record<string, unknown> = { ...discovery.capabilities };
    for (const [name, member] of unannounced.map((change) => OFFERED[change])) {
      const { [member]: _, ...rest } = objectOf(capabilities[name]);
      if (isObject(capabilities[name])) capabilities[name] = rest;
    }
    return { ...discovery, capabilities };
  }

  #isUnannounced(change: UnannouncedChange): boolean {
    return Date.now() < (this.#until.get(change) ?? 0);
  }
}
