import { type Path, valueAt } from '../../../../lib/json/tree.ts';

/*
 * What rules read of a configuration that may be anything: other fields of it may be invalid.
 */

export const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

export const isTextOrNull = (value: unknown): boolean => value === null || isText(value);

export const at = (value: unknown, ...path: Path): unknown => valueAt(value, path);

export function list(value: unknown, ...path: Path): unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** All entries of `adapters` of all servers, each with its path. */
export function entries(config: unknown): { entry: unknown; path: Path }[] {
  return list(config, 'servers').flatMap((server, index) =>
    list(server, 'adapters').map((entry, position) => ({ entry, path: ['servers', index, 'adapters', position] })),
  );
}

export const consumers = (config: unknown): { entry: unknown; path: Path }[] =>
  entries(config).filter(({ entry }) => at(entry, 'type') === 'upload_consumer');
