import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Lockfile, missingEntries, missingPackages, withoutIntegrity } from './lockfile.ts';

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));

describe('package-lock.json', () => {
  const lockfile = Lockfile.parse(read('package-lock.json'));

  test('holds every optional package, so that npm ci accepts it (npm run lockfile adds them)', () => {
    expect(missingPackages(lockfile)).toEqual([]);
  });

  test('T24: vouches for every package that the image, CI or a server installs (npm run lockfile adds what is known)', () => {
    expect(withoutIntegrity(lockfile).filter(({ isElsewhere }) => !isElsewhere)).toEqual([]);
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

test.each<[string, object, boolean]>([
  ['a package of the programs', {}, false],
  ['a tool of developers', { dev: true }, false],
  [
    'a tool for the systems of the image and CI',
    { dev: true, optional: true, os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
    false,
  ],
  ['a tool for all systems', { dev: true, optional: true }, false],
  ['a part of the programs for another system', { optional: true, os: ['darwin'], cpu: ['arm64'] }, false],
  ['a tool for another system', { dev: true, optional: true, os: ['darwin'], cpu: ['arm64'] }, true],
  ['a tool for another libc', { dev: true, optional: true, os: ['linux'], cpu: ['x64'], libc: ['musl'] }, true],
  [
    'a tool for another processor',
    { dev: true, optional: true, os: ['linux'], cpu: ['riscv64'], libc: ['glibc'] },
    true,
  ],
])('T24: %s without an integrity is told (elsewhere: %s)', (_, entry, isElsewhere) => {
  const packages = {
    '': { version: '1.0.0' },
    'node_modules/@s/a': { version: '1.2.3', ...entry },
    'node_modules/b': { version: '1.2.3', integrity: 'sha512-x' },
    'node_modules/c': { link: true },
  };
  const told = { path: 'node_modules/@s/a', name: '@s/a', version: '1.2.3', isElsewhere };
  expect(withoutIntegrity(Lockfile.parse({ packages }))).toEqual([told]);
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
