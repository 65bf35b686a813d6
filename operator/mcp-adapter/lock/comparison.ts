/** Pure: how the servers of all pods compare with the tool lock, put together. */
import { MAX_PENDING, type McpToolLockStatus, type PendingDefinition } from '../../../crds/v1alpha1/mcp-tool-lock.ts';
import { visibleName } from '../../health/visible-name.ts';
import type { PodHealth } from '../health/pod-health.ts';
import { type DefinitionState, type ServerComparison, STATES } from '../health/tool-lock-health.ts';

/** What differs from the lock. */
export interface Comparison {
  /** Whether any server has been compared. */
  readonly isKnown: boolean;
  /** Sorted by state, with drift first, server, kind and name; at most `MAX_PENDING`. */
  readonly pending: readonly PendingDefinition[];
  readonly counts: Readonly<Record<DefinitionState, number>>;
  /** Milliseconds since the epoch; undefined: not yet. */
  readonly comparedAt: number | undefined;
  /** What becomes of what differs. */
  readonly mode: 'audit' | 'enforce';
  /** What pods say is wrong with their file, each with a pod that says so. */
  readonly problems: readonly string[];
  /** Pods that say nothing of a lock. */
  readonly silent: readonly string[];
}

export type NameOf = (server: string, kind: string, digest: string) => string | undefined;

interface OfServer {
  readonly pending: readonly PendingDefinition[];
  readonly counts: Readonly<Record<DefinitionState, number>>;
}

/**
 * What any pod finds counts. Pods that have just started have compared nothing yet; of a server that none has compared,
 * what was known before stays, so that the same drift is not told as news.
 * @param health of ready pods
 * @param servers ids in the configuration
 * @param nameOf what the lock calls a definition by its digest
 */
export function comparisonOf(
  health: readonly PodHealth[],
  servers: readonly string[],
  before: Pick<McpToolLockStatus, 'pending'> = {},
  nameOf: NameOf = () => undefined,
): Comparison {
  const reports = health.flatMap(({ pod, toolLock }) => (toolLock === undefined ? [] : [{ pod, toolLock }]));
  const compared = Map.groupBy(
    reports.flatMap(({ toolLock }) => toolLock.servers.filter(({ comparedAt }) => comparedAt !== undefined)),
    ({ id }) => id,
  );
  const all = [...new Set(servers)].toSorted().map((id) => {
    const found = compared.get(id);
    return found === undefined ? asBefore(id, before) : ofServer(id, found, nameOf);
  });
  const times = servers.flatMap((id) => (compared.get(id) ?? []).map(({ comparedAt = 0 }) => comparedAt));
  return {
    isKnown: times.length > 0,
    pending: STATES.flatMap((state) =>
      all.flatMap(({ pending }) => pending.filter((one) => one.state === state)),
    ).slice(0, MAX_PENDING),
    counts: sums(all.map(({ counts }) => counts)),
    comparedAt: times.length === 0 ? undefined : Math.max(...times),
    mode: reports.every(({ toolLock }) => toolLock.mode === 'audit') && reports.length > 0 ? 'audit' : 'enforce',
    problems: reports.flatMap(({ pod, toolLock: { problem } }) =>
      problem === undefined ? [] : [`${pod}: ${problem}`],
    ),
    silent: health.filter(({ toolLock }) => toolLock === undefined).map(({ pod }) => pod),
  };
}

function ofServer(server: string, comparisons: readonly ServerComparison[], nameOf: NameOf): OfServer {
  const pending = STATES.flatMap((state) => {
    // Those that cannot be named are counted only.
    const listed = comparisons
      .flatMap(({ found }) => found[state].listed)
      .flatMap(({ kind = '', name, locked, fields }) => {
        const known = name ?? (locked === undefined ? undefined : nameOf(server, kind, locked));
        return known === undefined ? [] : [{ kind, name: known, fields }];
      });
    const byId = Map.groupBy(listed, ({ kind, name }) => `${kind} ${name}`);
    return [...byId.keys()].toSorted().map((id): PendingDefinition => {
      const same = byId.get(id) ?? [];
      const fields = [...new Set(same.flatMap((one) => one.fields))].map(visibleName);
      const kind = same[0]?.kind ?? '';
      return {
        server,
        ...(kind === '' ? {} : { kind: visibleName(kind) }),
        name: visibleName(same[0]?.name ?? ''),
        state,
        ...(fields.length === 0 ? {} : { fields }),
      };
    });
  });
  const counted = counts(pending);
  const most = (state: DefinitionState): number =>
    Math.max(counted[state], ...comparisons.map(({ found }) => found[state].listed.length + found[state].more));
  return { pending, counts: { drift: most('drift'), new: most('new'), removed: most('removed') } };
}

function asBefore(server: string, { pending = [] }: Pick<McpToolLockStatus, 'pending'>): OfServer {
  const kept = pending.filter((one) => one.server === server);
  return { pending: kept, counts: counts(kept) };
}

function counts(pending: readonly PendingDefinition[]): Record<DefinitionState, number> {
  const of = (state: DefinitionState): number => pending.filter((one) => one.state === state).length;
  return { drift: of('drift'), new: of('new'), removed: of('removed') };
}

const sums = (all: readonly OfServer['counts'][]): Record<DefinitionState, number> => {
  const of = (state: DefinitionState): number => all.reduce((sum, one) => sum + one[state], 0);
  return { drift: of('drift'), new: of('new'), removed: of('removed') };
};
