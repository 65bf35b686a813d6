/** A list of an upstream, as the adapter asks for it. */
export interface ListOf {
  readonly method: string;
  /** Where its entries stand in a result. */
  readonly member: string;
  /** What they are, for errors. */
  readonly words: string;
  /** Not more are read when the whole of it is wanted, but for the last page. Without it all must be had, or nothing. */
  readonly maxEntries?: number;
}

/** What an upstream lists. Of resources there may be any number, and new ones are no drift. */
export const LISTS = {
  tools: { method: 'tools/list', member: 'tools', words: 'tools' },
  prompts: { method: 'prompts/list', member: 'prompts', words: 'prompts' },
  resources: { method: 'resources/list', member: 'resources', words: 'resources', maxEntries: 1_000 },
  templates: { method: 'resources/templates/list', member: 'resourceTemplates', words: 'resource templates' },
} as const satisfies Record<string, ListOf>;

export type ListName = keyof typeof LISTS;
