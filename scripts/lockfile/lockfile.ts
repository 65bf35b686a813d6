import { z } from 'zod';

const Entry = z.looseObject({
  version: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  link: z.boolean().optional(),
  optional: z.boolean().optional(),
  os: z.array(z.string()).optional(),
  cpu: z.array(z.string()).optional(),
  libc: z.array(z.string()).optional(),
  hasInstallScript: z.boolean().optional(),
  dev: z.boolean().optional(),
  peer: z.boolean().optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
});

/** The parts of package-lock.json that we look at; all else is kept as it is. */
export const Lockfile = z.looseObject({ packages: z.record(z.string(), Entry) });
export type Lockfile = z.output<typeof Lockfile>;

/** An optional dependency that the lockfile names but does not contain. */
export interface MissingPackage {
  readonly name: string;
  readonly version: string;
  /** Path of the package that wants it. */
  readonly parent: string;
}

/**
 * The optional packages, mostly for other systems, that npm left out when it wrote the lockfile. `npm ci` refuses a
 * lockfile that lacks them (https://github.com/npm/cli/issues/4828).
 */
export function missingPackages({ packages }: Lockfile): MissingPackage[] {
  return Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !foldersAbove(parent).some((folder) => `${folder}node_modules/${name}` in packages))
      .map(([name, version]) => ({ name, version, parent })),
  );
}

/** Where Node looks for the dependencies of a package: in it, and in every package around it. */
function foldersAbove(path: string): string[] {
  const parts = path.split('/node_modules/');
  const inside = parts.map((_, index) => `${parts.slice(0, index + 1).join('/node_modules/')}/`);
  return path === '' ? [''] : ['', ...inside];
}

const SYSTEM = /(?<os>aix|android|darwin|freebsd|linux|openharmony|win32)-(?<cpu>[a-z\d]+)(?:-(?<abi>[a-z]+))?$/;

/**
 * Entries for the missing packages by their path, with the system that their name tells. Their integrity is not known
 * here (see `withoutIntegrity`).
 * @throws Error when a package is not for one system or its version is not exact: npm must resolve that itself
 */
export function missingEntries(lockfile: Lockfile): Record<string, object> {
  const entries = missingPackages(lockfile).map(({ name, version, parent }): [string, object] => {
    const { os, cpu, abi } = SYSTEM.exec(name)?.groups ?? {};
    if (os === undefined || cpu === undefined || !/^\d+\.\d+\.\d+/.test(version)) {
      throw new Error(`${name}@${version}, which ${parent} wants, is missing and not for one system`);
    }
    const libc = abi?.startsWith('gnu') ? ['glibc'] : abi?.startsWith('musl') ? ['musl'] : undefined;
    const { dev, peer } = lockfile.packages[parent] ?? {};
    return [`node_modules/${name}`, { version, cpu: [cpu], dev, libc, optional: true, os: [os], peer }];
  });
  return Object.fromEntries(entries);
}

/** A package whose content nothing in the lockfile vouches for. */
export interface UnprovenPackage {
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /**
   * Installed neither where the image is built nor by CI: an optional tool of developers for a system other than Linux
   * with glibc on x64 or arm64.
   */
  readonly isElsewhere: boolean;
}

/** The packages without an integrity. */
export function withoutIntegrity({ packages }: Lockfile): UnprovenPackage[] {
  return Object.entries(packages).flatMap(([path, entry]) => {
    const { version, integrity, link, dev, optional, os, cpu, libc } = entry;
    if (path === '' || link === true || integrity !== undefined || version === undefined) return [];
    const isOurs =
      (os?.includes('linux') ?? true) &&
      (libc?.includes('glibc') ?? true) &&
      (cpu?.some((one) => one === 'x64' || one === 'arm64') ?? true);
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return [{ path, name, version, isElsewhere: dev === true && optional === true && !isOurs }];
  });
}
