import { locate } from '../exchange/scanning/json-scan.ts';
import { toolsIn } from '../tools/tools-in.ts';
import type { InventoryRequest } from '../tools/tool-inventory.ts';
import { ToolListings } from '../tools/tool-listings.ts';

/** What a definition says of the results of its tool. */
export interface ToolOutput {
  /** Its structured content must conform to a schema that clients know. */
  readonly hasSchema: boolean;
  /** `_meta["anthropic/maxResultSizeChars"]`: how long a result the tool says that it needs; 0 where it says nothing. */
  readonly ownChars: number;
}

const MAX_CHARS_KEY = 'anthropic/maxResultSizeChars';
/** Nobody knows: what is said to be structured may have to conform. */
const UNKNOWN: ToolOutput = { hasSchema: true, ownChars: 0 };

/** What the tools of upstreams say of their results. */
export class ToolOutputs {
  readonly #listings = new ToolListings(outputs);

  /** Never fails. */
  async of(request: InventoryRequest, tool: string): Promise<ToolOutput> {
    return (await this.#listings.of(request)).byTool.get(tool) ?? UNKNOWN;
  }
}

function* outputs(list: string): Generator<[string, ToolOutput]> {
  for (const { name, start } of toolsIn(list)) {
    if (name === undefined) continue;
    const own = locate(list, ['_meta', MAX_CHARS_KEY], start);
    const chars = own === undefined ? 0 : Number(list.slice(own.start, own.end));
    yield [
      name,
      {
        hasSchema: locate(list, ['outputSchema'], start) !== undefined,
        ownChars: Number.isSafeInteger(chars) && chars > 0 ? chars : 0,
      },
    ];
  }
}
