import { valueAt } from '../../../lib/json/tree.ts';
import type { HealthSource } from '../../health/pod-client.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';
import { CONTAINER, PORT_NAME } from '../config/defaults.ts';
import { parseToolLock, type ToolLockHealth } from './tool-lock-health.ts';

/** What one pod says about itself in `/healthz`. */
export interface PodHealth {
  readonly pod: string;
  readonly servers: readonly ServerHealth[];
  readonly stateStore: { readonly healthy: boolean; readonly detail: string | undefined };
  /** Whether an object that the pod refers to has changed since it started. */
  readonly referencesChanged: boolean;
  /** Whether it knows the keys of each authorization server; undefined where it has none, or says nothing of it. */
  readonly issuers: readonly IssuerHealth[] | undefined;
  /** How its servers compare with the tool lock; undefined where it has none, or says nothing of it. */
  readonly toolLock?: ToolLockHealth;
  /** Codes of what is weak about it. */
  readonly warnings: readonly string[];
}

export interface ServerHealth {
  readonly id: string;
  readonly mountPath: string | undefined;
  readonly healthy: boolean;
  /** Why not, as far as the pod tells those who have no token. */
  readonly detail: string | undefined;
  /** Entries of its `adapters` that do not fit what it lists. */
  readonly fileRules?: readonly FileRuleProblem[];
}

/** `entry`: place in `adapters`. */
export interface FileRuleProblem {
  readonly entry: number;
  readonly reason: 'no_tool' | 'no_argument';
}

const KEYS = ['known', 'unread', 'unavailable'] as const;

export interface IssuerHealth {
  readonly issuer: string;
  readonly keys: (typeof KEYS)[number];
}

/** How adapters are asked. */
export const ADAPTER_HEALTH: HealthSource<PodHealth> = {
  container: CONTAINER,
  port: PORT_NAME,
  maxPods: 10,
  maxBytes: 1024 * 1024,
  parse: parseHealth,
  news: withoutTimes,
};

/** Undefined when this is no health object of an adapter. Members of other versions are ignored. */
export function parseHealth(pod: string, body: unknown): PodHealth | undefined {
  if (!isObject(body) || !Array.isArray(body['servers'])) return undefined;
  const persistence = body['persistence'];
  const unhealthy =
    isObject(persistence) && typeof persistence['status'] === 'string' && persistence['status'] !== 'ok';
  const toolLock = parseToolLock(body['tool_lock']);
  return {
    pod,
    ...(toolLock !== undefined && { toolLock }),
    servers: body['servers'].flatMap((server: unknown) => parseServer(server) ?? []),
    stateStore: { healthy: !unhealthy, detail: textAt(persistence, 'detail') },
    issuers: Array.isArray(body['issuers'])
      ? body['issuers'].flatMap((issuer: unknown) => parseIssuer(issuer) ?? [])
      : undefined,
    referencesChanged: valueAt(body, ['references', 'changed']) === true,
    warnings: listAt(body, 'warnings').filter((warning) => typeof warning === 'string'),
  };
}

function parseServer(server: unknown): ServerHealth | undefined {
  const id = textAt(server, 'server_id');
  if (id === undefined) return undefined;
  const rules = listAt(server, 'file_rules').flatMap((rule) => parseFileRule(rule) ?? []);
  return {
    id,
    mountPath: textAt(server, 'mount_path'),
    healthy: textAt(server, 'status') === 'ok',
    detail: textAt(server, 'ping', 'refused') ?? textAt(server, 'ping', 'last_error'),
    ...(rules.length > 0 && { fileRules: rules }),
  };
}

function parseFileRule(rule: unknown): FileRuleProblem | undefined {
  if (!isObject(rule)) return undefined;
  const { entry, reason } = rule;
  if (!Number.isSafeInteger(entry) || (reason !== 'no_tool' && reason !== 'no_argument')) return undefined;
  return { entry: entry as number, reason };
}

function parseIssuer(document: unknown): IssuerHealth | undefined {
  const issuer = textAt(document, 'issuer');
  const keys = KEYS.find((one) => one === textAt(document, 'keys'));
  return issuer === undefined || keys === undefined ? undefined : { issuer, keys };
}

/** Servers are compared all the time, with the same outcome. */
function withoutTimes({ toolLock, ...health }: PodHealth): unknown {
  const servers = toolLock?.servers.map(({ comparedAt, ...server }) => ({
    ...server,
    compared: comparedAt !== undefined,
  }));
  return { ...health, toolLock: toolLock && { ...toolLock, servers } };
}
