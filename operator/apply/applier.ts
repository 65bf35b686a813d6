import { hashOf } from '../kubernetes/content-hash.ts';
import { ApiError, type KubernetesApi, type KubernetesObject } from '../kubernetes/kubernetes.ts';
import { type Key, keyText } from '../kubernetes/key.ts';
import { DENIED_FOR_MS, failureOf, isDenied, refusalOf } from '../kubernetes/refusal.ts';
import { withoutNulls } from '../kubernetes/without-fields.ts';
import { type ApplyMemory, afterRefusal, afterWrite, liveHash, recall } from './apply-memory.ts';
import {
  type Applied,
  type ApplyReport,
  type Desired,
  type Existing,
  type Family,
  type Outcome,
  idOf,
  nameOf,
} from './desired.ts';
import { type ExactField, ExactFields } from './exact-fields.ts';
import { FieldOwnershipTransfer, onto, type TransferredField } from './field-ownership-transfer.ts';
import { isAppliedBy, lastManager } from './field-ownership.ts';
import { obstacleTo } from './obstacle.ts';
import { type Ownership, canBeTakenBack, prunable } from './ownership.ts';
import { Repairs } from './repairs.ts';

/** One object, and what there is to know for writing it. */
interface Attempt {
  readonly desired: Desired;
  /** With its owners. */
  readonly object: KubernetesObject;
  readonly live: KubernetesObject | undefined;
  readonly ownership: Ownership;
  readonly memory: Map<string, ApplyMemory>;
  readonly signal: AbortSignal;
}

const WAIT_MS = 2_000;
/** A quota or a policy may change, and no watch shows it. */
const REFUSED_MS = 60_000;
const CONFLICT_MS = 60_000;
/** An error that lasts this long goes into the status. */
const LASTS_MS = 10_000;

/**
 * Applies families of objects by server-side apply: own fields are taken, everything else on an object stays as others
 * wrote it. One applier for each controller, because it remembers by key.
 *
 * An object is written only when what is desired has changed, or what lives has changed since. After a start one apply
 * for each object finds that out, which the API server answers without writing.
 */
export class Applier {
  readonly #api: KubernetesApi;
  readonly #fieldManager: string;
  readonly #transfer: FieldOwnershipTransfer;
  readonly #exact: ExactFields;
  readonly #repairs: Repairs;
  readonly #now: () => number;
  readonly #memory = new Map<string, Map<string, ApplyMemory>>();
  /** Since when reconciles of a key have failed. */
  readonly #failing = new Map<string, number>();

  constructor(options: {
    api: KubernetesApi;
    fieldManager: string;
    transferredFields?: readonly TransferredField[];
    exact?: readonly ExactField[];
    /** Milliseconds of a clock that only goes forward. */
    now?: () => number;
  }) {
    this.#api = options.api;
    this.#fieldManager = options.fieldManager;
    this.#transfer = new FieldOwnershipTransfer(options.api, options.fieldManager, options.transferredFields ?? []);
    this.#exact = new ExactFields(options.api, options.exact ?? []);
    this.#now = options.now ?? (() => performance.now());
    this.#repairs = new Repairs(this.#now);
  }

