import type { IncomingHttpHeaders } from 'node:http';

import { ANSWER_LIMITS, parseJson } from '../../lib/json/json-limits.ts';
import { type Message, toolName } from '../exchange/message.ts';
import {
  type ParameterHeader,
  parameterHeaders,
  parameterMismatch,
  undeclaredParameter,
} from '../exchange/sessionless-headers.ts';
import type { InventoryRequest } from './tool-inventory.ts';
import { ToolListings } from './tool-listings.ts';

const NONE: readonly ParameterHeader[] = [];

/**
 * Compares the `Mcp-Param-*` headers of sessionless tool calls with their arguments. Which headers a tool declares
 * stands in its input schema, so the upstream's tools are listed once in a while for it. An upstream that does not list
 * the tool is left to check for itself; other messages have no such headers.
 */
export class ToolParameters {
  readonly #listings = new ToolListings(declaredParameters);

  /** What does not match, undefined when all does. */
  async mismatch(
    request: InventoryRequest,
    message: Message,
    headers: IncomingHttpHeaders,
  ): Promise<string | undefined> {
    if (message.kind !== 'request' || message.method !== 'tools/call') return undeclaredParameter(headers, NONE);
    const tool = toolName(message);
    if (tool === undefined) return undeclaredParameter(headers, NONE);
    if (!repeatsAny(message.params['arguments'], headers)) return undefined;
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
  async of(request: InventoryRequest, tool: string): Promise<readonly ParameterHeader[]> {
    return (await this.#listings.of(request)).byTool.get(tool) ?? NONE;
  }
}

/** Whether there is anything to compare: without it, the upstream need not be asked what its tools declare. */
function repeatsAny(args: unknown, headers: IncomingHttpHeaders): boolean {
  if (typeof args === 'object' && args !== null && Object.keys(args).length > 0) return true;
  for (const name in headers) if (name.startsWith('mcp-param-')) return true;
  return false;
}

/** The headers that the tools of a list (JSON text of a result) declare, by tool. */
export function* declaredParameters(list: string): Generator<[string, readonly ParameterHeader[]]> {
  for (const tool of (parseJson(list, ANSWER_LIMITS) as { tools: unknown[] }).tools) {
    const { name, inputSchema } = (tool ?? {}) as { name?: unknown; inputSchema?: unknown };
    const headers = parameterHeaders(inputSchema);
    if (typeof name === 'string') yield [name, headers.length === 0 ? NONE : headers];
  }
}
