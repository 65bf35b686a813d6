import { contentHash, hashOf } from '../kubernetes/content-hash.ts';
import { type ExactField, ExactFields } from './exact-fields.ts';
import { isAppliedBy, lastManager } from './field-ownership.ts';
import { HandOver, onto, type SharedField } from './field-ownership-transfer.ts';
import { ApiError, type KubernetesApi, type KubernetesObject, type Resource } from '../kubernetes/kubernetes.ts';
import { type Ownership, canBeTakenBack, prunable, standing } from './ownership.ts';
import type { Key } from '../kubernetes/reconciler.ts';
import { DENIED_FOR_MS, failureOf, isDenied, refusalOf } from '../kubernetes/refusal.ts';
import { Repairs } from './repairs.ts';
import { isOlder } from '../kubernetes/resource-version.ts';
import { withoutManagedFields, withoutNulls } from '../kubernetes/without-fields.ts';

/** An object as it is to be, without owner references. */
export interface Desired {
  readonly resource: Resource;
  readonly object: KubernetesObject;
  /** Whether it gets the family's owner references, and so goes when they are gone. */
  readonly owned: boolean;
}

export interface Existing {
  readonly resource: Resource;
  readonly object: KubernetesObject;
}

/** The objects that one key's reconcile makes. */
export interface Family {
  readonly key: Key;
  readonly ownership: Ownership;
  /** What exists with the family's labels, as the caches show it. What is not among them is looked up. */
  readonly existing: readonly Existing[];
}

/**
 * - `waiting`: it is being deleted, or was changed under our hands; a later attempt will do.
 * - `conflict`: an object of that name exists that is not ours. It was not touched.
 * - `refused`: the API server will not have it; it is not asked again for a while unless something changes.
 * - `contested`: someone changes it again and again, and it is put back after a while.
 * - `blocked`: not tried, because one before it in the list could not be applied.
 */
export type Outcome =
  | 'created'
  | 'changed'
  | 'unchanged'
  | 'deleted'
  | 'waiting'
  | 'conflict'
  | 'refused'
  | 'contested'
  | 'blocked';

export interface Applied {
  readonly resource: Resource;
  readonly name: string;
  readonly outcome: Outcome;
  /** For people: why it was not applied. */
  readonly message?: string;
  /** As the API server gave it last. */
  readonly object?: KubernetesObject;
  /** For people: who changes it again and again; when it was put back, or waits for it. */
  readonly contest?: string;
  readonly retryAfterMs?: number;
}

export interface ApplyReport {
  readonly objects: readonly Applied[];
  /** Everything is as desired. */
  readonly settled: boolean;
  /** When to try again. */
  readonly requeueAfterMs?: number;
  /** To be thrown once the status tells of it: trying again may help, but has not for a while. */
  readonly failure?: ApiError;
}

/** What was applied to one object, and what came of it: while both stay, there is nothing to write. */
interface Memory {
  readonly uid: string | undefined;
  readonly desired: string;
  readonly live: string;
  readonly resourceVersion: string | undefined;
  /** What the API server answered, until the caches show it. */
  written?: KubernetesObject | undefined;
  readonly refusal?: Refusal;
}

interface Refusal {
  readonly message: string;
  readonly since: number;
  /** It is not asked again before. */
  readonly until: number;
}

