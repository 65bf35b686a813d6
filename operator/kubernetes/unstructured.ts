import { type Path, valueAt } from '../../lib/json/tree.ts';

/** Reading members of JSON whose shape nobody has checked. */

export function textAt(value: unknown, ...path: Path): string | undefined {
  const found = valueAt(value, path);
  return typeof found === 'string' ? found : undefined;
}

export function numberAt(value: unknown, ...path: Path): number | undefined {
  const found = valueAt(value, path);
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
}

export function listAt(value: unknown, ...path: Path): readonly unknown[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}
