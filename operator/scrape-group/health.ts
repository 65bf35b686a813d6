import { Agent, request } from 'undici';
import { valueAt } from '../../crds/config/tree.ts';
import { bodyText } from '../mcp-adapter/http-body.ts';
import { isObject, listAt, numberAt, textAt } from '../mcp-adapter/raw.ts';
import type { KubernetesObject } from '../runtime/kubernetes.ts';
import { CONTAINER, PORT_NAME } from './defaults.ts';

/** What one pod says about itself in `/healthz`. */
export interface ScraperHealth {
  readonly pod: string;
  /** Hash of the file that it runs with. */
  readonly configHash: string | undefined;
  /** Whether an object that the pod refers to has changed since it started. */
  readonly referencesChanged: boolean;
  readonly sources: readonly SourceHealth[];
}

/** Times in ISO 8601, in whole seconds; what has not happened yet is undefined. */
export interface SourceHealth {
  readonly name: string;
  readonly lastScrape: string | undefined;
  readonly lastSuccess: string | undefined;
  readonly watermark: string | undefined;
  readonly records: number | undefined;
  /** Of the last scrape; undefined when it succeeded. */
  readonly lastError: string | undefined;
  /** Windows that were set aside after too many attempts. */
  readonly deadWindows: number | undefined;
}

/** Asks pods how they are; those that do not answer are left out. */
export type AskScrapers = (pods: readonly KubernetesObject[], signal: AbortSignal) => Promise<readonly ScraperHealth[]>;

const TIMEOUT_MS = 2_000;
/** A shard has up to about 1,500 sources. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_PODS = 20;
const MAX_AT_ONCE = 5;

/** Connections are not kept: pods come and go, and are asked seldom. */
export function createAskScrapers(): { ask: AskScrapers; close(): Promise<void> } {
  const agent = new Agent({ connections: 1, pipelining: 0, keepAliveTimeout: 1, connect: { timeout: TIMEOUT_MS } });
  const askOne = async (pod: KubernetesObject, signal: AbortSignal): Promise<ScraperHealth | undefined> => {
    const url = healthUrl(pod);
    if (url === undefined) return undefined;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      const { body } = await request(url, { dispatcher: agent, signal: limit, headers: { connection: 'close' } });
      return parseHealth(pod.metadata.name, JSON.parse(await bodyText(body, MAX_BYTES)));
    } catch {
      return undefined;
    }
  };
  return {
    async ask(pods, signal) {
      const asked = askable(pods).slice(0, MAX_PODS);
      const answers: (ScraperHealth | undefined)[] = [];
      const queue = asked.entries();
      const worker = async (): Promise<void> => {
        for (const [index, pod] of queue) answers[index] = await askOne(pod, signal);
      };
      await Promise.all(Array.from({ length: Math.min(MAX_AT_ONCE, asked.length) }, worker));
      signal.throwIfAborted();
      return answers.filter((answer) => answer !== undefined);
    },
    close: () => agent.destroy(),
  };
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
  const container = listAt(pod, 'spec', 'containers').find((one) => textAt(one, 'name') === CONTAINER);
  const http = listAt(container, 'ports').find((one) => textAt(one, 'name') === PORT_NAME);
  const port = numberAt(http, 'containerPort');
  if (address === undefined || address === '' || port === undefined) return undefined;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}/healthz`;
}

/** Undefined when this is no health object of a scraper. Members of other versions are ignored. */
export function parseHealth(pod: string, body: unknown): ScraperHealth | undefined {
  if (!isObject(body) || !Array.isArray(body['sources'])) return undefined;
  return {
    pod,
    configHash: textAt(body, 'config_hash'),
    referencesChanged: valueAt(body, ['references', 'changed']) === true,
    sources: body['sources'].flatMap((source: unknown) => {
      const name = textAt(source, 'name');
      if (name === undefined) return [];
      return [
        {
          name,
          lastScrape: timeAt(source, 'last_scrape'),
          lastSuccess: timeAt(source, 'last_success'),
          watermark: timeAt(source, 'watermark'),
          records: numberAt(source, 'records'),
          lastError: textAt(source, 'last_error'),
          deadWindows: numberAt(source, 'dead_windows'),
        },
      ];
    }),
  };
}

function timeAt(value: unknown, key: string): string | undefined {
  const time = new Date(textAt(value, key) ?? '');
  return Number.isNaN(time.getTime()) ? undefined : `${time.toISOString().slice(0, 19)}Z`;
}

/** Pods of a group share its sources; of each source the one counts that scraped it last. */
export function sourcesOf(health: readonly ScraperHealth[]): ReadonlyMap<string, SourceHealth> {
  const sources = new Map<string, SourceHealth>();
  for (const source of health.flatMap((one) => one.sources)) {
    const known = sources.get(source.name);
    if (known === undefined || (source.lastScrape ?? '') > (known.lastScrape ?? '')) sources.set(source.name, source);
  }
  return sources;
}