const WAIT_MS = 2_000;
/** A quota or a policy may change without our being told. */
const REFUSED_MS = 60_000;
const CONFLICT_MS = 60_000;
/** After so long an error is told of. */
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
  readonly #handOver: HandOver;
  readonly #exact: ExactFields;
  readonly #repairs: Repairs;
  readonly #now: () => number;
  readonly #memory = new Map<string, Map<string, Memory>>();
  /** Since when reconciles of a key have failed. */
  readonly #failing = new Map<string, number>();

  constructor(options: {
    api: KubernetesApi;
    fieldManager: string;
    handOver?: readonly SharedField[];
    exact?: readonly ExactField[];
    /** Milliseconds of a clock that only goes forward. */
    now?: () => number;
  }) {
    this.#api = options.api;
    this.#fieldManager = options.fieldManager;
    this.#handOver = new HandOver(options.api, options.fieldManager, options.handOver ?? []);
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
    const existing = new Map(family.existing.map((one) => [idOf(one.resource, one.object), one.object]));
    const objects: Applied[] = [];
    let blocked = false;
    for (const one of desired) {
      signal.throwIfAborted();
      const id = idOf(one.resource, one.object);
      let applied: Applied = { ...nameOf(one), outcome: 'blocked' };
      try {
        if (!blocked) applied = await this.#applyOne(one, existing.get(id), family, memory, signal);
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
    this.#failing.delete(textOf(family.key));
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
    this.#memory.delete(textOf(key));
    this.#failing.delete(textOf(key));
  }

  /** Number of objects remembered. */
  get size(): number {
    return [...this.#memory.values()].reduce((sum, one) => sum + one.size, 0);
  }

  /** A control plane that restarts answers so for a moment, which is no news for a status. */
  #lasts(error: unknown, key: Key): error is ApiError {
    if (!(error instanceof ApiError)) return false;
    const since = this.#failing.get(textOf(key)) ?? this.#now();
    this.#failing.set(textOf(key), since);
    return this.#now() - since >= LASTS_MS;
  }

  #memoryOf(key: Key, desired: readonly Desired[]): Map<string, Memory> {
    const id = textOf(key);
    const wanted = new Set(desired.map(({ resource, object }) => idOf(resource, object)));
    const kept = [...(this.#memory.get(id) ?? [])].filter(([child]) => wanted.has(child));
    const memory = new Map(kept);
    this.#memory.set(id, memory);
    return memory;
  }

  async #applyOne(
    desired: Desired,
    cached: KubernetesObject | undefined,
    family: Family,
    memory: Map<string, Memory>,
    signal: AbortSignal,
  ): Promise<Applied> {
    const object = withOwners(desired, family.ownership);
    // A cache may be behind, or not see objects that lack our labels.
    let live = cached ?? (await this.#api.get(desired.resource, object.metadata, signal));
    for (let attempt = 0; ; attempt++) {
      const inTheWay = await this.#obstacle(live, desired, family.ownership, signal);
      if (inTheWay !== undefined) return inTheWay;
      const before = memory.get(idOf(desired.resource, object));
      const known = this.#recall(before, object, live);
      if (known !== undefined) return { ...nameOf(desired), ...known };
      const isRepair = before?.refusal === undefined && before?.desired === hashOf(object);
      signal.throwIfAborted();
      try {
        if (isRepair) return await this.#repair(desired, object, live, memory, signal);
        return await this.#write(desired, object, live, memory, signal);
      } catch (error) {
        if (!isConflict(error)) throw error;
        // Someone made, deleted or changed it at the same time.
        if (attempt > 0) return { ...nameOf(desired), outcome: 'waiting', message: error.message };
        live = await this.#api.get(desired.resource, object.metadata, signal);
      }
    }
  }

  async #obstacle(
    live: KubernetesObject | undefined,
    desired: Desired,
    ownership: Ownership,
    signal: AbortSignal,
  ): Promise<Applied | undefined> {
    const found = obstacle(live, desired, ownership);
    if (found?.outcome !== 'conflict' || live === undefined || !canBeTakenBack(live, ownership)) return found;
    // Caches carry no managed fields.
    const fresh = await this.#api.get(desired.resource, desired.object.metadata, signal);
    if (fresh === undefined || fresh.metadata.uid !== live.metadata.uid) return found;
    return isAppliedBy(fresh, this.#fieldManager) ? undefined : found;
  }

  /** Puts back what somebody else has changed, less and less often when that goes on. */
  async #repair(
    desired: Desired,
    object: KubernetesObject,
    live: KubernetesObject | undefined,
    memory: Map<string, Memory>,
    signal: AbortSignal,
  ): Promise<Applied> {
    const id = idOf(desired.resource, object);
    const waitMs = this.#repairs.waitMs(id);
    if (waitMs > 0) return { ...nameOf(desired), outcome: 'contested', object: live, retryAfterMs: waitMs };
    const isContested = this.#repairs.isContested(id);
    const rival = isContested ? await this.#api.get(desired.resource, object.metadata, signal) : undefined;
    const applied = await this.#write(desired, object, live, memory, signal);
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

  /** What came of the last attempt, when another one could bring nothing new. */
  #recall(
    memory: Memory | undefined,
    object: KubernetesObject,
    live: KubernetesObject | undefined,
  ): Pick<Applied, 'outcome' | 'message' | 'object'> | undefined {
    if (memory === undefined || memory.desired !== hashOf(object) || memory.uid !== live?.metadata.uid)
      return undefined;
    // A cache that is behind shows what was there before our own write; its news will come.
    const behind = isOlder(live?.metadata.resourceVersion, memory.resourceVersion);
    if (!behind && memory.live !== liveHash(live)) return undefined;
    // Without `delete`, which would turn thousands of these into hash tables.
    if (!behind) memory.written = undefined;
    // The object from before would tell of pods that were made from another spec.
    if (memory.refusal === undefined) return { outcome: 'unchanged', object: memory.written ?? live };
    if (this.#now() >= memory.refusal.until) return undefined;
    return { outcome: 'refused', message: memory.refusal.message, object: live };
  }

  async #write(
    desired: Desired,
    object: KubernetesObject,
    live: KubernetesObject | undefined,
    memory: Map<string, Memory>,
    signal: AbortSignal,
  ): Promise<Applied> {
    const { resource } = desired;
    const id = idOf(resource, object);
    try {
      if (live !== undefined) await this.#handOver.before(object, resource, live, signal);
      const result = await this.#applyExactly(object, resource, live, signal);
      const hash = contentHash(result);
      memory.set(id, {
        uid: result.metadata.uid,
        desired: hashOf(object),
        live: hash,
        resourceVersion: result.metadata.resourceVersion,
        // Only what was changed comes back as a change of the caches.
        written:
          result.metadata.resourceVersion === live?.metadata.resourceVersion ? undefined : withoutManagedFields(result),
      });
      const outcome = live === undefined ? 'created' : hash === liveHash(live) ? 'unchanged' : 'changed';
      return { ...nameOf(desired), outcome, object: result };
    } catch (error) {
      const message = refusalOf(error, resource, object.metadata.name);
      if (message === undefined) throw error;
      const since = memory.get(id)?.refusal?.since ?? this.#now();
      const isBelieved = !isDenied(error) || this.#now() - since >= DENIED_FOR_MS;
      memory.set(id, {
        uid: live?.metadata.uid,
        desired: hashOf(object),
        live: liveHash(live),
        resourceVersion: live?.metadata.resourceVersion,
        refusal: { message, since, until: isBelieved ? this.#now() + REFUSED_MS : -Infinity },
      });
      if (!isBelieved) throw error;
      return { ...nameOf(desired), outcome: 'refused', message, object: live };
    }
  }

  async #applyExactly(
    object: KubernetesObject,
    resource: Resource,
    live: KubernetesObject | undefined,
    signal: AbortSignal,
  ): Promise<KubernetesObject> {
    const { name, namespace } = object.metadata;
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
      if (live === undefined || !isInvalid(error)) throw error;
      const fresh = await this.#api.get(resource, { name, namespace }, signal);
      signal.throwIfAborted();
      if (fresh === undefined || (await this.#exact.restore(object, resource, fresh)) === undefined) throw error;
      return apply();
    }
  }

  async #prune(desired: readonly Desired[], family: Family, signal: AbortSignal): Promise<Applied[]> {
    const wanted = new Set(desired.map(({ resource, object }) => idOf(resource, object)));
    const deleted: Applied[] = [];
    for (const { resource, object } of family.existing) {
      if (wanted.has(idOf(resource, object)) || object.metadata.deletionTimestamp !== undefined) continue;
      if (!prunable(object, family.ownership)) continue;
      signal.throwIfAborted();
      await this.#api.delete(resource, object.metadata, { uid: object.metadata.uid });
      deleted.push({ ...nameOf({ resource, object }), outcome: 'deleted' });
    }
    return deleted;
  }
}

const UNSETTLED: ReadonlyMap<Outcome, number> = new Map([
  ['waiting', WAIT_MS],
  ['conflict', CONFLICT_MS],
  ['refused', REFUSED_MS],
]);

function obstacle(live: KubernetesObject | undefined, desired: Desired, ownership: Ownership): Applied | undefined {
  if (live === undefined) return undefined;
  const named = { ...nameOf(desired), object: live };
  const name = `${desired.resource.kind} ${desired.object.metadata.name}`;
  const whose = standing(live, ownership);
  if (whose === 'foreign') {
    return { ...named, outcome: 'conflict', message: `${name} exists already and was made by someone else` };
  }
  if (whose === 'predecessor') {
    return {
      ...named,
      outcome: 'waiting',
      message: `${name} of the resource that had this name before is still there`,
    };
  }
  if (live.metadata.deletionTimestamp === undefined) return undefined;
  return { ...named, outcome: 'waiting', message: `${name} is being deleted` };
}

function withOwners({ object, owned }: Desired, { owners }: Ownership): KubernetesObject {
  const metadata = owned && owners.length > 0 ? { ...object.metadata, ownerReferences: owners } : object.metadata;
  return withoutNulls({ ...object, metadata }) as KubernetesObject;
}

function liveHash(live: KubernetesObject | undefined): string {
  return live === undefined ? '' : contentHash(live);
}

function nameOf({ resource, object }: Existing): Pick<Applied, 'resource' | 'name'> {
  return { resource, name: object.metadata.name };
}

const textOf = ({ namespace, name }: Key): string => `${namespace}/${name}`;

function idOf(resource: Resource, object: KubernetesObject): string {
  return `${resource.apiVersion}/${resource.kind}/${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

function isInvalid(error: unknown): boolean {
  return error instanceof ApiError && error.code === 422;
}

function isConflict(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 409;
}
