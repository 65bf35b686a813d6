import { Agent, request } from 'undici';
import type { KubernetesObject } from '../runtime/kubernetes.ts';
import { bodyText } from './http-body.ts';
import { isObject, listAt, numberAt, textAt } from './raw.ts';
import { valueAt } from '../../crds/config/tree.ts';

/** What one pod says about itself in `/healthz`. */
export interface PodHealth {
  readonly pod: string;
  readonly servers: readonly ServerHealth[];
  readonly stateStore: { readonly healthy: boolean; readonly detail: string | undefined };
  /** Whether an object that the pod refers to has changed since it started. */
  readonly referencesChanged: boolean;
}

export interface ServerHealth {
  readonly id: string;
  readonly mountPath: string | undefined;
  readonly healthy: boolean;
  /** Why not, as far as the pod tells those who have no token. */
  readonly detail: string | undefined;
}

const TIMEOUT_MS = 2_000;
const MAX_BYTES = 1024 * 1024;
const MAX_PODS = 10;
const MAX_AT_ONCE = 5;

/** Asks pods how they are. Connections are not kept: pods come and go, and are asked seldom. */
export class PodHealthClient {
  readonly #agent = new Agent({ connections: 1, pipelining: 0, keepAliveTimeout: 1, connect: { timeout: TIMEOUT_MS } });

  /** Pods that do not answer with a health object are left out. */
  async ask(pods: readonly KubernetesObject[], signal: AbortSignal): Promise<PodHealth[]> {
    const asked = askable(pods).slice(0, MAX_PODS);
    const answers: (PodHealth | undefined)[] = [];
    const queue = asked.entries();
    const worker = async (): Promise<void> => {
      for (const [index, pod] of queue) answers[index] = await this.#askOne(pod, signal);
    };
    await Promise.all(Array.from({ length: Math.min(MAX_AT_ONCE, asked.length) }, worker));
    signal.throwIfAborted();
    return answers.filter((answer) => answer !== undefined);
  }

  async #askOne(pod: KubernetesObject, signal: AbortSignal): Promise<PodHealth | undefined> {
    const url = healthUrl(pod);
    if (url === undefined) return undefined;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      const { body } = await request(url, { dispatcher: this.#agent, signal: limit, headers: { connection: 'close' } });
      return parseHealth(pod.metadata.name, JSON.parse(await bodyText(body, MAX_BYTES)));
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Pods that may answer, in the order of their names, so that the same ones are asked every time. */
export function askable(pods: readonly KubernetesObject[]): KubernetesObject[] {
  return pods
    .filter((pod) => pod.metadata.deletionTimestamp === undefined && textAt(pod, 'status', 'phase') === 'Running')
    .filter((pod) => healthUrl(pod) !== undefined)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function healthUrl(pod: KubernetesObject): string | undefined {
  const address = textAt(pod, 'status', 'podIP');
  const container = listAt(pod, 'spec', 'containers').find((one) => textAt(one, 'name') === 'adapter');
  const http = listAt(container, 'ports').find((one) => textAt(one, 'name') === 'http');
  const port = numberAt(http, 'containerPort');
  if (address === undefined || address === '' || port === undefined) return undefined;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}/healthz`;
}

/** Undefined when this is no health object of an adapter. Members of other versions are ignored. */
export function parseHealth(pod: string, body: unknown): PodHealth | undefined {
  if (!isObject(body) || !Array.isArray(body['servers'])) return undefined;
  const persistence = body['persistence'];
  const unhealthy =
    isObject(persistence) && typeof persistence['status'] === 'string' && persistence['status'] !== 'ok';
  return {
    pod,
    servers: body['servers'].flatMap((server: unknown) => parseServer(server) ?? []),
    stateStore: { healthy: !unhealthy, detail: textAt(persistence, 'detail') },
    referencesChanged: valueAt(body, ['references', 'changed']) === true,
  };
}

function parseServer(server: unknown): ServerHealth | undefined {
  const id = textAt(server, 'server_id');
  if (id === undefined) return undefined;
  return {
    id,
    mountPath: textAt(server, 'mount_path'),
    healthy: textAt(server, 'status') === 'ok',
    detail: textAt(server, 'ping', 'last_error'),
  };
}
