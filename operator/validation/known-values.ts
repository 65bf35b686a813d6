/** What `${NAME}` in a resource's configuration stands for, as far as the resource itself says it. */
import type { Problem } from '../../crds/config/load/problem.ts';
import { hasReference, interpolate } from '../../lib/references/reference.ts';
import { type LengthLimits, lengthProblems } from '../../crds/config/load/resolved-length.ts';
import type { Path } from '../../lib/json/tree.ts';
import { EnvFrom, EnvVar } from '../../crds/v1alpha1/api.ts';
import type { McpAdapterSpec } from '../../crds/v1alpha1/mcp-adapter.ts';
import { listAt, textAt } from '../kubernetes/unstructured.ts';

/** Stands in resolved text for what is not known. No configuration holds it: YAML and JSON files of people have no NUL. */
const UNKNOWN = '\u0000';
const NAMES = /\$\{([A-Za-z_][A-Za-z0-9_]*)/g;

/** Whether the resolved value depends on a variable that is not known. */
export const isUnknown = (value: unknown): boolean => typeof value === 'string' && value.includes(UNKNOWN);

/**
 * Resolves all references in a document to the values in `spec.env`. What comes from Secrets and ConfigMaps stays
 * unknown, and so does every variable that is not declared when `spec.envFrom` may bring it.
 */
export function resolver({ env = [], envFrom = [] }: Pick<McpAdapterSpec, 'env' | 'envFrom'>) {
  const declared = new Map(
    env.map(({ name, value = '', valueFrom }) => [
      name,
      // The kubelet expands $(NAME) in values, and $$ is its escape.
      valueFrom !== undefined || /\$[($]/.test(value) ? UNKNOWN : value,
    ]),
  );
  const undeclared = envFrom.length > 0 ? UNKNOWN : undefined;
  const text = (written: string): string => {
    if (!hasReference(written)) return written;
    const variables = Object.fromEntries(
      [...written.matchAll(NAMES)].map(([, name = '']) => [name, declared.get(name) ?? undeclared]),
    );
    const { text: known, unset } = interpolate(written, variables);
    if (unset.length === 0) return known;
    const missing = Object.fromEntries(unset.map((name) => [name, UNKNOWN]));
    return interpolate(written, { ...variables, ...missing }).text;
  };
  return function resolve(value: unknown): unknown {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolve(item)]));
  };
}

/** `resolver` of a spec that nobody has checked; what is no variable in it declares nothing. */
export const uncheckedResolver = (spec: unknown): ReturnType<typeof resolver> =>
  resolver({
    env: listAt(spec, 'env').filter((variable): variable is EnvVar => EnvVar.safeParse(variable).success),
    envFrom: listAt(spec, 'envFrom').filter((source): source is EnvFrom => EnvFrom.safeParse(source).success),
  });

/** Of a resource: what one variable may hold, and sixteen of them. */
const LIMITS: LengthLimits = { text: 65_536, all: 1_048_576 };

/**
 * Texts that become too long when the values in `spec.env` stand in them. What Secrets and ConfigMaps hold is counted by
 * the pods alone.
 * @param at path of the document, with which those of the problems begin
 */
export function knownLengthProblems(spec: unknown, document: unknown, at: Path): Problem[] {
  const lengths = new Map(listAt(spec, 'env').map((one) => [textAt(one, 'name'), textAt(one, 'value')?.length ?? 0]));
  return lengthProblems(document, (name) => lengths.get(name) ?? 0, LIMITS, at).map(({ problem }) => problem);
}

/** The same document without the values that are not known. */
export function withoutUnknown(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => !isUnknown(item)).map(withoutUnknown);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => !isUnknown(item))
      .map(([key, item]) => [key, withoutUnknown(item)]),
  );
}
