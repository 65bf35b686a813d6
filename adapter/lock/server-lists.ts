/** What an upstream says that a lock counts, each as the JSON text that came from it, which JSON.parse accepts. */
export interface ServerLists {
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  readonly resourceTemplates: readonly string[];
  /** Undefined where it has none. */
  readonly instructions: string | undefined;
}