  /**
   * Applies in the order of the list, each only when those before it are in place, and then deletes what exists of the
   * family and is no longer in the list.
   * @throws the error of the transport, that of the API server as long as it is new, or the reason of `signal`
   */
  async apply(desired: readonly Desired[], family: Family, signal: AbortSignal): Promise<ApplyReport> {
    const memory = this.#memoryOf(family.key, desired);
    const existing = new Map(family.existing.map((one) => [idOf(one), one.object]));
    const objects: Applied[] = [];
    let blocked = false;
    for (const one of desired) {
      signal.throwIfAborted();
      let applied: Applied = { ...nameOf(one), outcome: 'blocked' };
      try {
        if (!blocked) applied = await this.#applyOne(one, existing.get(idOf(one)), family, memory, signal);
      } catch (error) {
        if (!this.#lasts(error, family.key)) throw error;
        const message = failureOf(error, one.resource, one.object.metadata.name);
        return {
          objects: [...objects, { ...nameOf(one), outcome: 'waiting', message }],
          settled: false,
          failure: error,
        };
      }
      blocked ||= UNSETTLED.has(applied.outcome);
      objects.push(applied);
    }
    this.#failing.delete(keyText(family.key));
    if (!blocked) objects.push(...(await this.#prune(desired, family, signal)));
    const waits = objects
      .map(({ outcome, retryAfterMs }) => retryAfterMs ?? UNSETTLED.get(outcome))
      .filter((wait) => wait !== undefined);
    return { objects, settled: !blocked, ...(waits.length === 0 ? {} : { requeueAfterMs: Math.min(...waits) }) };
  }

  /** Takes the owners of the family from an object, so that it stays when they go. */
  async disown({ resource, object }: Existing, { owners }: Ownership, signal: AbortSignal): Promise<void> {
    const live = await this.#api.get(resource, object.metadata, signal);
    const references = live?.metadata.ownerReferences ?? [];
    const others = references.filter(({ uid }) => !owners.some((owner) => owner.uid === uid));
    if (others.length === references.length) return;
    signal.throwIfAborted();
    const metadata = { resourceVersion: live?.metadata.resourceVersion, ownerReferences: others };
    await this.#api.merge({ metadata }, resource, object.metadata);
  }

  /** To be called when the resource of this key is gone. */
  forget(key: Key): void {
    this.#memory.delete(keyText(key));
    this.#failing.delete(keyText(key));
  }

  /** Number of objects remembered. */
  get size(): number {
    return [...this.#memory.values()].reduce((sum, one) => sum + one.size, 0);
  }

  /** A control plane that restarts answers so for a moment, which is no news for a status. */
  #lasts(error: unknown, key: Key): error is ApiError {
    if (!(error instanceof ApiError)) return false;
    const since = this.#failing.get(keyText(key)) ?? this.#now();
    this.#failing.set(keyText(key), since);
    return this.#now() - since >= LASTS_MS;
  }

  #memoryOf(key: Key, desired: readonly Desired[]): Map<string, ApplyMemory> {
    const id = keyText(key);
    const wanted = new Set(desired.map(idOf));
    const kept = [...(this.#memory.get(id) ?? [])].filter(([child]) => wanted.has(child));
    const memory = new Map(kept);
    this.#memory.set(id, memory);
    return memory;
  }

  async #applyOne(
    desired: Desired,
    cached: KubernetesObject | undefined,
    { ownership }: Family,
    memory: Map<string, ApplyMemory>,
    signal: AbortSignal,
  ): Promise<Applied> {
    const object = withOwners(desired, ownership);
    // A cache may be behind, or not see objects that lack our labels.
    let live = cached ?? (await this.#api.get(desired.resource, object.metadata, signal));
    for (let attempts = 0; ; attempts++) {
      const obstacle = await this.#obstacle(desired, live, ownership, signal);
      if (obstacle !== undefined) return obstacle;
      const before = memory.get(idOf(desired));
      const known = recall(before, object, live, this.#now());
      if (known !== undefined) return { ...nameOf(desired), ...known };
      const isRepair = before?.refusal === undefined && before?.desired === hashOf(object);
      signal.throwIfAborted();
      const attempt: Attempt = { desired, object, live, ownership, memory, signal };
      try {
        return isRepair ? await this.#repair(attempt) : await this.#write(attempt);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 409) throw error;
        // Someone made, deleted or changed it at the same time.
        if (attempts > 0) return { ...nameOf(desired), outcome: 'waiting', message: error.message };
        live = await this.#api.get(desired.resource, object.metadata, signal);
      }
    }
  }

  async #obstacle(
    desired: Desired,
    live: KubernetesObject | undefined,
    ownership: Ownership,
    signal: AbortSignal,
  ): Promise<Applied | undefined> {
    const found = obstacleTo(desired, live, ownership);
    if (found?.outcome !== 'conflict' || live === undefined || !canBeTakenBack(live, ownership)) return found;
    // Caches carry no managed fields.
    const fresh = await this.#api.get(desired.resource, desired.object.metadata, signal);
    if (fresh === undefined || fresh.metadata.uid !== live.metadata.uid) return found;
    return isAppliedBy(fresh, this.#fieldManager) ? undefined : found;
  }

  /** Puts back what somebody else has changed, less and less often when that goes on. */
  async #repair(attempt: Attempt): Promise<Applied> {
    const { desired, object, live, signal } = attempt;
    const id = idOf(desired);
    const waitMs = this.#repairs.waitMs(id);
    if (waitMs > 0) return { ...nameOf(desired), outcome: 'contested', object: live, retryAfterMs: waitMs };
    const isContested = this.#repairs.isContested(id);
    const rival = isContested ? await this.#api.get(desired.resource, object.metadata, signal) : undefined;
    const applied = await this.#write(attempt);
    if (applied.outcome === 'unchanged') return applied;
    this.#repairs.made(id);
    return isContested ? { ...applied, contest: this.#contest(desired, rival) } : applied;
  }

  #contest({ resource, object }: Desired, rival: KubernetesObject | undefined): string {
    const manager = rival === undefined ? undefined : lastManager(rival, this.#fieldManager);
    const who =
      manager === this.#fieldManager ? 'another operator that looks after the same namespace' : (manager ?? 'somebody');
    return (
      `${resource.kind} ${object.metadata.name} is changed again and again by ${who}; it is put back less and less ` +
      'often. Let only one of them look after it'
    );
  }

  async #write(attempt: Attempt): Promise<Applied> {
    const { desired, object, live, memory, signal } = attempt;
    const { resource } = desired;
    const id = idOf(desired);
    try {
      const whole = await wholeOf(attempt);
      if (whole === undefined) {
        const message = `${resource.kind} ${object.metadata.name} waits: what it is made from has changed`;
        return { ...nameOf(desired), outcome: 'waiting', message };
      }
      if (live !== undefined) await this.#transfer.before(whole, resource, live, signal);
      const result = await this.#applyExactly({ ...attempt, object: whole });
      memory.set(id, afterWrite(object, live, result, desired.whole !== undefined));
      const outcome = live === undefined ? 'created' : liveHash(result) === liveHash(live) ? 'unchanged' : 'changed';
      return { ...nameOf(desired), outcome, object: result };
    } catch (error) {
      const message = refusalOf(error, resource, object.metadata.name);
      if (message === undefined) throw error;
      const since = memory.get(id)?.refusal?.since ?? this.#now();
      const isBelieved = !isDenied(error) || this.#now() - since >= DENIED_FOR_MS;
      const until = isBelieved ? this.#now() + REFUSED_MS : -Infinity;
      memory.set(id, afterRefusal(object, live, { message, since, until }));
      if (!isBelieved) throw error;
      return { ...nameOf(desired), outcome: 'refused', message, object: live };
    }
  }

  async #applyExactly({ desired: { resource }, object, live, signal }: Attempt): Promise<KubernetesObject> {
    const apply = (): Promise<KubernetesObject> =>
      this.#api.apply(onto(object, live), resource, {
        fieldManager: this.#fieldManager,
        // Without force, an object that someone else made in this moment is not taken over.
        force: live !== undefined,
      });
    try {
      const result = await apply();
      signal.throwIfAborted();
      return (await this.#exact.restore(object, resource, result)) ?? result;
    } catch (error) {
      // What others added may be at odds with what we apply: a second port of the same name.
      if (live === undefined || !(error instanceof ApiError) || error.code !== 422) throw error;
      const fresh = await this.#api.get(resource, object.metadata, signal);
      signal.throwIfAborted();
      if (fresh === undefined || (await this.#exact.restore(object, resource, fresh)) === undefined) throw error;
      return apply();
    }
  }

  async #prune(desired: readonly Desired[], family: Family, signal: AbortSignal): Promise<Applied[]> {
    const wanted = new Set(desired.map(idOf));
    const deleted: Applied[] = [];
    for (const one of family.existing) {
      const { resource, object } = one;
      if (wanted.has(idOf(one)) || object.metadata.deletionTimestamp !== undefined) continue;
      if (!prunable(object, family.ownership)) continue;
      signal.throwIfAborted();
      await this.#api.delete(resource, object.metadata, { uid: object.metadata.uid });
      deleted.push({ ...nameOf(one), outcome: 'deleted' });
    }
    return deleted;
  }
}

const UNSETTLED: ReadonlyMap<Outcome, number> = new Map([
  ['waiting', WAIT_MS],
  ['conflict', CONFLICT_MS],
  ['refused', REFUSED_MS],
]);

async function wholeOf({ desired, object, ownership, signal }: Attempt): Promise<KubernetesObject | undefined> {
  if (desired.whole === undefined) return object;
  const whole = await desired.whole(signal);
  signal.throwIfAborted();
  return whole === undefined ? undefined : withOwners({ ...desired, object: whole }, ownership);
}

function withOwners({ object, owned }: Pick<Desired, 'object' | 'owned'>, { owners }: Ownership): KubernetesObject {
  const metadata = owned && owners.length > 0 ? { ...object.metadata, ownerReferences: owners } : object.metadata;
  return withoutNulls({ ...object, metadata }) as KubernetesObject;
}
