/** Points at which tools wait until a test lets them go on. Each has a name that the test chooses. */
export class Gates {
  readonly #arrived = new Map<string, PromiseWithResolvers<void>>();
  readonly #opened = new Map<string, PromiseWithResolvers<void>>();
  readonly #open = new Set<string>();

  /** Of the tool: says that it has come, and waits. Without a name it does not wait. */
  async pass(name: string | undefined, signal: AbortSignal): Promise<void> {
    if (name === undefined) return;
    const cancelled = Promise.withResolvers<never>();
    const cancel = (): void => cancelled.reject(signal.reason);
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    entry(this.#arrived, name).resolve();
    try {
      await Promise.race([entry(this.#opened, name).promise, cancelled.promise]);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Resolves when a tool has come to this gate. */
  arrived(name: string): Promise<void> {
    return entry(this.#arrived, name).promise;
  }

  /** Opens it for good. */
  open(name: string): void {
    this.#open.add(name);
    entry(this.#opened, name).resolve();
  }

  isOpen(name: string): boolean {
    return this.#open.has(name);
  }
}

function entry(map: Map<string, PromiseWithResolvers<void>>, name: string): PromiseWithResolvers<void> {
  const known = map.get(name) ?? Promise.withResolvers<void>();
  map.set(name, known);
  return known;
}
