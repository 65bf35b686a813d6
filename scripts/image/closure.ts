/** An entry of `packages` in package-lock.json, as far as it is needed here. */
export interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

type Locked = Readonly<Record<string, LockedPackage>>;

/**
 * Paths (`node_modules/a/node_modules/b`) of all packages that these packages need to run, themselves among them,
 * found as Node finds them. A package that is not locked is an optional one that npm left out, or only gives types.
 */
export function closure(locked: Locked, names: readonly string[]): Set<string> {
  const found = new Set<string>();
  const open = names.map((name) => ({ name, from: '' }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { name, from } = next;
    const path = lookupPaths(name, from).find((candidate) => candidate in locked);
    if (path === undefined || found.has(path)) continue;
    found.add(path);
    for (const needed of needs(locked[path] ?? {})) open.push({ name: needed, from: path });
  }
  return found;
}

function needs(locked: LockedPackage): string[] {
  const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta } = locked;
  const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta?.[peer]?.optional !== true);
  const names = [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
  return names.filter((name) => !name.startsWith('@types/'));
}

/** Where Node looks for a package: in the folder that asks, and in each folder above it. */
function lookupPaths(name: string, from: string): string[] {
  const folders = from.split(/(?<=.)\/(?=node_modules\/)/);
  const prefixes = folders.map((_, index) => folders.slice(0, folders.length - index).join('/'));
  return [...prefixes.filter((prefix) => prefix !== ''), ''].map((prefix) =>
    prefix === '' ? `node_modules/${name}` : `${prefix}/node_modules/${name}`,
  );
}
