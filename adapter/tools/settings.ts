import type { AdapterEntry, FileTools } from '../../crds/config/adapter-file/entry.ts';
import type { EffectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { timerMs } from '../../lib/timer-ms.ts';

/** An entry that a tool has alone. */
export type SingleEntry = Exclude<AdapterEntry, FileTools>;

/** The entry of each tool that an upload consumer or an artifact producer is configured for: the first that names it. */
export function toolEntries(server: Pick<EffectiveServer, 'adapters'>): Map<string, SingleEntry> {
  const entries = new Map<string, SingleEntry>();
  for (const entry of server.adapters) {
    if (entry.type === 'files') continue;
    for (const tool of entry.tools) if (!entries.has(tool)) entries.set(tool, entry);
  }
  return entries;
}

/**
 * Time limit of a tool in milliseconds, null for none: `adapters[].overrides`, then `tool_defaults`, then
 * `core.defaults` (specification, section 1, convention 4).
 */
export function toolTimeouts(server: EffectiveServer): (tool: string | undefined) => number | null {
  const inherited = toMs(server.tool_defaults.tool_call_timeout_seconds);
  const own = new Map<string, number>();
  for (const [tool, { overrides }] of toolEntries(server)) {
    const limit = toMs(overrides.tool_call_timeout_seconds);
    if (limit !== null) own.set(tool, limit);
  }
  if (own.size === 0) return () => inherited;
  return (tool) => (tool === undefined ? inherited : (own.get(tool) ?? inherited));
}

const toMs = (seconds: number | null): number | null => (seconds === null ? null : timerMs(seconds));
