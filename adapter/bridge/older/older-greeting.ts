import type { Discovery } from './discoveries.ts';
import { objectOf } from '../../../lib/json/json-object.ts';
import { serverCapabilities } from '../wire/same-capabilities.ts';

/** Revisions that are opened by `initialize`; the last is what a client gets that asks for any other. */
const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const LATEST = '2025-11-25';

/** The result of `initialize` (JSON text) for a server that knows `server/discover` only. */
export function olderGreeting(requested: unknown, { capabilities, serverInfo, instructions }: Discovery): string {
  const protocolVersion = typeof requested === 'string' && REVISIONS.includes(requested) ? requested : LATEST;
  return JSON.stringify({
    protocolVersion,
    capabilities: serverCapabilities({ ...capabilities }),
    serverInfo: named(serverInfo),
    ...(typeof instructions === 'string' && { instructions }),
  });
}

/** Older clients read no greeting without both. */
function named(info: unknown): Record<string, unknown> {
  const said = objectOf(info);
  const text = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);
  return { ...said, name: text(said['name'], 'unknown'), version: text(said['version'], '0') };
}

/** What of its changes a server tells on a stream (MCP 2026-07-28, subscriptions). */
export interface OfferedChanges {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
}

export function offeredChanges({ capabilities }: Discovery): OfferedChanges {
  const says = (name: string): boolean => flag(capabilities[name], 'listChanged');
  return {
    ...(says('tools') && { toolsListChanged: true as const }),
    ...(says('prompts') && { promptsListChanged: true as const }),
    ...(says('resources') && { resourcesListChanged: true as const }),
  };
}

/** Whether a client can subscribe to single resources. */
export const takesSubscriptions = ({ capabilities }: Discovery): boolean =>
  flag(capabilities['resources'], 'subscribe');

const flag = (capability: unknown, name: string): boolean =>
  typeof capability === 'object' && capability !== null && (capability as Record<string, unknown>)[name] === true;
