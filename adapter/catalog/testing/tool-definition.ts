/** The JSON text of a tool, for tests: `members` come after its name. */
export function toolDefinition(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ name: 't', ...members });
}

/** A tool with one description. */
export function describedAs(description: string): string {
  return toolDefinition({ description, inputSchema: { type: 'object' } });
}

/** An ASCII text in tag characters (U+E0000…), which nobody sees and models read. */
export function inTags(text: string): string {
  return Array.from(Buffer.from(text), (byte) => String.fromCodePoint(0xe_00_00 + byte)).join('');
}

/** Bytes as variation selectors: 16 old ones, then the 240 of the supplement. */
export function inSelectors(text: string): string {
  return Array.from(Buffer.from(text), (byte) =>
    String.fromCodePoint(byte < 16 ? 0xfe_00 + byte : 0xe_01_00 + byte - 16),
  ).join('');
}
