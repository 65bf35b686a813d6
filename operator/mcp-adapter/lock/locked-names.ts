import { valueAt } from '../../../lib/json/tree.ts';
import type { KubernetesApi } from '../../kubernetes/kubernetes.ts';
import { MCP_TOOL_LOCKS } from '../../kubernetes/resources.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { textAt } from '../../kubernetes/unstructured.ts';
import type { PodHealth } from '../health/pod-health.ts';
import { STATES } from '../health/tool-lock-health.ts';
import type { CachedLock, LockContent } from './cached-lock.ts';
import type { NameOf } from './comparison.ts';

/** What pods asked for last, with undefined for what the lock does not have. */
type Names = ReadonlyMap<string, string | undefined>;

/** For each version of a lock; as many as pods tell of, so that a lock of a thousand names takes no memory. */
const known = new WeakMap<LockContent, Names>();

/**
 * By what names a lock calls what pods tell of: without their token they tell the digest that was approved, and no name.
 * The lock is read when they tell another one.
 * @throws the error of the API server
 */
export async function lockedNames(
  lock: CachedLock | undefined,
  health: readonly PodHealth[],
  api: Pick<KubernetesApi, 'get'>,
  signal: AbortSignal,
): Promise<NameOf> {
  const asked = new Set(health.flatMap(unnamed));
  if (lock === undefined || lock.content.refusal !== undefined || asked.size === 0) return () => undefined;
  let names = known.get(lock.content);
  if (names === undefined || ![...asked].every((id) => names?.has(id))) {
    const live = await api.get(MCP_TOOL_LOCKS, lock.metadata, signal);
    const all = namesIn(live?.['spec']);
    names = new Map([...asked].map((id) => [id, all.get(id)]));
    known.set(lock.content, names);
  }
  return (server, kind, digest) => names.get(idOf(server, kind, digest));
}

const unnamed = ({ toolLock }: PodHealth): string[] =>
  (toolLock?.servers ?? []).flatMap(({ id, found }) =>
    STATES.flatMap((state) =>
      found[state].listed.flatMap(({ kind = '', name, locked }) =>
        name !== undefined || locked === undefined ? [] : [idOf(id, kind, locked)],
      ),
    ),
  );

/** @param spec of a lock, of any shape */
const namesIn = (spec: unknown): ReadonlyMap<string, string> =>
  new Map(
    entries(valueAt(spec, ['servers'])).flatMap(([server, kinds]) =>
      entries(kinds).flatMap(([kind, definitions]) =>
        entries(definitions).map(([name, one]) => [idOf(server, kind, textAt(one, 'digest') ?? ''), name] as const),
      ),
    ),
  );

const entries = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);

const idOf = (server: string, kind: string, digest: string): string => JSON.stringify([server, kind, digest]);
