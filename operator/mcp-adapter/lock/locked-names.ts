import { valueAt } from '../../../lib/json/tree.ts';
import { isObject, textAt } from '../../kubernetes/unstructured.ts';
import type { LockContent } from './cached-lock.ts';
import type { NameOf } from './comparison.ts';

const known = new WeakMap<LockContent, ReadonlyMap<string, string>>();

/** By what names a lock calls definitions: pods tell those without their token the digest that was approved, no name. */
export const nameIn =
  (content: LockContent): NameOf =>
  (server, kind, digest) =>
    namesOf(content).get(idOf(server, kind, digest));

/** Read when the first is asked for, once for each version of a lock. */
function namesOf(content: LockContent): ReadonlyMap<string, string> {
  const before = known.get(content);
  if (before !== undefined) return before;
  const servers = content.text === '' ? {} : valueAt(JSON.parse(content.text), ['servers']);
  const names = new Map(
    entries(servers).flatMap(([server, kinds]) =>
      entries(kinds).flatMap(([kind, definitions]) =>
        entries(definitions).map(([name, one]) => [idOf(server, kind, textAt(one, 'digest') ?? ''), name] as const),
      ),
    ),
  );
  known.set(content, names);
  return names;
}

const entries = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);

const idOf = (server: string, kind: string, digest: string): string => JSON.stringify([server, kind, digest]);
