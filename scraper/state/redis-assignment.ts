import { setTimeout as delay } from 'node:timers/promises';
import type { Assignment, AssignmentOptions } from './assignment.ts';
import type { Fence } from './ledger.ts';
import { BEAT, CLAIM, LEAVE, RELEASE } from './redis-assignment-scripts.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import { podOf } from './rendezvous.ts';

/** Together: sources of a dead pod run elsewhere after 13 s. */
const LEASE_MS = 10_000;
const BEAT_MS = 3_000;
const SOURCES_AT_ONCE = 200;

export interface RedisAssignmentOptions extends AssignmentOptions {
  /**
   * Unique for this process: a pod that starts again is another pod. `SHARD/…` for a pod of a shard, which shares its
   * sources only with pods of the same one.
   */
  readonly pod: string;
  /** Milliseconds of a clock that only runs forwards. */
  readonly clock: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * Sources shared out among live pods. A pod is alive while it renews its lease; a source belongs to its owner while
 * this lives, and each new owner has a higher token, without which the ledger takes nothing.
 */
export class RedisAssignment implements Assignment {
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;
  readonly #options: RedisAssignmentOptions;
  readonly #held = new Map<string, Fence>();
  /** How often something had been asked for about what is held. */
  readonly #asked = new Map<string, string>();
  /** Sources that are on their way to another pod. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** Sources that this pod has done with and is still the owner of. */
  readonly #unreleased = new Set<string>();
  readonly #stopped = new AbortController();
  #pods: readonly string[] = [];
  /** When this pod's lease ends at the earliest, by its own clock. */
  #leaseEnd = Number.NEGATIVE_INFINITY;
  #beating: Promise<void> | undefined;
  #loop: Promise<void> | undefined;

  constructor(connection: RedisConnection, keys: RedisKeys, options: RedisAssignmentOptions) {
    this.#connection = connection;
    this.#keys = keys;
    this.#options = options;
  }

  async start(): Promise<void> {
    const first = this.refresh();
    this.#loop = this.#beatOnAndOn(first);
    await first;
  }

  fence(source: string): Fence | undefined {
    return this.#options.clock() < this.#leaseEnd ? this.#held.get(source) : undefined;
  }

  /** One at a time; who asks while one is under way gets the next one. */
  async refresh(): Promise<void> {
    const before = this.#beating;
    const next = (async () => {
      await before?.catch(() => undefined);
      if (!this.#stopped.signal.aborted) await this.#beat();
    })();
    this.#beating = next;
    await next;
  }

  pods(): readonly string[] {
    return this.#pods;
  }

  async stop(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort();
    await this.#loop;
    await this.#beating?.catch(() => undefined);
    this.#leaseEnd = Number.NEGATIVE_INFINITY;
    this.#held.clear();
    await Promise.all(this.#leaving.values());
    // What is not given back is free as soon as the pod has left; at the latest when its lease ends.
    await this.#connection.run(LEAVE, [this.#keys.pods], [this.#options.pod]).catch(this.#options.onError);
  }

  async #beatOnAndOn(first: Promise<void>): Promise<void> {
    const { signal } = this.#stopped;
    // Its failure is told to the caller of start.
    await first.catch(() => undefined);
    while (!signal.aborted) {
      await delay(BEAT_MS, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.refresh().catch(this.#options.onError);
    }
  }

  async #beat(): Promise<void> {
    const { pod, clock, sources } = this.#options;
    const sentAt = clock();
    const reply = await this.#connection.run(BEAT, [this.#keys.pods], [pod, LEASE_MS]);
    // Those of other shards have other sources; that they live matters when a source moves from shard to shard.
    const pods = Array.isArray(reply) ? reply.map(String).filter((one) => shardOf(one) === shardOf(pod)) : [];
    this.#pods = pods;
    const mine = sources().filter((source) => podOf(source, pods) === pod);
    const wanted = new Set(mine.filter((source) => !this.#leaving.has(source)));
    for (const source of wanted) this.#unreleased.delete(source);
    await this.#release([...this.#unreleased]);
    const claims = await this.#claim([...new Set([...wanted, ...this.#held.keys()])], wanted);
    // What was held is checked before it counts again: the lease may have been over.
    const others = [...this.#held].filter(([source, held]) => claims.get(source)?.token !== held.token);
    for (const [source] of others) this.#held.delete(source);
    this.#leaseEnd = sentAt + LEASE_MS;
    for (const [source] of others) this.#leave(source);
    for (const source of this.#held.keys()) if (!wanted.has(source)) this.#leave(source);
    for (const source of wanted) {
      const claim = claims.get(source);
      if (claim === undefined || this.#leaving.has(source)) continue;
      const asked = this.#asked.get(source);
      this.#asked.set(source, claim.asked);
      if (!this.#held.has(source)) {
        this.#held.set(source, { token: claim.token });
        this.#options.gained(source);
      } else if (claim.asked !== asked) this.#options.asked?.(source);
    }
  }

  /** What is known of each source that is this pod's; nothing of those of others. Takes what is wanted and free. */
  async #claim(sources: readonly string[], wanted: ReadonlySet<string>): Promise<Map<string, Claim>> {
    const claims = new Map<string, Claim>();
    for (let index = 0; index < sources.length; index += SOURCES_AT_ONCE) {
      const part = sources.slice(index, index + SOURCES_AT_ONCE);
      const keys = [this.#keys.pods, ...part.map((source) => this.#keys.owner(source))];
      const wants = part.map((source) => (wanted.has(source) ? '1' : '0'));
      const reply = await this.#connection.run(CLAIM, keys, [this.#options.pod, ...wants]);
      for (const [at, source] of part.entries()) {
        const [token = '', asked = ''] = Array.isArray(reply) ? String(reply[at] ?? '').split(' ') : [];
        if (token !== '') claims.set(source, { token: BigInt(token), asked });
      }
    }
    return claims;
  }

  #leave(source: string): void {
    if (this.#leaving.has(source)) return;
    const { lost, onError } = this.#options;
    const left = (async () => {
      try {
        await lost(source);
      } catch (error) {
        onError(error);
      }
      this.#held.delete(source);
      this.#leaving.delete(source);
      this.#unreleased.add(source);
      await this.#release([source]).catch(onError);
    })();
    this.#leaving.set(source, left);
  }

  /** Until this has worked, no other pod can have the source. */
  async #release(sources: readonly string[]): Promise<void> {
    for (const source of sources) {
      await this.#connection.run(RELEASE, [this.#keys.owner(source)], [this.#options.pod]);
      this.#unreleased.delete(source);
    }
  }
}

interface Claim extends Fence {
  /** How often something was asked for. */
  readonly asked: string;
}

const shardOf = (pod: string): string => pod.slice(0, pod.lastIndexOf('/') + 1);
