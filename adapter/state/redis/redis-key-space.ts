import { randomUUID } from 'node:crypto';
import { script } from './lua-scripts.ts';
import type { RedisConnection } from './redis-connection.ts';
import { StoreUnavailable } from '../state-store.ts';

/** What tells the adapter of a replica from other adapters. */
export interface AdapterIdentity {
  /** `MCP_ADAPTER_NAME`, the same at all replicas of one adapter; null where nobody has named it. */
  readonly name: string | null;
  /** Server id → origin of its upstream. */
  readonly servers: Readonly<Record<string, string>>;
}

/** The keys belong to another adapter, of which a replica lives. */
export class KeySpaceTaken extends Error {
  override readonly name = 'KeySpaceTaken';
}

/** A replica that says nothing for so long does not count any more. */
const SHORTEST_TTL_MS = 60_000;

const CLAIM = script('store/claim-key-space');

/**
 * Keeps two adapters from sharing one key space in Redis, where each would take the other's sessions, files and messages
 * for its own. All replicas of one adapter are welcome, also while an update adds, removes or changes servers: those with
 * names are told apart by them. Without names two adapters are the same when they have a server in common and no id means
 * two upstreams.
 */
export class RedisKeySpace {
  readonly #connection: Pick<RedisConnection, 'script' | 'run'>;
  readonly #keyBase: string;
  readonly #key: string;
  readonly #own: AdapterIdentity;
  readonly #ttlMs: number;
  readonly #replica = randomUUID();
  #isHeld = false;

  /** @param renewMs how often `claim` is called */
  constructor(
    connection: Pick<RedisConnection, 'script' | 'run'>,
    { keyBase, own, renewMs }: { keyBase: string; own: AdapterIdentity; renewMs: number },
  ) {
    this.#connection = connection;
    this.#keyBase = keyBase;
    this.#key = `${keyBase}:replicas`;
    this.#own = own;
    this.#ttlMs = Math.ceil(Math.max(SHORTEST_TTL_MS, 3 * renewMs));
  }

  /**
   * Notes that this replica uses the keys, until it does not say so for a while. Throws KeySpaceTaken when they are another
   * adapter's; once it has had them, StoreUnavailable, because then it can do without them as in any outage.
   */
  async claim(): Promise<void> {
    const values = [this.#replica, JSON.stringify(this.#own), this.#ttlMs];
    const other = await this.#connection.script(CLAIM, [this.#key], values, 'now');
    if (other === '') {
      this.#isHeld = true;
      return;
    }
    const message = this.#taken(JSON.parse(String(other)) as AdapterIdentity);
    throw this.#isHeld ? new StoreUnavailable(message) : new KeySpaceTaken(message);
  }

  /** Others need not wait until the note has expired. */
  async release(): Promise<void> {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    await this.#connection.run((redis) => redis.hdel(this.#key, this.#replica), 'now');
  }

  #taken(other: AdapterIdentity): string {
    const example = this.#own.name === null ? 'my-adapter' : `mcp:${this.#own.name}`;
    return (
      `the keys "${this.#keyBase}" in Redis belong to another adapter: they are used by ${described(other)}, and this is ` +
      `${described(this.#own)}. Set state_persistence.redis.key_base of one of them to something else, such as ` +
      `"${example}"; or, if they are replicas of one adapter, set MCP_ADAPTER_NAME to the same value at all of them`
    );
  }
}

function described({ name, servers }: AdapterIdentity): string {
  const ids = Object.keys(servers).sort();
  const some = ids.slice(0, 5).join(', ') + (ids.length > 5 ? ', …' : '');
  return `${name ?? 'an adapter without a name'} (servers ${some})`;
}
