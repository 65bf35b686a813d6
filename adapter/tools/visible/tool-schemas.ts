import { elements, locate } from '../../exchange/scanning/json-scan.ts';
import { ToolListings } from '../tool-listings.ts';
import type { ToolCall } from './tool-step.ts';

/** Input schemas of upstream tools as JSON text, asked for in the session of the call. */
export class ToolSchemas {
  readonly #listings = new ToolListings(schemas);

  /** Undefined when the upstream does not say. */
  async of({ source, record, tool }: Pick<ToolCall, 'source' | 'record' | 'tool'>): Promise<string | undefined> {
    return (await this.#listings.of(source.request(record))).byTool.get(tool);
  }
}

function* schemas(text: string): Generator<[string, string]> {
  const tools = locate(text, ['tools']);
  if (tools === undefined) return;
  for (const { start } of elements(text, tools.start)) {
    const name = locate(text, ['name'], start);
    const schema = locate(text, ['inputSchema'], start);
    if (name === undefined || schema === undefined || text.charAt(name.start) !== '"') continue;
    yield [JSON.parse(text.slice(name.start, name.end)) as string, text.slice(schema.start, schema.end)];
  }
}
