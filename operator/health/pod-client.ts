import { Agent, request } from 'undici';
import { ANYWHERE, guardedConnector } from '../../lib/net/guarded-connect.ts';
import { sideBySide } from '../../lib/side-by-side.ts';
import { parseJson, REQUEST_LIMITS } from '../../lib/json/json-limits.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { listAt, numberAt, textAt } from '../kubernetes/unstructured.ts';
import { bodyText } from './http-body.ts';

/** Where a program answers in its pods. */
export interface HealthPort {
  /** Name of its container. */
  readonly container: string;
  /** Name of the port that serves `/healthz`. */
  readonly port: string;
}

/** A program that says in `/healthz` how it is. */
export interface HealthSource<T> extends HealthPort {
  readonly maxPods: number;
  readonly maxBytes: number;
  /** What a pod says; undefined when it is no health object of this program. */
  readonly parse: (pod: string, body: unknown) => T | undefined;
  /** What of it is worth a reconcile when it is another than before. */
  readonly news: (health: T) => unknown;
}

const TIMEOUT_MS = 2_000;
const MAX_AT_ONCE = 5;

/** Asks the pods of a program how they are. Connections are not kept: pods come and go, and are asked seldom. */
export class PodClient<T> {
  readonly #source: HealthSource<T>;
  readonly #agent = new Agent({
    connections: 1,
    pipelining: 0,
    keepAliveTimeout: 1,
    connect: guardedConnector({ timeout: TIMEOUT_MS }, ANYWHERE),
  });

  constructor(source: HealthSource<T>) {
    this.#source = source;
  }

  /**
   * In the order of the pods; undefined for one that does not answer with a health object.
   * @throws the reason of `signal`
   */
  async probe(pods: readonly KubernetesObject[], signal: AbortSignal): Promise<(T | undefined)[]> {
    const answers = await sideBySide(pods, MAX_AT_ONCE, (pod) => this.#probeOne(pod, signal));
    signal.throwIfAborted();
    return answers;
  }

  async #probeOne(pod: KubernetesObject, signal: AbortSignal): Promise<T | undefined> {
    const url = healthUrl(pod, this.#source);
    if (url === undefined) return undefined;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      const { body } = await request(url, { dispatcher: this.#agent, signal: limit, headers: { connection: 'close' } });
      return this.#source.parse(
        pod.metadata.name,
        parseJson(await bodyText(body, this.#source.maxBytes), REQUEST_LIMITS),
      );
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Pods that may answer, in the order of their names, so that the same ones are asked every time. */
export function probeablePods(pods: readonly KubernetesObject[], at: HealthPort): KubernetesObject[] {
  return pods
    .filter((pod) => pod.metadata.deletionTimestamp === undefined && textAt(pod, 'status', 'phase') === 'Running')
    .filter((pod) => healthUrl(pod, at) !== undefined)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function healthUrl(pod: KubernetesObject, at: HealthPort): string | undefined {
  const address = textAt(pod, 'status', 'podIP');
  const container = listAt(pod, 'spec', 'containers').find((one) => textAt(one, 'name') === at.container);
  const http = listAt(container, 'ports').find((one) => textAt(one, 'name') === at.port);
  const port = numberAt(http, 'containerPort');
  if (address === undefined || address === '' || port === undefined) return undefined;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}/healthz`;
}
