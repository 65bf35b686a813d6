import type { EffectiveServer } from '../../crds/config/effective-server.ts';

/**
 * Time limit of a tool in milliseconds, null for none: `adapters[].overrides`, then `tool_defaults`, then
 * `core.defaults` (specification, section 1, convention 4). A tool belongs to the first entry that names it.
 */
export function toolTimeouts(server: EffectiveServer): (tool: string | undefined) => number | null {
  const inherited = toMs(server.tool_defaults.tool_call_timeout_seconds);
  const own = new Map<string, number>();
  const seen = new Set<string>();
  for (const adapter of server.adapters) {
    for (const tool of adapter.tools) {
      if (seen.has(tool)) continue;
      seen.add(tool);
      const limit = toMs(adapter.overrides.tool_call_timeout_seconds);
      if (limit !== null) own.set(tool, limit);
    }
  }
  if (own.size === 0) return () => inherited;
  return (tool) => (tool === undefined ? inherited : (own.get(tool) ?? inherited));
}

/** setTimeout's own limit; longer ones would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

function toMs(seconds: number | null): number | null {
  return seconds === null ? null : Math.min(Math.ceil(seconds * 1000), MAX_TIMEOUT_MS);
}
