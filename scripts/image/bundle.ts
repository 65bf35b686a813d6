import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT } from '../suite/command.ts';

/**
 * Packages that stay as they are: the WebAssembly of one is read from its folder, gRPC reads files beside its modules and is
 * loaded only where something exports by it, and tests set the clock of ioredis before a program starts.
 */
export const EXTERNAL = ['ioredis', '@grpc/grpc-js', '@jitl/quickjs-wasmfile-release-sync'];

/**
 * Programs and the threads that they start, in few files for one folder, with the Lua scripts that modules look for beside
 * themselves: Node reads 1,300 files to start an adapter from its sources and a dozen from a bundle.
 *
 * @param input source files by the names that they get, as paths from the project's folder
 * @param lua folders of the scripts
 * @returns the files' texts by their names
 */
export async function bundle(
  input: Readonly<Record<string, string>>,
  lua: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  await using build = await rolldown({
    input: { ...input },
    external: EXTERNAL.map((name) => new RegExp(`^${name}(/|$)`)),
    cwd: ROOT,
    platform: 'node',
    logLevel: 'silent',
  });
  const { output } = await build.generate({
    format: 'esm',
    chunkFileNames: '[name]-[hash].js',
    // V8 keeps the source, and with one letter outside of Latin-1 it takes two bytes for each.
    comments: false,
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
  });
  const files = new Map(output.flatMap((file) => (file.type === 'chunk' ? [[file.fileName, file.code] as const] : [])));
  for (const folder of lua) {
    for (const file of globSync('**/*.lua', { cwd: join(ROOT, folder) }).sort()) {
      const name = `lua/${file}`;
      if (files.has(name)) throw new Error(`two programs have a script ${file}`);
      files.set(name, readFileSync(join(ROOT, folder, file), 'utf8'));
    }
  }
  return files;
}

/** @param files as `bundle` gives them */
export function writeBundle(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [name, text] of files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
