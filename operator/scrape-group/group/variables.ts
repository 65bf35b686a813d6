import type { EnvFrom, EnvVar } from '../../../crds/v1alpha1/api.ts';
import { dottedPath } from '../../../crds/config/load/problem.ts';
import { interpolateAll, renameReferences } from '../../../lib/references/reference.ts';
import { hashOf } from '../../kubernetes/content-hash.ts';

/**
 * The sources of a group share pods, and so one environment. Each variable gets the name of its resource in front, in
 * the pod as in the references of the rendered file, so that no source sees the variable of another by its name.
 */

/** The variables that one resource declares. */
export interface Declared {
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFrom[];
}

/**
 * What stands before the names of the variables of a resource: `my-api` → `MY_API__`. Different names never give the
 * same variable: `.` becomes `d`, a `-` after another one `h` (lower case occurs in no name otherwise), so the first
 * `__` always ends the name of the resource.
 */
export function variablePrefix(resource: string): string {
  const name = resource
    .toUpperCase()
    .replaceAll(/(?<=-)-/g, 'h')
    .replaceAll('-', '_')
    .replaceAll('.', 'd');
  return `${/^\d/.test(name) ? '_' : ''}${name}__`;
}

/** The document with all its references pointing to the variables of the resource. Keys stay as they are. */
export function renamedReferences<T>(document: T, resource: string): T {
  const prefix = variablePrefix(resource);
  return mapTexts(document, (text) => renameReferences(text, (name) => prefix + name)) as T;
}

/** The variables of the resource as they stand in the pod. */
export function podVariables(declared: Declared, resource: string): { env: EnvVar[]; envFrom: EnvFrom[] } {
  const prefix = variablePrefix(resource);
  const names = new Set(declared.env?.map(({ name }) => name));
  return {
    env: (declared.env ?? []).map((variable) => ({
      ...variable,
      name: prefix + variable.name,
      ...(variable.value === undefined ? {} : { value: renamedExpansions(variable.value, names, prefix) }),
    })),
    envFrom: (declared.envFrom ?? []).map((from) => ({ ...from, prefix: prefix + (from.prefix ?? '') })),
  };
}

/** A variable that is referred to without being declared. */
export interface Undeclared {
  readonly path: string;
  readonly name: string;
}

/**
 * References without a default to variables that the resource does not declare. The keys that `envFrom` brings are in
 * Secrets that the operator cannot read, so with it every name passes that has one of its prefixes.
 */
export function undeclaredVariables(document: unknown, declared: Declared): Undeclared[] {
  const prefixes = (declared.envFrom ?? []).map(({ prefix }) => prefix ?? '');
  const environment = Object.fromEntries((declared.env ?? []).map(({ name }) => [name, 'set']));
  return interpolateAll(document, environment).found.flatMap(({ path, unset }) =>
    [...new Set(unset)]
      .filter((name) => !prefixes.some((prefix) => name.startsWith(prefix)))
      .map((name) => ({ path: dottedPath(path), name })),
  );
}

/**
 * A text by which values are compared: references stand for what they refer to, not for their names. What that is stands
 * there as a hash, because it may be long, and be referred to often.
 */
export function comparable(value: unknown, declared: Declared): string {
  const declarations = new Map(declared.env?.map(({ name, ...declaration }) => [name, meaningOf(declaration)]));
  const fromAll = meaningOf(declared.envFrom ?? []);
  return JSON.stringify(
    mapTexts(sortedKeys(value), (text) =>
      renameReferences(text, (name) => declarations.get(name) ?? `${name} of ${fromAll}`),
    ),
  );
}

const meaningOf = (declaration: object): string => hashOf(declaration).slice(0, 32);

/**
 * `$(NAME)` in the value of a variable is replaced by the kubelet with an earlier variable of the container. One that
 * this resource does not declare is escaped, so that it cannot mean a variable of another resource.
 */
function renamedExpansions(value: string, declared: ReadonlySet<string>, prefix: string): string {
  const parts: string[] = [];
  let rest = 0;
  let index = value.indexOf('$');
  while (index >= 0) {
    let next = index + 1;
    if (value[next] === '$') next += 1;
    else if (value[next] === '(') {
      const close = value.indexOf(')', next);
      // Nor is there one for any that begins later.
      if (close < 0) break;
      const name = value.slice(next + 1, close);
      parts.push(value.slice(rest, index), declared.has(name) ? `$(${prefix}${name})` : `$$(${name})`);
      rest = next = close + 1;
    }
    index = value.indexOf('$', next);
  }
  return parts.join('') + value.slice(rest);
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]));
}

function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortedKeys(item)]));
}
