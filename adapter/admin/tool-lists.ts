import type { Mount } from '../mount/mount.ts';

type Listing = Pick<Mount, 'serverId'>;

interface Kept {
  readonly result: string;
  readonly at: number;
}

/** Whoever operates the adapter looks again and again; the upstream is asked this often at most. */
const KEEP_MS = 10_000;

/** The tools of upstreams as they list them to whoever brings nothing of their own, asked for by who operates the adapter. */
export class ToolLists<M extends Listing> {
  readonly #ask: (mount: M) => Promise<string>;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept>();
  readonly #asking = new Map<string, Promise<string>>();

  /** @param ask gives the JSON text of a tools/list result, or rejects, within a limit of its own */
  constructor(ask: (mount: M) => Promise<string>, now: () => number = () => performance.now()) {
    this.#ask = ask;
    this.#now = now;
  }

  /** JSON text of a tools/list result. Rejects as `ask` does. */
  async of(mount: M): Promise<string> {
    const kept = this.#kept.get(mount.serverId);
    if (kept !== undefined && this.#now() - kept.at < KEEP_MS) return kept.result;
    let asking = this.#asking.get(mount.serverId);
    if (asking === undefined) {
      asking = this.#ask(mount).finally(() => this.#asking.delete(mount.serverId));
      this.#asking.set(mount.serverId, asking);
    }
    const result = await asking;
    this.#kept.set(mount.serverId, { result, at: this.#now() });
    return result;
  }

  /** As `of`; undefined where the upstream takes longer than `limitMs`, or does not say. */
  async within(mount: M, limitMs: number): Promise<string | undefined> {
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), limitMs);
    try {
      return await Promise.race([this.of(mount).catch(() => undefined), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}
