/**
 * The operator may not read Secrets, so it cannot know when one changes. The pods can: they mount what their variables
 * come from, compare it with what they started with, and tell.
 */
import { createHash } from 'node:crypto';
import type { McpAdapterSpec } from '../../crds/v1alpha1/mcp-adapter.ts';

export const REFERENCES_FOLDER = '/var/run/mcp-references';
/** Octal 0440: for the group of the pod only. */
const MODE = 0o440;

interface Reference {
  readonly kind: 'secrets' | 'configmaps';
  readonly name: string;
  /** Undefined when all keys are used. */
  readonly keys: ReadonlySet<string> | undefined;
}

export interface ReferenceVolumes {
  readonly volumes: readonly object[];
  readonly volumeMounts: readonly object[];
}

/** One read-only volume for each Secret and ConfigMap that the variables come from, with the keys that are used. */
export function referenceVolumes(spec: Pick<McpAdapterSpec, 'env' | 'envFrom'>): ReferenceVolumes {
  const references = referencesOf(spec);
  return {
    volumes: references.map((reference) => ({ name: volumeName(reference), ...volumeSource(reference) })),
    volumeMounts: references.map((reference) => ({
      name: volumeName(reference),
      mountPath: `${REFERENCES_FOLDER}/${reference.kind}/${reference.name}`,
      readOnly: true,
    })),
  };
}

/** In a stable order, so that the order of variables does not matter. */
function referencesOf({ env = [], envFrom = [] }: Pick<McpAdapterSpec, 'env' | 'envFrom'>): Reference[] {
  const used = [
    ...env.flatMap(({ valueFrom }) => [
      { kind: 'secrets' as const, name: valueFrom?.secretKeyRef?.name, key: valueFrom?.secretKeyRef?.key },
      { kind: 'configmaps' as const, name: valueFrom?.configMapKeyRef?.name, key: valueFrom?.configMapKeyRef?.key },
    ]),
    ...envFrom.flatMap(({ secretRef, configMapRef }) => [
      { kind: 'secrets' as const, name: secretRef?.name, key: undefined },
      { kind: 'configmaps' as const, name: configMapRef?.name, key: undefined },
    ]),
  ];
  const references = new Map<string, Reference>();
  for (const { kind, name, key } of used) {
    if (name === undefined) continue;
    const id = `${kind}/${name}`;
    // Objects that are used as a whole come last.
    const keys = key === undefined ? undefined : new Set([...(references.get(id)?.keys ?? []), key]);
    references.set(id, { kind, name, keys });
  }
  return [...references].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, reference]) => reference);
}

/** Names of objects may be too long for the name of a volume. */
function volumeName({ kind, name }: Reference): string {
  return `reference-${createHash('sha256').update(`${kind}/${name}`).digest('hex').slice(0, 16)}`;
}

/** Optional: a missing object is the concern of the variable, which says whether the pod may start without it. */
function volumeSource({ kind, name, keys }: Reference): object {
  const items = keys === undefined ? {} : { items: [...keys].sort().map((key) => ({ key, path: key })) };
  const rest = { ...items, defaultMode: MODE, optional: true };
  return kind === 'secrets' ? { secret: { secretName: name, ...rest } } : { configMap: { name, ...rest } };
}
