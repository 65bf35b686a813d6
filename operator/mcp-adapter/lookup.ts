import { ApiError, type KubernetesApi, type KubernetesObject, type Resource } from '../runtime/kubernetes.ts';
import type { Key } from '../runtime/reconciler.ts';

interface Known {
  readonly object: KubernetesObject | undefined;
  readonly until: number;
}

/**
 * Objects of others that are read by name and kept for a while: too many to be watched for the few that matter. One that
 * may not be read counts as missing.
 */
export class Lookup {
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
    const text = `${key.namespace}/${key.name}`;
    const known = this.#known.get(text);
    if (known !== undefined && this.#now() < known.until) return known.object;
    const object = await this.#read(key, signal);
    this.#dropOld();
    this.#known.set(text, { object, until: this.#now() + this.#keepMs });
    return object;
  }

  async #read(key: Key, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    try {
      return await this.#api.get(this.#resource, key, signal);
    } catch (error) {
      // Names in configurations need not be names of objects.
      if (error instanceof ApiError && [400, 403, 422].includes(error.code)) return undefined;
      throw error;
    }
  }

  #dropOld(): void {
    const now = this.#now();
    for (const [text, { until }] of this.#known) if (until <= now) this.#known.delete(text);
  }
}
