import { hashOf } from '../kubernetes/content-hash.ts';
import type { ProbePool } from '../controllers/probe-pool.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { type Key, keyText } from '../kubernetes/key.ts';
import { textAt } from '../kubernetes/unstructured.ts';
import { type HealthSource, type PodClient, probeablePods } from './pod-client.ts';

/** What is known of the pods of one key. */
export interface KnownHealth<T> {
  /** What those said that answered when they were probed last. */
  readonly health: readonly T[];
  /** Whether all that may answer have been probed since they are there. */
  readonly isComplete: boolean;
}

interface Memory<T> {
  /** As the last look saw them. */
  pods: readonly KubernetesObject[];
  revision: string;
  /** What of them has been probed. */
  probed: string | undefined;
  probedAt: number;
  /** By pod; undefined for one that did not answer. */
  answers: ReadonlyMap<string, T | undefined>;
}

/** Between two looks at the same pods; events come faster than that. */
const FRESH_MS = 1_500;

/**
 * What pods said last. They are probed again, beside the queue, whenever somebody looks; when they say something new, the
 * key is told.
 */
export class PodHealthCache<T> {
  readonly #client: Pick<PodClient<T>, 'probe'>;
  readonly #source: HealthSource<T>;
  readonly #probePool: ProbePool;
  readonly #onNews: (key: Key) => void;
  readonly #now: () => number;
  readonly #known = new Map<string, Memory<T>>();

  constructor(options: {
    client: Pick<PodClient<T>, 'probe'>;
    source: HealthSource<T>;
    probePool: ProbePool;
    onNews: (key: Key) => void;
    /** Milliseconds of a clock that only goes forward. */
    now?: () => number;
  }) {
    this.#client = options.client;
    this.#source = options.source;
    this.#probePool = options.probePool;
    this.#onNews = options.onNews;
    this.#now = options.now ?? (() => performance.now());
  }

  get(key: Key, pods: readonly KubernetesObject[]): KnownHealth<T> {
    const id = keyText(key);
    const some = probeablePods(pods, this.#source).slice(0, this.#source.maxPods);
    if (some.length === 0) {
      this.#known.delete(id);
      return { health: [], isComplete: true };
    }
    const revision = some.map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`).join();
    const known = this.#known.get(id) ?? { probed: undefined, probedAt: 0, answers: new Map<string, T | undefined>() };
    const memory = Object.assign(known, { pods: some, revision });
    this.#known.set(id, memory);
    if (memory.probed !== revision || this.#now() - memory.probedAt >= FRESH_MS) this.#probe(key, memory);
    return {
      health: some.map((pod) => memory.answers.get(idOf(pod))).filter((answer) => answer !== undefined),
      isComplete: some.every((pod) => memory.answers.has(idOf(pod))),
    };
  }

  /** To be called when the key is gone. */
  forget(key: Key): void {
    this.#known.delete(keyText(key));
  }

  #probe(key: Key, memory: Memory<T>): void {
    const isSilent = [...memory.answers.values()].includes(undefined);
    this.#probePool.start(`pods of ${keyText(key)}`, isSilent ? 'slow' : 'prompt', async (signal) => {
      // Those of now: it may have waited for its turn.
      const { pods, revision } = memory;
      const answers = await this.#client.probe(pods, signal);
      const current = this.#known.get(keyText(key));
      if (current !== memory) {
        // It has gone, or come again and could not ask meanwhile.
        if (current !== undefined) this.#onNews(key);
        return;
      }
      const before = this.#newsOf(memory);
      memory.answers = new Map(pods.map((pod, index) => [idOf(pod), answers[index]]));
      memory.probed = revision;
      memory.probedAt = this.#now();
      if (this.#newsOf(memory) !== before || memory.revision !== revision) this.#onNews(key);
    });
  }

  #newsOf({ answers }: Memory<T>): string {
    const { news } = this.#source;
    return hashOf([...answers].map(([id, answer]) => [id, answer === undefined ? null : news(answer)]));
  }
}

/** A pod that begins anew at another address has said nothing yet. */
const idOf = (pod: KubernetesObject): string => `${pod.metadata.uid} ${textAt(pod, 'status', 'podIP')}`;
