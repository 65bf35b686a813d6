/** What tools are called whose name is none of a known tool, and all beyond the most that a server may have. */
export const OTHER_TOOL = '_other';

/** Names that stand in metrics, for each server. */
const MAX_SHOWN = 200;
/** Of them, those that no list has shown yet. The others are kept for what lists show: who calls may choose any name. */
const MAX_CALLED = 100;
/** What MCP asks names of tools to be. */
const TOOL_NAME = /^[A-Za-z0-9_./-]{1,128}$/;
/** Names that are kept to be recognised, for each server. Sessions may see different lists; the latest count. */
const MAX_LISTED = 5_000;
/** A longer name is no label; MCP allows 128. */
const MAX_CHARS = 128;

interface Names {
  /** Of the adapter's own tools, and of those that something is configured for. */
  readonly configured: Set<string>;
  /** Calls of them have succeeded, so there are such tools. */
  readonly called: Set<string>;
  /** In the order in which they were listed last. */
  readonly listed: Set<string>;
  /** Once shown, a name stays: its series do. */
  readonly shown: Set<string>;
}

/**
 * Which names of tools may stand in metrics. Clients may call anything, so a name counts only where the configuration
 * has it, the upstream has listed it, or a call of it has succeeded: sessions list their tools at any replica, or never.
 */
export class ToolNames {
  readonly #servers: ReadonlyMap<string, Names>;

  constructor(serverIds: readonly string[]) {
    const none = (): Names => ({ configured: new Set(), called: new Set(), listed: new Set(), shown: new Set() });
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

  /** A call has succeeded. */
  worked(serverId: string | undefined, tool: string): void {
    const server = serverId === undefined ? undefined : this.#servers.get(serverId);
    if (server === undefined || server.called.size >= MAX_CALLED || server.shown.has(tool)) return;
    if (isKnown(server, tool) || !TOOL_NAME.test(tool)) return;
    server.called.add(tool);
  }

  /** The name as it may stand in a metric. */
  label(serverId: string | undefined, tool: string): string {
    const server = serverId === undefined ? undefined : this.#servers.get(serverId);
    if (server === undefined) return OTHER_TOOL;
    const { shown } = server;
    if (shown.has(tool)) return tool;
    if (shown.size >= MAX_SHOWN || !isKnown(server, tool)) return OTHER_TOOL;
    shown.add(tool);
    return tool;
  }
}

function isKnown({ configured, listed, called }: Names, tool: string): boolean {
  return configured.has(tool) || listed.has(tool) || called.has(tool);
}
