import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { type Message, toolName } from '../exchange/message.ts';
import { type ParameterHeader, parameterHeaders, parameterMismatch } from '../exchange/modern-headers.ts';
import { MODERN_META, modernHeaders } from '../upstream/era.ts';
import { ownRequest } from '../upstream/own-request.ts';
import type { Mount } from './mount.ts';

const TIMEOUT_MS = 10_000;
const MAX_PAGES = 64;
const MAX_KEPT = 200;

interface Declared {
  readonly byTool: ReadonlyMap<string, readonly ParameterHeader[]>;
  readonly until: number;
}

/**
 * Compares the `Mcp-Param-*` headers of sessionless tool calls with their arguments. Which headers a tool declares
 * stands in its input schema, so the upstream's tools are listed once in a while for it, for each server and for what
 * its clients authenticate with.
 */
export class ToolParameters {
  readonly #ttlMs: number;
  readonly #declared = new Map<string, Promise<Declared>>();

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  /** What does not match, undefined when all does. `base` are the headers of an own request for this client. */
  async mismatch(
    mount: Mount,
    message: Message,
    headers: IncomingHttpHeaders,
    base: readonly string[],
  ): Promise<string | undefined> {
    if (message.kind !== 'request' || message.method !== 'tools/call') return undefined;
    const tool = toolName(message);
    if (tool === undefined) return undefined;
    const check = async (declared: Declared): Promise<string | undefined> =>
      parameterMismatch(message.params['arguments'], headers, declared.byTool.get(tool) ?? []);
    const known = await this.#of(mount, base, false);
    const mismatch = await check(known.declared);
    // A schema that changed since must not refuse a correct call.
    return mismatch === undefined || known.fresh ? mismatch : check((await this.#of(mount, base, true)).declared);
  }

  /** The headers that a tool declares, none when the upstream does not say. */
  async of(mount: Mount, tool: string, base: readonly string[]): Promise<readonly ParameterHeader[]> {
    return (await this.#of(mount, base, false)).declared.byTool.get(tool) ?? [];
  }

  async #of(mount: Mount, base: readonly string[], again: boolean): Promise<{ declared: Declared; fresh: boolean }> {
    const key = hash('sha256', JSON.stringify([mount.serverId, base]), 'base64');
    const known = again ? undefined : this.#declared.get(key);
    if (known !== undefined) {
      const declared = await known;
      if (Date.now() < declared.until) return { declared, fresh: false };
    }
    const listing = this.#list(mount, base);
    this.#declared.delete(key);
    this.#declared.set(key, listing);
    const [oldest] = this.#declared.keys();
    if (this.#declared.size > MAX_KEPT && oldest !== undefined) this.#declared.delete(oldest);
    return { declared: await listing, fresh: true };
  }

  /** An upstream that does not list is left to check for itself. */
  async #list(mount: Mount, base: readonly string[]): Promise<Declared> {
    const byTool = new Map<string, readonly ParameterHeader[]>();
    try {
      let cursor: unknown;
      for (let page = 0; page < MAX_PAGES; page++) {
        const params = JSON.stringify({ _meta: MODERN_META, ...(typeof cursor === 'string' ? { cursor } : {}) });
        const answer = await ownRequest(mount.upstream, {
          session: undefined,
          headers: [...base, ...modernHeaders('tools/list')],
          message: { method: 'tools/list', params },
          timeoutMs: TIMEOUT_MS,
        });
        if (typeof answer.message?.result !== 'object' || answer.message.result === null) return { byTool, until: 0 };
        const { tools, nextCursor } = answer.message.result;
        for (const tool of Array.isArray(tools) ? (tools as unknown[]) : []) {
          const { name, inputSchema } = (tool ?? {}) as { name?: unknown; inputSchema?: unknown };
          const declared = parameterHeaders(inputSchema);
          if (typeof name === 'string' && declared.length > 0) byTool.set(name, declared);
        }
        if (typeof nextCursor !== 'string') break;
        cursor = nextCursor;
      }
    } catch {
      return { byTool, until: 0 };
    }
    return { byTool, until: Date.now() + Math.max(this.#ttlMs, 1000) };
  }
}
