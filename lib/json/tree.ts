/** A place in a document: keys of mappings and indexes of lists, from the root. */
export type Path = readonly (string | number)[];

/** What stands at a path of a document of any shape; undefined where the path leads nowhere. */
export function valueAt(document: unknown, path: Path): unknown {
  return path.reduce(member, document);
}

function member(node: unknown, key: string | number): unknown {
  return typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined;
}

/** The steps of a path that is written as `servers[].id`, where `[]` is each entry of a list. */
export const stepsOf = (path: string): string[] =>
  path
    .replaceAll('[]', '.[]')
    .split('.')
    .filter((step) => step !== '');
