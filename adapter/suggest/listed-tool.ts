/** A tool as `tools/list` describes it: what the rules look at. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
  readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
}

/** A tool of a list that a server sent; undefined for what is none. Nothing of it is believed before it was looked at. */
export function listedTool(value: unknown): ListedTool | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { name, description, inputSchema, annotations } = value as Record<string, unknown>;
  if (typeof name !== 'string' || name.trim() === '') return undefined;
  const { readOnlyHint } = (annotations ?? {}) as Record<string, unknown>;
  return {
    name,
    description: typeof description === 'string' ? description : undefined,
    inputSchema,
    annotations: typeof readOnlyHint === 'boolean' ? { readOnlyHint } : undefined,
  };
}
