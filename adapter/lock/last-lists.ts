import type { LockKind } from '../../crds/config/lock-file/lock-document.ts';

/** A thousand tools with long descriptions. What is longer is compared again when somebody lists it. */
const MAX_KEPT_CHARS = 2 << 20;

/** What a server said last, to be compared with the next lock without asking it. */
export class LastLists {
  readonly #lists = new Map<LockKind, string>();
  #greeting: { readonly instructions: string | undefined } | undefined;

  /** @param list the upstream's whole list, JSON text */
  keep(kind: LockKind, list: string): void {
    if (list.length <= MAX_KEPT_CHARS) this.#lists.set(kind, list);
    else this.#lists.delete(kind);
  }

  /** @param instructions JSON text; undefined where the server has none */
  greeted(instructions: string | undefined): void {
    const isKept = (instructions?.length ?? 0) <= MAX_KEPT_CHARS;
    this.#greeting = isKept ? { instructions } : undefined;
  }

  get lists(): readonly (readonly [kind: LockKind, list: string])[] {
    return [...this.#lists];
  }

  /** Undefined before it said anything of itself. */
  get greeting(): { readonly instructions: string | undefined } | undefined {
    return this.#greeting;
  }
}
