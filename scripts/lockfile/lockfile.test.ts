import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Lockfile, missingEntries, missingPackages } from './lockfile.ts';

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));

describe('package-lock.json', () => {
  const lockfile = Lockfile.parse(read('package-lock.json'));

  test('holds every optional package, so that npm ci accepts it (npm run lockfile adds them)', () => {
    expect(missingPackages(lockfile)).toEqual([]);
  });

  test('names no registry', () => {
    const resolved = Object.values(lockfile.packages).flatMap((entry) => entry.resolved ?? []);
    expect(resolved).toEqual([]);
  });

  test('brings only packages whose install scripts are allowed or denied in package.json', () => {
    const { allowScripts } = z.object({ allowScripts: z.record(z.string(), z.boolean()) }).parse(read('package.json'));
    const withScript = Object.entries(lockfile.packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
    expect(Object.keys(allowScripts).sort()).toEqual([...new Set(withScript)].sort());
  });
});

describe('completing a lockfile', () => {
  const optional = (...names: string[]) => Object.fromEntries(names.map((name) => [name, '1.2.3']));

  test('adds the packages for other systems, with the marks of the package that wants them', () => {
    const optionalDependencies = optional('t-linux-x64-musl', 't-linux-arm-gnueabihf', 't-win32-x64-msvc', 't-present');
    const packages = { 'node_modules/t': { dev: true, optionalDependencies }, 'node_modules/t-present': {} };
    expect(missingEntries({ packages })).toEqual({
      'node_modules/t-linux-arm-gnueabihf': {
        version: '1.2.3',
        cpu: ['arm'],
        os: ['linux'],
        libc: ['glibc'],
        dev: true,
        optional: true,
      },
      'node_modules/t-linux-x64-musl': {
        version: '1.2.3',
        cpu: ['x64'],
        os: ['linux'],
        libc: ['musl'],
        dev: true,
        optional: true,
      },
      'node_modules/t-win32-x64-msvc': { version: '1.2.3', cpu: ['x64'], os: ['win32'], dev: true, optional: true },
    });
  });

  test('finds a package where Node would: in the package that wants it, and around it', () => {
    const packages = {
      'node_modules/a/node_modules/b': { optionalDependencies: optional('c', 'd', 'e') },
      'node_modules/a/node_modules/b/node_modules/c': {},
      'node_modules/a/node_modules/d': {},
      'node_modules/e': {},
    };
    expect(missingPackages({ packages })).toEqual([]);
  });

  test('leaves to npm what is not for one system', () => {
    const packages = { 'node_modules/a': { optionalDependencies: { fancy: '1.2.3' } } };
    expect(() => missingEntries({ packages })).toThrow('fancy@1.2.3');
  });
});
