/** What is kept for tools by their names; for a name that has nothing of its own, what a pattern says. */
export class ToolMap<T> extends Map<string, T> {
  readonly #byPattern: ((tool: string) => T | undefined) | undefined;

  constructor(own: Iterable<readonly [string, T]> = [], byPattern?: (tool: string) => T | undefined) {
    super();
    this.#byPattern = byPattern;
    for (const [tool, value] of own) this.set(tool, value);
  }

  override get(tool: string): T | undefined {
    return super.get(tool) ?? this.#byPattern?.(tool);
  }

  /** Whether there is nothing for any tool. */
  override get size(): number {
    return super.size + Number(this.#byPattern !== undefined);
  }
}
