import { existsSync, readFileSync } from 'node:fs';

/** Where distributions put the library that the image has in a folder of its own. */
const FOLDERS = ['x86_64-linux-gnu', 'aarch64-linux-gnu', ''].map((name) => `/usr/lib/${name}`);

/** How the image sets the allocator. A machine without its library has glibc's, with the settings that the image has for that. */
export function imageAllocator(): Readonly<Record<string, string>> {
  const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
  const env = Object.fromEntries(
    Array.from(dockerfile.matchAll(/\b(MALLOC_\w+)=(\S+)/g), ([, name = '', value = '']) => [name, value]),
  );
  const library = FOLDERS.map((folder) => `${folder}/libjemalloc.so.2`).find(existsSync);
  return library === undefined ? env : { ...env, LD_PRELOAD: library };
}
