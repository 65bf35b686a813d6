import { valueAt } from '../../../lib/json/tree.ts';
import type { McpAdapterSpec } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { redactedError } from '../../health/redacted-error.ts';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';
import type { EffectiveConfig } from '../config/effective-config.ts';
import type { PodHealth, ServerHealth } from './pod-health.ts';

/** Of an earlier specification, or of one that nobody could check. */
export const UNNAMED_ISSUER = 'An issuer';

const STORE = ['state_persistence', 'redis', 'host'] as const;

/** What pods say of themselves, without the values of references that only they know. */
export function redactedHealth(
  health: readonly PodHealth[],
  { config }: Pick<McpAdapterSpec, 'config'>,
  { servers, connections, issuers }: Pick<EffectiveConfig, 'servers' | 'connections' | 'issuers'>,
): PodHealth[] {
  const isStoreKnown = connections.every(({ field, target }) => field !== STORE.join('.') || target !== undefined);
  return health.map((pod) => ({
    ...pod,
    servers: pod.servers.map((server) => redacted(server)),
    issuers: pod.issuers?.map((one) => ({ ...one, issuer: named(one.issuer) })),
    stateStore: {
      ...pod.stateStore,
      detail: isStoreKnown ? pod.stateStore.detail : erased(pod.stateStore.detail, textAt(config, ...STORE)),
    },
  }));

  /** Where its URL is not written in the resource, only the fields say which one it may be. */
  function named(issuer: string): string {
    if (issuers.some(({ url }) => url === issuer)) return issuer;
    const hidden = issuers.filter(({ url }) => url === undefined).map(({ field }) => `spec.config.${field}`);
    return hidden.length === 0 ? UNNAMED_ISSUER : hidden.join(' or ');
  }

  function redacted(server: ServerHealth): ServerHealth {
    const index = servers.findIndex(({ id }) => id === server.id);
    if (servers[index]?.url !== undefined) return server;
    const written = textAt(valueAt(listAt(config, 'servers'), [index]), 'upstream', 'url');
    return { ...server, detail: erased(server.detail, written) };
  }
}

const erased = (detail: string | undefined, written: string | undefined): string | undefined =>
  detail === undefined ? undefined : redactedError(detail, written);
