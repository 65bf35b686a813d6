import { locate } from '../../exchange/scanning/json-scan.ts';
import { toolsIn } from '../tools-in.ts';
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
  for (const { name, start } of toolsIn(text)) {
    const schema = name === undefined ? undefined : locate(text, ['inputSchema'], start);
    if (name !== undefined && schema !== undefined) yield [name, text.slice(schema.start, schema.end)];
  }
}
