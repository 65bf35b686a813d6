/** What tools are called whose name is none of a known tool, and all beyond the most that a server may have. */
export const OTHER_TOOL = '_other';

/** Names that stand in metrics, for each server. */
const MAX_SHOWN = 200;
/** Names that are kept to be recognised, for each server. Sessions may see different lists; the latest count. */
const MAX_LISTED = 5_000;
/** A longer name is no label; MCP allows 128. */
const MAX_CHARS = 128;

interface Names {
  /** Of the adapter's own tools, and of those that something is configured for. */
  readonly configured: Set<string>;
  /** In the order in which they were listed last. */
  readonly listed: Set<string>;
  /** Once shown, a name stays: its series do. */
  readonly shown: Set<string>;
}

/**
 * Which names of tools may stand in metrics. Clients may call anything, so a name counts only where the configuration
 * has it, or the upstream has listed it.
 */
export class ToolNames {
  readonly #servers: ReadonlyMap<string, Names>;

  constructor(serverIds: readonly string[]) {
    const none = (): Names => ({ configured: new Set(), listed: new Set(), shown: new Set() });
    this.#servers = new Map(serverIds.map((serverId) => [serverId, none()]));
  }

  /** The configuration says something of these, or they are the adapter's own. */
  configured(serverId: string, names: Iterable<string>): void {
    for (const name of names) this.#servers.get(serverId)?.configured.add(name);
  }

  /** The upstream of a server has listed these. */
  listed(serverId: string, names: Iterable<string>): void {
    const server = this.#servers.get(serverId);
    if (server === undefined) return;
    const { listed } = server;
    let count = 0;
    for (const name of names) {
      if (name.length > MAX_CHARS) continue;
      if (++count > MAX_LISTED) break;
      listed.delete(name);
      listed.add(name);
    }
    for (const oldest of listed) {
      if (listed.size <= MAX_LISTED) break;
      listed.delete(oldest);
    }
  }

  /** The name as it may stand in a metric. */
  label(serverId: string | undefined, tool: string): string {
    const server = serverId === undefined ? undefined : this.#servers.get(serverId);
    if (server === undefined) return OTHER_TOOL;
    const { configured, listed, shown } = server;
    if (shown.has(tool)) return tool;
    if (shown.size >= MAX_SHOWN || !(configured.has(tool) || listed.has(tool))) return OTHER_TOOL;
    shown.add(tool);
    return tool;
  }
}
