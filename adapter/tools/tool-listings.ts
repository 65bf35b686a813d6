import type { InventoryRequest, Listed } from './tool-inventory.ts';

/** For all pages: calls wait for it, and go on without it. */
const TIMEOUT_MS = 30_000;

/** What the definitions of upstream tools say, for the questions that a call alone does not answer. */
export class ToolListings<T> {
  readonly #read: (list: string) => Iterable<readonly [tool: string, value: T]>;
  readonly #byTool = new WeakMap<Listed, ReadonlyMap<string, T>>();

  /** @param read what a list (the JSON text of a result) says, by the name of the tool */
  constructor(read: (list: string) => Iterable<readonly [string, T]>) {
    this.#read = read;
  }

  /** Says also whether the upstream was asked for it just now, which `again` has done in any case. Never fails. */
  async of(request: InventoryRequest, isRefresh = false): Promise<{ byTool: ReadonlyMap<string, T>; fresh: boolean }> {
    const { inventory } = request;
    const known = isRefresh ? undefined : inventory.known(request);
    try {
      const listed = known ?? (await inventory.ask(request, AbortSignal.timeout(TIMEOUT_MS)));
      return { byTool: this.#in(listed), fresh: known === undefined };
    } catch {
      return { byTool: new Map(), fresh: true };
    }
  }

  #in(listed: Listed): ReadonlyMap<string, T> {
    let byTool = this.#byTool.get(listed);
    if (byTool === undefined) {
      byTool = new Map(this.#read(listed.result));
      this.#byTool.set(listed, byTool);
    }
    return byTool;
  }
}
