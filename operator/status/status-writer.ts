import type { Condition } from '../../crds/v1alpha1/conditions.ts';
import { changedConditions, type DesiredCondition, mergeConditions } from './conditions.ts';
import { hashOf } from '../kubernetes/content-hash.ts';
import { ApiError, type KubernetesApi, type KubernetesObject, type Resource } from '../kubernetes/kubernetes.ts';
import { type Key, keyOf, keyText } from '../kubernetes/key.ts';
import { Repairs } from '../apply/repairs.ts';
import { isOlder } from '../kubernetes/resource-version.ts';

/** The whole status of an object as it is to be. Members that are left out are removed from it. */
export interface Status {
  readonly conditions: readonly DesiredCondition[];
  readonly [member: string]: unknown;
}

export interface StatusWritten {
  readonly written: boolean;
  /** What the conditions say that they did not say before. Nothing when the object is gone. */
  readonly changed: readonly Condition[];
  /** When to try again, in milliseconds: somebody writes something else again and again, and is answered seldom. */
  readonly retryAfterMs?: number;
}

interface Memory {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** Those that were written, until the cache shows them. */
  conditions: readonly Condition[] | undefined;
  /** Hash of the status as it was to be, without times; of what was sent, and of what the object had after it. */
  readonly wanted: string;
  readonly sent: string;
  readonly stored: string;
}

const UNWRITTEN: StatusWritten = { written: false, changed: [] };
/** What is forgotten costs one write that changes nothing. */
const MAX_REMEMBERED = 10_000;

/** Writes the status of objects, by server-side apply on /status, when it differs from what they show. */
export class StatusWriter {
  readonly #api: KubernetesApi;
  readonly #resource: Resource;
  readonly #fieldManager: string;
  readonly #now: () => Date;
  readonly #repairs: Repairs;
  readonly #memory = new Map<string, Memory>();

  constructor(options: {
    api: KubernetesApi;
    resource: Resource;
    fieldManager: string;
    /** For what people read in conditions. */
    now?: () => Date;
    /** Milliseconds of a clock that only goes forward: with one that is set back, nothing would be put back that long. */
    monotonic?: () => number;
  }) {
    this.#api = options.api;
    this.#resource = options.resource;
    this.#fieldManager = options.fieldManager;
    this.#now = options.now ?? (() => new Date());
    this.#repairs = new Repairs(options.monotonic ?? (() => performance.now()));
  }

  /**
   * @param object as the cache shows it; the conditions keep their times from it
   * @throws the error of the API server, but for an object that is gone
   */
  async write(object: KubernetesObject, status: Status, signal: AbortSignal): Promise<StatusWritten> {
    this.#letGo(object);
    let seen = object;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#write(seen, status, object.metadata.generation, signal);
      } catch (error) {
        if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error;
        // Changed since the cache looked; or deleted, and maybe made anew.
        const live = await this.#api.get(this.#resource, object.metadata, signal);
        if (live === undefined || live.metadata.uid !== object.metadata.uid) return UNWRITTEN;
        if (attempt > 0) throw error;
        seen = live;
      }
    }
  }

  async #write(
    object: KubernetesObject,
    status: Status,
    generation: number | undefined,
    signal: AbortSignal,
  ): Promise<StatusWritten> {
    const { name, namespace, uid } = object.metadata;
    const id = keyText(keyOf(object));
    const known = this.#memory.get(id)?.uid === uid ? this.#memory.get(id) : undefined;
    // A cache that has not seen our last write must not bring back its times.
    const behind = known !== undefined && isOlder(object.metadata.resourceVersion, known.resourceVersion);
    const before = (behind ? known.conditions : undefined) ?? conditionsOf(object);
    const stored = behind ? known.stored : hashOf(object['status'] ?? {});
    const resourceVersion = behind ? known.resourceVersion : object.metadata.resourceVersion;
    const conditions = mergeConditions(before, status.conditions, generation, this.#now());
    const next = asJson({ ...status, conditions });
    const sent = hashOf(next);
    if (sent === stored) return UNWRITTEN;
    // Someone else has added members of their own: what we last sent is in there still.
    if (known?.sent === sent && known.stored === stored) return UNWRITTEN;
    const wanted = hashOf(status);
    const isRepair = known?.wanted === wanted && known.stored !== stored;
    const retryAfterMs = isRepair ? this.#repairs.waitMs(id) : 0;
    if (retryAfterMs > 0) return { ...UNWRITTEN, retryAfterMs };
    signal.throwIfAborted();
    const { apiVersion, kind } = this.#resource;
    // With the version, an object that was made anew does not get the status of the old one; a uid is not looked at here.
    const result = await this.#api.apply(
      { apiVersion, kind, metadata: { name, namespace, resourceVersion }, status: next },
      this.#resource,
      { fieldManager: this.#fieldManager, subresource: 'status' },
    );
    this.#remember(id, {
      uid,
      resourceVersion: result.metadata.resourceVersion,
      conditions: conditionsOf(result),
      wanted,
      sent,
      stored: hashOf(result['status'] ?? {}),
    });
    if (isRepair) this.#repairs.made(id);
    return { written: true, changed: changedConditions(before, conditions) };
  }

  #remember(id: string, memory: Memory): void {
    this.#memory.delete(id);
    this.#memory.set(id, memory);
    const [oldest] = this.#memory.keys();
    if (this.#memory.size > MAX_REMEMBERED && oldest !== undefined) this.#memory.delete(oldest);
  }

  /** What the cache shows of an object need not be kept twice. */
  #letGo(object: KubernetesObject): void {
    const known = this.#memory.get(keyText(keyOf(object)));
    if (known !== undefined && !isOlder(object.metadata.resourceVersion, known.resourceVersion))
      known.conditions = undefined;
  }

  /** To be called when the object of this key is gone. */
  forget(key: Key): void {
    this.#memory.delete(keyText(key));
  }

  /** Number of objects remembered. */
  get size(): number {
    return this.#memory.size;
  }
}

function conditionsOf(object: KubernetesObject): readonly Condition[] {
  return (object['status'] as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ?? [];
}

/** As it is after its way to the API server: without undefined. */
function asJson(value: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}
