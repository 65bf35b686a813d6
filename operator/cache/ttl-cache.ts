import { ApiError, type KubernetesApi, type KubernetesObject, type Resource } from '../kubernetes/kubernetes.ts';
import { type Key, keyText } from '../kubernetes/key.ts';
import { DENIED_FOR_MS, isDenied } from '../kubernetes/refusal.ts';

interface Known {
  readonly object: KubernetesObject | undefined;
  readonly until: number;
  /** Since when it may not be read; undefined when it may. */
  readonly deniedSince: number | undefined;
}

/** While it is not clear yet whether it may be read. */
const DENIED_AGAIN_MS = 1_000;
/** Nobody asks for it more often than an adapter is looked at. */
const KEPT_FOR_DENIALS_MS = 60_000;

/**
 * Objects of others that are read by name and kept for a while: too many to be watched for the few that matter. One that
 * may not be read counts as missing.
 */
export class TtlCache {
  readonly #api: Pick<KubernetesApi, 'get'>;
  readonly #resource: Resource;
  readonly #keepMs: number;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();

  constructor(options: {
    api: Pick<KubernetesApi, 'get'>;
    resource: Resource;
    keepMs: number;
    /** Milliseconds of a clock that only goes forward. */
    now?: () => number;
  }) {
    this.#api = options.api;
    this.#resource = options.resource;
    this.#keepMs = options.keepMs;
    this.#now = options.now ?? (() => performance.now());
  }

  /** @throws the error of the API server or the transport, but for an object that may not be read */
  async get(key: Key, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const text = keyText(key);
    const known = this.#known.get(text);
    if (known !== undefined && this.#now() < known.until) return known.object;
    const next = await this.#read(key, known, signal);
    this.#dropOld();
    this.#known.set(text, next);
    return next.object;
  }

  /** Whether what was read last may not be read, so that it is not known whether it is there. */
  unreadable(key: Key): boolean {
    const known = this.#known.get(keyText(key));
    return known?.deniedSince !== undefined && known.object === undefined;
  }

  async #read(key: Key, known: Known | undefined, signal: AbortSignal): Promise<Known> {
    const keep = (object: KubernetesObject | undefined): Known => ({
      object,
      until: this.#now() + this.#keepMs,
      deniedSince: undefined,
    });
    try {
      return keep(await this.#api.get(this.#resource, key, signal));
    } catch (error) {
      if (isDenied(error)) return this.#denied(known);
      // Names in configurations need not be names of objects.
      if (error instanceof ApiError && [400, 403, 422].includes(error.code)) return keep(undefined);
      throw error;
    }
  }

  /** What was known holds until the denial has lasted. */
  #denied(known: Known | undefined): Known {
    const now = this.#now();
    const deniedSince = known?.deniedSince ?? now;
    if (now - deniedSince >= DENIED_FOR_MS) return { object: undefined, until: now + this.#keepMs, deniedSince };
    return { object: known?.object, until: now + Math.min(DENIED_AGAIN_MS, this.#keepMs), deniedSince };
  }

  #dropOld(): void {
    const now = this.#now();
    for (const [text, { until }] of this.#known) if (until + KEPT_FOR_DENIALS_MS <= now) this.#known.delete(text);
  }
}
