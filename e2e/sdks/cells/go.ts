import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, runs } from '../cached.ts';
import { GO_MODULE } from '../go-programs.ts';

/** Compiles programs that use the Go SDK. `sources` by the names of their files. The path of the program. */
async function compiled(name: string, sources: Readonly<Record<string, string>>): Promise<string> {
  const digest = createHash('sha256').update(JSON.stringify(sources)).digest('hex').slice(0, 12);
  const [path = '', version = ''] = GO_MODULE.split('@');
  const folder = await cached(`go-${name}-${version}-${digest}`, async (made) => {
    for (const [file, source] of Object.entries(sources)) await writeFile(join(made, file), source);
    await writeFile(join(made, 'go.mod'), `module ${name}\n\ngo 1.25\n\nrequire ${path} ${version}\n`);
    await runs('go', ['mod', 'tidy'], made);
    await runs('go', ['build', '-o', name, '.'], made);
  });
  return join(folder, name);
}

const source = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), 'utf8');

export const goClient = async (): Promise<string> =>
  compiled('cells-client', { 'main.go': await source('go-client/main.go') });

/** The SDK's own everything server with what it lacks. */
export async function goServer(): Promise<string> {
  const { Dir } = JSON.parse(await runs('go', ['mod', 'download', '-json', GO_MODULE])) as { Dir: string };
  const theirs = await readFile(join(Dir, 'conformance/everything-server/main.go'), 'utf8');
  return compiled('cells-server', {
    'ours.go': await source('go-server/ours.go'),
    'theirs.go': theirs.replace('\nfunc main() {', '\nfunc theirs() {'),
  });
}
