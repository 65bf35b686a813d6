import type { IncomingHttpHeaders } from 'node:http';

import { ANSWER_LIMITS, parseJson } from '../../crds/runtime/json-limits.ts';
import { type Message, toolName } from '../exchange/message.ts';
import {
  type ParameterHeader,
  parameterHeaders,
  parameterMismatch,
  undeclaredParameter,
} from '../exchange/modern-headers.ts';
import type { ListingRequest } from './list-tools.ts';
import { ToolListings } from './tool-listings.ts';

/** Also where lists are not cached for clients: every call would wait for one. */
const LEAST_TTL_MS = 1_000;

const NONE: readonly ParameterHeader[] = [];

/**
 * Compares the `Mcp-Param-*` headers of sessionless tool calls with their arguments. Which headers a tool declares
 * stands in its input schema, so the upstream's tools are listed once in a while for it. An upstream that does not list
 * the tool is left to check for itself; other messages have no such headers.
 */
export class ToolParameters {
  readonly #listings: ToolListings<readonly ParameterHeader[]>;

  constructor(ttlMs: number) {
    this.#listings = new ToolListings(Math.max(ttlMs, LEAST_TTL_MS), declared);
  }

  /** What does not match, undefined when all does. */
  async mismatch(request: ListingRequest, message: Message, headers: IncomingHttpHeaders): Promise<string | undefined> {
    if (message.kind !== 'request' || message.method !== 'tools/call') return undeclaredParameter(headers, NONE);
    const tool = toolName(message);
    if (tool === undefined) return undeclaredParameter(headers, NONE);
    const check = (byTool: ReadonlyMap<string, readonly ParameterHeader[]>): string | undefined => {
      const of = byTool.get(tool);
      if (of === undefined) return undefined;
      return undeclaredParameter(headers, of) ?? parameterMismatch(message.params['arguments'], headers, of);
    };
    const known = await this.#listings.of(request);
    const mismatch = check(known.byTool);
    // A schema that changed since must not refuse a correct call.
    return mismatch === undefined || known.fresh ? mismatch : check((await this.#listings.of(request, true)).byTool);
  }

  /** The headers that a tool declares, none when the upstream does not say. */
  async of(request: ListingRequest, tool: string): Promise<readonly ParameterHeader[]> {
    return (await this.#listings.of(request)).byTool.get(tool) ?? NONE;
  }
}

function* declared(page: string): Generator<[string, readonly ParameterHeader[]]> {
  for (const tool of (parseJson(page, ANSWER_LIMITS) as { tools: unknown[] }).tools) {
    const { name, inputSchema } = (tool ?? {}) as { name?: unknown; inputSchema?: unknown };
    const headers = parameterHeaders(inputSchema);
    if (typeof name === 'string') yield [name, headers.length === 0 ? NONE : headers];
  }
}
