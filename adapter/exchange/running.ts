import type { ErrorCode } from '../errors.ts';

/** An exchange that can be ended from outside. */
export interface Running {
  readonly id: string;
  /** JSON texts of the ids of its requests; empty for a GET stream. */
  readonly idTexts: readonly string[];
  readonly isGet: boolean;
  finish(code: ErrorCode): void;
  endStream(): void;
}

/** The exchanges that run on this replica, by session. What other replicas ask for is done to them. */
export class RunningExchanges {
  readonly #bySession = new Map<string, Set<Running>>();
  readonly #sessionless = new Set<Running>();
  #posts = 0;
  #idle: (() => void)[] = [];

  add(serverId: string, sessionId: string | undefined, running: Running): void {
    if (!running.isGet) this.#posts++;
    if (sessionId === undefined) {
      this.#sessionless.add(running);
      return;
    }
    const key = `${serverId}\n${sessionId}`;
    const set = this.#bySession.get(key);
    if (set === undefined) this.#bySession.set(key, new Set([running]));
    else set.add(running);
  }

  delete(serverId: string, sessionId: string | undefined, running: Running): void {
    if (!running.isGet && --this.#posts === 0) for (const wake of this.#idle.splice(0)) wake();
    if (sessionId === undefined) {
      this.#sessionless.delete(running);
      return;
    }
    const key = `${serverId}\n${sessionId}`;
    const set = this.#bySession.get(key);
    set?.delete(running);
    if (set?.size === 0) this.#bySession.delete(key);
  }

  of(serverId: string, sessionId: string): Running[] {
    return [...(this.#bySession.get(`${serverId}\n${sessionId}`) ?? [])];
  }

  all(): Running[] {
    return [...this.#sessionless, ...[...this.#bySession.values()].flatMap((set) => [...set])];
  }

  /** Exchanges that answer a POST; GET streams are not counted. */
  get posts(): number {
    return this.#posts;
  }

  /** Resolves when no POST is being answered, or when the signal ends the wait. */
  async idle(signal: AbortSignal): Promise<void> {
    if (this.#posts === 0 || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
  }
}
