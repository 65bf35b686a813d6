import type { Discovery } from './discoveries.ts';

/** Revisions that are opened by `initialize`; the last is what a client gets that asks for any other. */
const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const LATEST = '2025-11-25';
/** What means the same in both revisions; calls that become tasks do not. */
const SAME = ['tools', 'prompts', 'resources', 'completions', 'logging', 'experimental'] as const;
const TASKS = 'io.modelcontextprotocol/tasks';

/** The result of `initialize` (JSON text) for a server that knows `server/discover` only. */
export function olderGreeting(requested: unknown, { capabilities, serverInfo, instructions }: Discovery): string {
  const protocolVersion = typeof requested === 'string' && REVISIONS.includes(requested) ? requested : LATEST;
  return JSON.stringify({
    protocolVersion,
    capabilities: olderCapabilities(capabilities),
    serverInfo: serverInfo ?? { name: 'unknown', version: '0' },
    ...(typeof instructions === 'string' && { instructions }),
  });
}

function olderCapabilities(capabilities: Discovery['capabilities']): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name of SAME) if (capabilities[name] !== undefined) out[name] = capabilities[name];
  const { extensions } = capabilities;
  if (typeof extensions !== 'object' || extensions === null) return out;
  const usable = Object.entries(extensions).filter(([name]) => name !== TASKS);
  if (usable.length > 0) out['extensions'] = Object.fromEntries(usable);
  return out;
}

/** What of its changes a server tells on a stream (MCP 2026-07-28, subscriptions). */
export interface Told {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
}

export function toldOf({ capabilities }: Discovery): Told {
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
